import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import type { Script } from 'node:vm'
import { wasmFlags } from './base/wasm-flag.ts'

export interface CodeCacheOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** The entry file of the command. */
  readonly entry: string
  /** Names the content of these files: compiled code of other content must not be taken for theirs. */
  readonly build: string
}

const checksumBytes = 4

/** A folder of another build is removed when it is this old: that build is likely gone. */
const keptMs = 30 * 24 * 3600 * 1000

/** After this time what is kept of a file is written once more, with the functions that other commands have needed since. */
const completedAfterMs = 3600 * 1000

/** Compiles a script whose code may have been kept. */
export type Compile = (file: string, text: string) => Script

/**
 * Keeps what V8 has compiled of the command in the user's cache folder, so that the next start does not compile it again.
 * Node's `enableCompileCache` keeps a file as it is when it has just been loaded, without the functions that run later, and
 * saves half as much; what it heeds is heeded here too: NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE. Nothing is kept
 * in a folder that others can write: V8 trusts what it reads there. Never throws: a start that takes longer is no error.
 */
export function openCodeCache(options: CodeCacheOptions): Compile {
  try {
    const { NODE_COMPILE_CACHE: chosen = '', NODE_DISABLE_COMPILE_CACHE: off = '' } = options.env
    if (off !== '') return compileAnew
    const place = chosen === '' ? { parent: ownFolder(options), prefix: '' } : { parent: chosen, prefix: 'baton-' }
    const folder = privateFolder(place, options.build)
    return folder === undefined ? compileAnew : compileFrom(folder, options)
  } catch {
    // the folder cannot be made
    return compileAnew
  }
}

function compileAnew(file: string, text: string): Script {
  const { Script } = process.getBuiltinModule('node:vm')
  return new Script(text, { filename: file })
}

/** Where the folders of builds are; in a folder that is not ours alone their names begin with the prefix. */
interface BuildsPlace {
  readonly parent: string
  readonly prefix: string
}

function ownFolder({ env, home }: CodeCacheOptions): string {
  const { BATON_HOME: own = '', XDG_CACHE_HOME: xdg = '' } = env
  const cache = own === '' ? join(isAbsolute(xdg) ? xdg : join(home, '.cache'), 'baton') : join(own, 'cache')
  return join(cache, 'code')
}

/** The folder of a build, made if it is missing; undefined when somebody else may write it. */
function privateFolder(place: BuildsPlace, build: string): string | undefined {
  const folder = join(place.parent, place.prefix + build)
  // of an empty HOME
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

function compileFrom(parent: string, { env }: CodeCacheOptions): Compile {
  const folder = join(parent, `${process.version}-${process.arch}`)
  // the Lua engine sets it later, and what was made with other flags is refused
  process.getBuiltinModule('node:v8').setFlagsFromString(wasmFlags)
  const fresh: { readonly script: Script; readonly file: string }[] = []

  // V8 refuses what was made with other flags: to write it would take the place of what others can use
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

/** What `write` has written, without its checksum; undefined when there is none, or it is damaged: V8 would not notice. */
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

/** At the end of the process, so that the functions are in it that were needed. Others may write the same files. */
function write(folder: string, fresh: readonly { readonly script: Script; readonly file: string }[]): void {
  if (fresh.length === 0) return
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const { script, file } of fresh) {
      const unfinished = `${file}.${process.pid}`
      const data = script.createCachedData()
      const checksum = Buffer.alloc(checksumBytes)
      checksum.writeUInt32LE(checksumOf(data))
      writeFileSync(unfinished, Buffer.concat([checksum, data]), { mode: 0o600 })
      renameSync(unfinished, file)
    }
  } catch {
    // the disk is full, or the folder is gone
  }
}
