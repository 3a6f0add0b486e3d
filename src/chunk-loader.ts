import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openCodeCache, type CodeCacheOptions } from './code-cache.ts'

/** A file of the built command is one function, with parameters named as in CommonJS. */
type Chunk = (
  exports: unknown,
  require: (name: string) => unknown,
  module: { exports: unknown },
  filename: string,
  importModule: (address: string) => Promise<unknown>,
) => void

/**
 * Loads the other files of the built command, which scripts/commonjs.mjs creates; the entry file uses it instead of
 * `require`. Node's own `require` looks for each file in several places, reads package.json files and caches no
 * compiled code. Returns a function that loads a file by its path relative to the entry file, and returns its exports.
 * There are no circular imports.
 */
export function createChunkLoader(options: CodeCacheOptions): (path: string) => unknown {
  const { entry } = options
  const loaded = new Map<string, unknown>()
  let compile: ReturnType<typeof openCodeCache> | undefined

  /** Loads what is not a file of the build. */
  function byNode(name: string): unknown {
    return process.getBuiltinModule('node:module').createRequire(entry)(name)
  }

  /** Imports a module of the user: on Node 20 cached code cannot, so a file that Node itself has loaded does it. */
  function importModule(address: string): Promise<unknown> {
    const { load } = byNode(`${dirname(entry)}/import-module.js`) as { load: (address: string) => Promise<unknown> }
    return load(address)
  }

  function load(file: string): unknown {
    if (loaded.has(file)) return loaded.get(file)
    compile ??= openCodeCache(options)
    // the build writes only ASCII, which takes half the time of UTF-8 to read
    const chunk = compile(file, readFileSync(file, 'latin1')).runInThisContext() as Chunk
    const module = { exports: {} }
    chunk(module.exports, requireIn(dirname(file)), module, file, importModule)
    loaded.set(file, module.exports)
    return module.exports
  }

  function requireIn(folder: string): (name: string) => unknown {
    return (name) =>
      name.startsWith('./') ? load(join(folder, name)) : (process.getBuiltinModule(name) ?? byNode(name))
  }

  return requireIn(dirname(entry))
}
