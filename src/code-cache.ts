import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import type { Script } from 'node:vm'
import { wasmFlags } from './base/wasm-flag.ts'

export interface CodeCacheOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** The entry file of the command. */
  readonly entry: string
  /** Identifies the content of these files: compiled code of different content must not be used for them. */
  readonly build: string
}

const checksumBytes = 4

/** A folder of another build is removed at this age: that build is probably gone. */
const keptMs = 30 * 24 * 3600 * 1000

/**
 * After this time the compiled code of a file is written again, including the functions that other commands have needed
 * since.
 */
const completedAfterMs = 3600 * 1000

/** Compiles a script, with cached code if there is any. */
export type Compile = (file: string, text: string) => Script

/**
 * Caches the code that V8 has compiled for the command in the user's cache folder, so that the next start does not
 * compile it again. Node's `enableCompileCache` stores a file as soon as it is loaded, without the functions that run
 * later, and saves half as much; NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE are respected as Node does. Nothing
 * is cached in a folder that others can write to: V8 trusts what it reads there. Never throws: a slower start is not an
 * error.
 */
export function openCodeCache(options: CodeCacheOptions): Compile {
  try {
    const { NODE_COMPILE_CACHE: chosen = '', NODE_DISABLE_COMPILE_CACHE: off = '' } = options.env
    if (off !== '') return compileAnew
    const place = chosen === '' ? { parent: ownFolder(options), prefix: '' } : { parent: chosen, prefix: 'baton-' }
    const folder = privateFolder(place, options.build)
    return folder === undefined ? compileAnew : compileFrom(folder, options)
  } catch {
    // the folder cannot be created
    return compileAnew
  }
}

function compileAnew(file: string, text: string): Script {
  const { Script } = process.getBuiltinModule('node:vm')
  return new Script(text, { filename: file })
}

/** Where the folders of builds are; in a shared folder their names start with the prefix. */
interface BuildsPlace {
  readonly parent: string
  readonly prefix: string
}

function ownFolder({ env, home }: CodeCacheOptions): string {
  const { BATON_HOME: own = '', XDG_CACHE_HOME: xdg = '' } = env
  const cache = own === '' ? join(isAbsolute(xdg) ? xdg : join(home, '.cache'), 'baton') : join(own, 'cache')
  return join(cache, 'code')
}

/** The folder of a build, created if it is missing; undefined if other users may write to it. */
function privateFolder(place: BuildsPlace, build: string): string | undefined {
  const folder = join(place.parent, place.prefix + build)
  // with an empty HOME
  if (!isAbsolute(folder)) return undefined
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    removeOld(place)
  }
  const { uid, mode } = statSync(folder)
  return uid === (process.getuid?.() ?? uid) && (mode & 0o022) === 0 ? folder : undefined
}

function removeOld({ parent, prefix }: BuildsPlace): void {
  for (const name of readdirSync(parent).filter((one) => one.startsWith(prefix))) {
    const folder = join(parent, name)
    if (Date.now() - statSync(folder).mtimeMs > keptMs) rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * V8 flags for short runs. Node 20 optimizes a function once 66 KB of its bytecode have run, in a thread that the process waits for: a run of a
 * script joins so many paths that this takes 4 ms of processor time. With three times as much, only longer runs do. Later versions count calls
 * and do not know the flag. Without the baseline compiler (sparkplug), a short run takes 2 ms less; indexing a million records takes a twentieth longer.
 */
const flags = process.version.startsWith('v20.') ? `${wasmFlags} --interrupt-budget=200000 --no-sparkplug` : wasmFlags

function compileFrom(parent: string, { env }: CodeCacheOptions): Compile {
  const folder = join(parent, `${process.version}-${process.arch}`)
  // the Lua engine sets some of them later, and V8 refuses code that was compiled with different flags
  process.getBuiltinModule('node:v8').setFlagsFromString(flags)
  const fresh: { readonly script: Script; readonly file: string }[] = []

  // V8 refuses code that was compiled with different flags: writing it would replace code that others can use
  const { Script } = process.getBuiltinModule('node:vm')
  const isUsual = process.execArgv.length === 0 && (env['NODE_OPTIONS'] ?? '') === ''
  if (isUsual) process.once('exit', () => write(folder, fresh))

  return (file, text) => {
    const cacheFile = join(folder, basename(file))
    const kept = readIfWhole(cacheFile)
    const script = new Script(text, { filename: file, ...(kept && { cachedData: kept.data }) })
    if (kept === undefined || kept.isOld || script.cachedDataRejected === true) fresh.push({ script, file: cacheFile })
    return script
  }
}

function checksumOf(data: Uint8Array): number {
  return process.getBuiltinModule('node:zlib').crc32(data)
}

/**
 * The data that `write` has written, without its checksum; undefined if there is none or it is damaged: V8 would not
 * notice.
 */
function readIfWhole(file: string): { readonly data: Buffer; readonly isOld: boolean } | undefined {
  try {
    const bytes = readFileSync(file)
    const data = bytes.subarray(checksumBytes)
    if (bytes.readUInt32LE() !== checksumOf(data)) return undefined
    return { data, isOld: Date.now() - statSync(file).mtimeMs > completedAfterMs }
  } catch {
    return undefined
  }
}

/**
 * Runs at the end of the process, so that all functions that were needed are included. Other processes may write the
 * same files.
 */
function write(folder: string, fresh: readonly { readonly script: Script; readonly file: string }[]): void {
  if (fresh.length === 0) return
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const { script, file } of fresh) {
      const unfinished = `${file}.${process.pid}`
      const data = script.createCachedData()
      const checksum = Buffer.alloc(checksumBytes)
      checksum.writeUInt32LE(checksumOf(data))
      try {
        writeFileSync(unfinished, Buffer.concat([checksum, data]), { mode: 0o600 })
        renameSync(unfinished, file)
      } catch (error) {
        rmSync(unfinished, { force: true })
        throw error
      }
    }
  } catch {
    // the disk is full, or the folder was removed
  }
}
