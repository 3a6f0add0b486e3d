import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Removes what would be loaded needlessly: chunks that only re-export another chunk (an entry point whose module is in
 * a shared chunk; its importers get the shared one), side-effect imports of modules that have no side effects, all of the entry
 * file of the command (`entry`), which loads nothing before it is asked to, and chunks that no file names after that.
 * `outputs` is that of esbuild's metafile, with paths relative to `folder`. Returns the remaining files.
 */
export function tidyChunks(outputs, { folder, entry }) {
  const texts = new Map(Object.keys(outputs).map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
  const idle = new Set(
    Object.keys(outputs)
      .filter((file) => hasNoEffect(outputs[file], folder))
      .map((file) => basename(file)),
  )
  const shared = new Map()
  for (const [file, text] of texts) {
    const source = outputs[file].entryPoint === undefined ? undefined : passedOn(text, outputs[file])
    if (source !== undefined) shared.set(basename(file), source)
  }
  const tidy = new Map(
    Array.from(texts, ([file, text]) => [
      file,
      tidied(text, { isIdle: (name) => file === entry || idle.has(name), shared }),
    ]),
  )
  const loaded = namedFrom(
    [...tidy.keys()].filter((file) => basename(dirname(file)) !== 'chunks'),
    tidy,
  )
  for (const [file, text] of tidy) {
    if (loaded.has(file)) writeFileSync(join(folder, file), text)
    else rmSync(join(folder, file))
  }
  return Array.from(loaded, (file) => join(folder, file))
}

/** The files and all that they name, directly or not. */
function namedFrom(files, texts) {
  const places = new Map(Array.from(texts.keys(), (file) => [basename(file), file]))
  const found = new Set(files)
  for (const file of found) {
    for (const [, name] of texts.get(file).matchAll(/["'][^"'\s]*\/([^"'/\s]+\.js)["']/g)) {
      const place = places.get(name)
      if (place !== undefined) found.add(place)
    }
  }
  return found
}

function tidied(text, { isIdle, shared }) {
  return text
    .replace(/\bimport"(?:\.\/|\.\/chunks\/)([^"/]+)";/g, (whole, name) => (isIdle(name) ? '' : whole))
    .replace(
      /\bimport\("(\.\/|\.\/chunks\/)([^"/]+)"\)/g,
      (_, path, name) => `import("${path}${shared.get(name) ?? name}")`,
    )
}

/**
 * As packages declare (`sideEffects`); our own modules have none, and esbuild's helper modules are not inputs. Packages
 * may be anywhere: in a folder above, or linked.
 */
function hasNoEffect({ inputs }, folder) {
  return Object.keys(inputs).every((input) => {
    if (input.startsWith('src/')) return true
    const file = join(folder, input)
    // a module of a plug-in is no file
    return existsSync(file) && packageOf(dirname(file)).sideEffects === false
  })
}

/** The package.json of a file's package; one without a name only says how its folder is to be read. */
function packageOf(folder) {
  const file = join(folder, 'package.json')
  const found = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  return found.name !== undefined || folder === dirname(folder) ? found : packageOf(dirname(folder))
}

/** The chunk that a chunk re-exports under the same names, if it does nothing else. */
function passedOn(text, { inputs }) {
  if (Object.values(inputs).some(({ bytesInOutput }) => bytesInOutput > 0)) return undefined
  const imports = [...text.matchAll(/\bimport\{([\w$,]+)\}from"\.\/([^"]+)"/g)]
  const [, exported] = /\bexport\{([\w$,]+)\};\s*$/.exec(text) ?? []
  const [found, other] = imports
  return other === undefined && found !== undefined && found[1] === exported ? found[2] : undefined
}
