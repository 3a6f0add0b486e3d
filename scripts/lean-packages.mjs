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
 * What yargs needs of its surroundings (its `platform-shims`), without what takes longer to load than the parser itself: `node:assert`,
 * files of translations, `createRequire`, the version from a package.json in a folder above (it is set with `.version()`).
 */
const yargsPlatform = `import cliui from 'cliui'
  import { format, inspect } from 'node:util'
  import { basename, dirname, extname, join, resolve } from 'node:path'
  import Parser from 'yargs-parser'
  import stringWidth from 'string-width'
  const counted = (text, count, more) => format(text, ...(text.includes('%d') ? [count] : []), ...more)
  export default {
    assert: { notStrictEqual() {}, strictEqual() {} },
    cliui,
    findUp: () => undefined,
    getCallerFile: () => '',
    getEnv: (name) => process.env[name],
    getProcessArgvBin: () => process.argv[1],
    inspect,
    mainFilename: '',
    Parser,
    path: { basename, dirname, extname, join, relative: (_from, path) => path, resolve },
    process: {
      argv: () => process.argv,
      cwd: process.cwd,
      emitWarning: (...warning) => process.emitWarning(...warning),
      execPath: () => process.execPath,
      exit: (code) => process.exit(code),
      nextTick: process.nextTick,
      stdColumns: null,
    },
    stringWidth,
    y18n: {
      __: (text, ...values) => (values.length === 0 ? text : format(text, ...values)),
      __n: (one, several, count, ...more) => counted(count === 1 ? one : several, count, more),
      getLocale: () => 'en',
      setLocale() {},
      updateLocale() {},
    },
  }`

/**
 * Halves the time in which yargs reads a command line: it checks the arguments of each of its functions against a text that it parses
 * (TypeScript does), binds its thirty internal functions whenever one is used, and formats the help after each command. It measures the width of texts
 * with tables of all of Unicode, using a segmenter that takes as long to create as node takes to start. Its own completion is not used.
 */
const leanYargs = (root) => ({
  name: 'lean-yargs',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]yargs[\\/]lib[\\/]platform-shims[\\/]esm\.mjs$/ }, () => ({ contents: yargsPlatform }))
    onLoad({ filter: /[\\/]yargs[\\/]build[\\/]lib[\\/]usage\.js$/ }, ({ path }) => ({
      contents: replaced(path, 'cachedHelpMessage = this.help();', ''),
    }))
    onLoad({ filter: /[\\/]yargs[\\/]build[\\/]lib[\\/]yargs-factory\.js$/ }, ({ path }) => ({
      contents: replaced(path, /(?<=getInternalMethods\(\) \{\s+return )(?=\{)/, 'this.internalMethods ??= '),
    }))
    onLoad({ filter: /[\\/]yargs[\\/]build[\\/]lib[\\/]argsert\.js$/ }, () => ({
      contents: 'export function argsert() {}',
    }))
    onLoad({ filter: /[\\/]yargs[\\/]build[\\/]lib[\\/]completion\.js$/ }, () => ({
      contents: 'export const completion = () => ({ setParsed() {} })',
    }))
    onLoad({ filter: /[\\/]yargs-parser[\\/]build[\\/]lib[\\/]index\.js$/ }, ({ path }) => ({
      contents: replaced(path, 'createRequire ? createRequire(import.meta.url) : undefined', 'undefined'),
    }))
    onLoad({ filter: /[\\/]string-width[\\/]index\.js$/ }, () => ({
      contents: `import { stripVTControlCharacters } from 'node:util'
        import { widthOf } from ${JSON.stringify(join(root, 'src/base/width.ts'))}
        export default (text) => widthOf(stripVTControlCharacters(text))`,
    }))
  },
})

/** The text of a file with a part replaced, which has to be in it. */
function replaced(path, part, by) {
  const text = readFileSync(path, 'utf8')
  const changed = text.replace(part, by)
  if (changed === text) throw new Error(`${path} has no ${part}`)
  return changed
}

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
