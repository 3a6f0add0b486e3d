import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, transform } from 'esbuild'
import { tidyChunks } from './chunks.mjs'
import { checkLoadOrder } from './load-order.mjs'
import { layeredChunks } from './layers.mjs'

/** Packages that every run loads; others are loaded when they are needed. */
const common = new Set(['execa', 'eventsource-parser', 'get-east-asian-width', 'uuidv7'])

/** The entry files that share code, with their built names. */
const entries = new Map([
  ['index.ts', 'index'],
  ['task-worker.ts', 'task-worker'],
])

/** What the tasks of a thread load, from those that must start soonest: a thread loads nothing else of the library. */
const threads = [
  [
    'base/json-schema.ts',
    'base/pattern.ts',
    'prompt/render-template.ts',
    ...['pdf-pages', 'pdf-words', 'read-page', 'search-files'].map((name) => `tool/toolbox/${name}.ts`),
  ],
  ['history/run-diff.ts', 'script/host/worker-call.ts', 'tool/changes/text-thread.ts'],
  ['script/host/index.ts'],
]

/**
 * Builds the library of the package, and the threads that it and the command start. Packages are imported by name. Our
 * own modules are in one file, except those that import a package which few programs need, and what imports those.
 */
export async function buildLibrary(root, folder) {
  const sources = join(root, 'src')
  const options = {
    absWorkingDir: root,
    outdir: folder,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    minifySyntax: true,
    minifyWhitespace: true,
    // Node prints the line of an error that nobody catches
    lineLimit: 160,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'warning',
    // of the layer
    logOverride: { 'ignored-bare-import': 'silent' },
  }
  // each runs alone in its thread, and imports few modules
  await build({
    ...options,
    splitting: true,
    entryPoints: {
      'lua-worker': join(sources, 'script/isolated/worker.ts'),
      'code-worker': join(sources, 'script/javascript/worker.ts'),
    },
  })
  const shared = {
    ...options,
    splitting: true,
    entryPoints: Object.fromEntries([...entries].map(([file, name]) => [name, join(sources, file)])),
  }
  const { metafile: modules } = await build({ ...shared, absWorkingDir: sources, metafile: true, write: false })
  const layers = [...threads, modulesWithoutPackages(modules.inputs)]
  const layered = await layeredChunks(shared, { folder: sources, layers })
  const chunked = { ...shared, plugins: [layered] }
  await checkLoadOrder(chunked, join(folder, 'load-order'))
  const { metafile } = await build({ ...chunked, metafile: true })
  tidyChunks(metafile.outputs, { folder: root })
  await shortenNames(Object.keys(metafile.outputs).map((file) => join(root, file)))
}

/** Shortens the names within each file, last: the steps before read them. */
async function shortenNames(files) {
  for (const file of files.filter((name) => name.endsWith('.js') && existsSync(name))) {
    const { code } = await transform(readFileSync(file, 'utf8'), {
      format: 'esm',
      target: 'node20.19',
      minifyIdentifiers: true,
      minifySyntax: true,
      minifyWhitespace: true,
      // errors and stack traces show them
      keepNames: true,
      lineLimit: 160,
    })
    writeFileSync(file, code)
  }
}

/** The modules that can be loaded without a package that is not common, except the entry files. */
function modulesWithoutPackages(inputs) {
  const importsOf = (file) => inputs[file].imports.filter(({ kind }) => kind === 'import-statement')
  const needing = new Set(Object.keys(inputs).filter((file) => importsOf(file).some(isPackage)))
  const importers = new Map()
  for (const file of Object.keys(inputs)) {
    for (const { path } of importsOf(file)) importers.set(path, [...(importers.get(path) ?? []), file])
  }
  for (const file of needing) for (const importer of importers.get(file) ?? []) needing.add(importer)
  return Object.keys(inputs).filter((file) => !needing.has(file) && !entries.has(file))
}

function isPackage({ path, external }) {
  return external === true && !path.startsWith('node:') && !common.has(path)
}
