import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * Takes out what would be loaded for nothing: chunks that only pass on what another one exports (an entry point whose
 * module is in a shared chunk; whoever imports it gets the shared one), and imports that are there only for the effects
 * of modules that have none. `outputs` is of esbuild's metafile, with paths relative to `folder`.
 */
export function tidyChunks(outputs, folder) {
  const texts = new Map(Object.keys(outputs).map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
  const idle = new Set(
    Object.keys(outputs)
      .filter((file) => hasNoEffect(outputs[file]))
      .map((file) => basename(file)),
  )
  const shared = new Map()
  for (const [file, text] of texts) {
    const source = outputs[file].entryPoint === undefined ? undefined : passedOn(text, outputs[file])
    if (source !== undefined) shared.set(basename(file), source)
  }
  for (const [file, text] of texts) {
    if (shared.has(basename(file))) rmSync(join(folder, file))
    else writeFileSync(join(folder, file), tidied(text, { idle, shared }))
  }
}

function tidied(text, { idle, shared }) {
  return text
    .replace(/\bimport"(?:\.\/|\.\/chunks\/)([^"/]+)";/g, (whole, name) => (idle.has(name) ? '' : whole))
    .replace(
      /\bimport\("(\.\/|\.\/chunks\/)([^"/]+)"\)/g,
      (_, path, name) => `import("${path}${shared.get(name) ?? name}")`,
    )
}

/** The package says so of its own modules (`sideEffects`); those of esbuild itself are none of the inputs. */
function hasNoEffect({ inputs }) {
  return Object.keys(inputs).every((input) => input.startsWith('src/'))
}

/** The one chunk whose exports a chunk passes on under their names, when that is all it does. */
function passedOn(text, { inputs }) {
  if (Object.values(inputs).some(({ bytesInOutput }) => bytesInOutput > 0)) return undefined
  const imports = [...text.matchAll(/\bimport\{([\w$,]+)\}from"\.\/([^"]+)"/g)]
  const [, exported] = /\bexport\{([\w$,]+)\};\s*$/.exec(text) ?? []
  const [found, other] = imports
  return other === undefined && found !== undefined && found[1] === exported ? found[2] : undefined
}
