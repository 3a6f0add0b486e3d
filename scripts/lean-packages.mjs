import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** zod brings its messages in some fifty languages, half of its code. Ours are in English, its default. */
const englishZod = {
  name: 'english-zod',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

/**
 * Half of what `baton --help` took: yargs lists every folder from the current one up for a package.json that says its
 * version, which `.version()` does here; and measures texts by tables of all of Unicode, three times, with a segmenter
 * that takes as long to make as node takes to start.
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

/** It warns on the console, also in words of servers; what matters of that is thrown or told besides. */
const quietMcp = {
  name: 'quiet-mcp',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]@modelcontextprotocol[\\/](?:client|server|core)[\\/]dist[\\/].*\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('console.warn(', '(() => {})('),
    }))
  },
}

/** Leaves out what of packages is never used here and costs time to load. */
export function leanPackages(root) {
  return [englishZod, quietMcp, leanYargs(root)]
}
