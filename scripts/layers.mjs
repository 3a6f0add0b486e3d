import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { build } from 'esbuild'

/**
 * Bundles the modules that a run loads into few chunks. esbuild puts modules into one chunk if the same entry points
 * need them, and each `import()` is an entry point: that would be ninety files for a run, and loading a file costs as
 * much as parsing 60 KB. Here, every entry point imports a whole layer, so that there is one chunk for what each layer
 * adds to those that it contains.
 *
 * `layers` are lists of modules below `folder`, the smallest first. The last one is everything that all these modules need;
 * an earlier one is the part of it that its own modules need. An entry point belongs to the first that has its part.
 * `group`: further modules that are loaded together, with all that they need; no other entry point belongs to it.
 */
export async function layeredChunks(options, { folder, layers, group = [] }) {
  const { metafile } = await build({ ...options, absWorkingDir: folder, metafile: true, write: false })
  const { inputs } = metafile
  const unknown = [...layers.flat(), ...group].filter((file) => inputs[file] === undefined)
  if (unknown.length > 0) throw new Error(`not in the bundle: ${unknown.join(', ')}`)
  const last = reached(layers.at(-1), inputs)
  const needed = (files) => [...reached(files, inputs)].filter((file) => last.has(file))
  const contents = [...layers.map((files) => new Set(needed(files))), reached(group, inputs)]
  const layerOf = new Map(
    entriesOf(metafile).map((file) => [
      resolve(folder, file),
      group.includes(file)
        ? layers.length
        : contents.findIndex((files) => needed([file]).every((one) => files.has(one))),
    ]),
  )
  return {
    name: 'layers',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^baton:layer\// }, ({ path }) => ({ path, namespace: 'layer' }))
      onResolve({ filter: /^/, namespace: 'layer' }, ({ path }) => ({ path: resolve(folder, path) }))
      onLoad({ filter: /^/, namespace: 'layer' }, ({ path }) => ({
        contents: importsAll(contents[Number(path.split('/').at(-1))]),
      }))
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
        const layer = layerOf.get(path)
        if (layer === undefined) return undefined
        return { contents: `${await readFile(path, 'utf8')}\nimport 'baton:layer/${layer}'\n`, loader: 'ts' }
      })
    },
  }
}

function entriesOf({ outputs }) {
  return Object.values(outputs).flatMap(({ entryPoint }) => entryPoint ?? [])
}

/** The files reachable through static imports. */
function reached(files, inputs) {
  const found = new Set(files)
  for (const file of found) for (const next of importsOf(file, inputs, 'import-statement')) found.add(next)
  return found
}

function importsOf(file, inputs, kind) {
  return inputs[file].imports.filter((one) => one.kind === kind && !one.external).map(({ path }) => path)
}

function importsAll(files) {
  return [...files].map((file) => `import ${JSON.stringify(file)}`).join('\n')
}
