import { readFileSync } from 'node:fs'
import { join } from 'node:path'

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

/** Removes parts of packages that are never used here and cost load time. */
export function leanPackages(root) {
  return [englishZod, quietMcp, leanYargs(root)]
}
