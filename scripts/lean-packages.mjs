import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'

/**
 * zod includes its messages in some fifty languages, which are half of its code. Baton only uses English, the default.
 */
const englishZod = {
  name: 'english-zod',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

/**
 * This halves the time of `baton --help`: yargs lists every folder from the current one upwards to find the version in
 * a package.json, which is set with `.version()` here; and measures the width of texts with tables of all of Unicode,
 * three times, using a segmenter that takes as long to create as node takes to start.
 */
const leanYargs = (root) => ({
  name: 'lean-yargs',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:escalade\/sync|string-width)$/ }, ({ path }) => ({ path, namespace: 'lean-yargs' }))
    onLoad({ filter: /^escalade/, namespace: 'lean-yargs' }, () => ({ contents: 'export default () => undefined' }))
    onLoad({ filter: /^string-width$/, namespace: 'lean-yargs' }, () => ({
      resolveDir: root,
      contents: `import { stripVTControlCharacters } from 'node:util'
        import { widthOf } from ${JSON.stringify(join(root, 'src/base/width.ts'))}
        export default (text) => widthOf(stripVTControlCharacters(text))`,
    }))
  },
})

/**
 * The package writes warnings to the console, including text from servers; the important ones are also thrown or
 * reported.
 */
const quietMcp = {
  name: 'quiet-mcp',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]@modelcontextprotocol[\\/](?:client|server|core)[\\/]dist[\\/].*\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('console.warn(', '(() => {})('),
    }))
  },
}

/**
 * Only `post` of the client is used (src/model/openai-client.ts), and it creates an object for each of thirty resources,
 * whose code and helpers are two thirds of the package: here their classes are empty.
 */
const leanOpenAi = {
  name: 'lean-openai',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]openai[\\/]resources[\\/].*\.mjs$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const classes = [...text.matchAll(/^export class (\w+)/gm)].map(([, name]) => `export class ${name} {}`)
      // what helpers of the package are passed on is not used either
      const passedOn = text.match(/^export .* from "\.[^"]*";$/gm)?.filter((line) => !line.includes('/lib/')) ?? []
      return { contents: [...classes, ...passedOn].join('\n') }
    })
  },
}

/**
 * The list of prices is half a megabyte. Its descriptions are never read, and of the models, only those of one provider: the
 * models of each are kept as text, which is parsed when they are first used.
 */
const leanPrices = {
  name: 'lean-prices',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]genai-prices[\\/]dist[\\/]index\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const [whole, name, list] = /^const (\w+) = (\[\n[^]*?\n\])/m.exec(text)
      const json = (value) => JSON.stringify(value, (key, part) => (unread.has(key) ? undefined : part))
      const providers = runInThisContext(list).map(({ models, ...provider }) => {
        return `withModels(${json(provider)}, ${JSON.stringify(json(models))})`
      })
      const withModels = `const withModels = (provider, text) => Object.defineProperty(provider, 'models', {
        configurable: true,
        enumerable: true,
        get() {
          const value = JSON.parse(text)
          Object.defineProperty(provider, 'models', { value })
          return value
        },
      })`
      const lean = text.replace(whole, () => `${withModels}\nconst ${name} = [${providers.join(',\n')}]`)
      // the order only has to be the same each time, and the first comparison of languages takes milliseconds
      return { contents: lean.replace('.sort(([t], [a]) => t.localeCompare(a))', '.sort()') }
    })
  },
}

const unread = new Set(['description', 'price_comments', 'pricing_urls', 'extractors'])

/** Removes parts of packages that are never used here and cost load time. */
export function leanPackages(root) {
  return [englishZod, leanOpenAi, leanPrices, quietMcp, leanYargs(root)]
}
