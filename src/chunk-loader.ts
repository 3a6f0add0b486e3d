import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openCodeCache, type CodeCacheOptions } from './code-cache.ts'

/** A file of the built command is one function; what it is given is named as in CommonJS. */
type Chunk = (
  exports: unknown,
  require: (name: string) => unknown,
  module: { exports: unknown },
  filename: string,
  importModule: (address: string) => Promise<unknown>,
) => void

/**
 * Loads the other files of the built command, which scripts/commonjs.mjs makes; the entry file has it in place of `require`.
 * Node's own looks for each file in several places, reads package.json files and keeps no compiled code. Gives what loads a
 * file, by its path relative to the entry file, and returns what it exports. No file needs one that is still being loaded.
 */
export function createChunkLoader(options: CodeCacheOptions): (path: string) => unknown {
  const { entry } = options
  const loaded = new Map<string, unknown>()
  let compile: ReturnType<typeof openCodeCache> | undefined

  /** A module of the user, which compiled code cannot import on Node 20: a file that Node itself has loaded does. */
  function importModule(address: string): Promise<unknown> {
    const byNode = process.getBuiltinModule('node:module').createRequire(entry)
    const { load } = byNode(`${dirname(entry)}/import-module.js`) as { load: (address: string) => Promise<unknown> }
    return load(address)
  }

  function load(file: string): unknown {
    if (loaded.has(file)) return loaded.get(file)
    compile ??= openCodeCache(options)
    // the build writes ASCII only, and to read that takes half the time of UTF-8
    const chunk = compile(file, readFileSync(file, 'latin1')).runInThisContext() as Chunk
    const module = { exports: {} }
    chunk(module.exports, requireIn(dirname(file)), module, file, importModule)
    loaded.set(file, module.exports)
    return module.exports
  }

  function requireIn(folder: string): (name: string) => unknown {
    return (name) => (name.startsWith('./') ? load(join(folder, name)) : process.getBuiltinModule(name))
  }

  return requireIn(dirname(entry))
}
