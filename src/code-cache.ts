import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import Module, { createRequire } from 'node:module'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { Script } from 'node:vm'
import { crc32 } from 'node:zlib'
import { wasmFlag } from './base/wasm-flag.ts'

export interface CodeCacheOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** The entry file of the command; what else is below its folder is cached. */
  readonly entry: string
  /** Names the content of these files: compiled code of other content must not be taken for theirs. */
  readonly build: string
}

type Compile = (this: NodeModule, text: string, file: string, ...rest: readonly unknown[]) => unknown

const checksumBytes = 4

const isOurs = Symbol.for('baton.code-cache')

/** A folder of another build is removed when it is this old: that build is likely gone. */
const keptMs = 30 * 24 * 3600 * 1000

/**
 * Keeps what V8 has compiled of the command in the user's cache folder, so that the next start does not compile it again.
 * Node's `enableCompileCache` keeps a file as it is when it has just been loaded, without the functions that run later, and
 * saves half as much; what it heeds is heeded here too: NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE. Nothing is kept
 * in a folder that others can write: V8 trusts what it reads there. Never throws: a start that takes longer is no error.
 */
export function useCodeCache(options: CodeCacheOptions): void {
  try {
    const { NODE_COMPILE_CACHE: chosen = '', NODE_DISABLE_COMPILE_CACHE: off = '' } = options.env
    if (off !== '') return
    const folder = privateFolder(chosen === '' ? ownFolder(options) : join(chosen, `baton-${options.build}`))
    if (folder !== undefined) cacheScripts(folder, options)
  } catch {
    // the folder cannot be made
  }
}

function ownFolder({ env, home, build }: CodeCacheOptions): string {
  const { BATON_HOME: own = '', XDG_CACHE_HOME: xdg = '' } = env
  const cache = own === '' ? join(isAbsolute(xdg) ? xdg : join(home, '.cache'), 'baton') : join(own, 'cache')
  return join(cache, 'code', build)
}

/** The folder, made if it is missing; undefined when somebody else may write it. */
function privateFolder(folder: string): string | undefined {
  // of an empty HOME
  if (!isAbsolute(folder)) return undefined
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    removeOld(dirname(folder))
  }
  const { uid, mode } = statSync(folder)
  return uid === (process.getuid?.() ?? uid) && (mode & 0o022) === 0 ? folder : undefined
}

function removeOld(parent: string): void {
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name)
    if (Date.now() - statSync(folder).mtimeMs > keptMs) rmSync(folder, { recursive: true, force: true })
  }
}

/** Compiles the CommonJS files of the command through `vm.Script`. */
function cacheScripts(parent: string, { env, entry }: CodeCacheOptions): void {
  // every CommonJS file goes through this method, which is not documented but replaced by many
  const { prototype } = Module as unknown as { readonly prototype: { _compile?: Compile } }
  const compile = prototype._compile
  if (compile === undefined) return
  // the entry file may be run more than once in a process
  if (isOurs in compile) return
  const files = dirname(entry) + sep
  const folder = join(parent, `${process.version}-${process.arch}`)
  // the Lua engine sets it later, and what was made with other flags is refused
  process.getBuiltinModule('node:v8').setFlagsFromString(wasmFlag)
  const fresh: { readonly script: Script; readonly file: string }[] = []

  const compileCached: Compile = function (text, file, ...rest) {
    // what imports modules of users cannot be compiled before
    const isKept = file !== entry && file.startsWith(files) && !text.endsWith('//imports\n')
    if (!isKept) return compile.call(this, text, file, ...rest)
    const cacheFile = join(folder, basename(file))
    const cachedData = readIfWhole(cacheFile)
    const script = new Script(Module.wrap(text), { filename: file, ...(cachedData && { cachedData }) })
    if (cachedData === undefined || script.cachedDataRejected === true) fresh.push({ script, file: cacheFile })
    return script
      .runInThisContext()
      .call(this.exports, this.exports, createRequire(file), this, file, dirname(file)) as unknown
  }
  prototype._compile = Object.assign(compileCached, { [isOurs]: true })

  // V8 refuses what was made with other flags: to write it would take the place of what others can use
  if (process.execArgv.length > 0 || (env['NODE_OPTIONS'] ?? '') !== '') return
  process.once('exit', () => {
    try {
      if (fresh.length > 0) write(folder, fresh)
    } catch {
      // the disk is full, or the folder is gone
    }
  })
}

/** What `write` has written, without its checksum; undefined when there is none, or it is damaged: V8 would not notice. */
function readIfWhole(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file)
    const data = bytes.subarray(checksumBytes)
    return bytes.readUInt32LE() === crc32(data) ? data : undefined
  } catch {
    return undefined
  }
}

/** At the end of the process, so that the functions are in it that were needed. Others may write the same files. */
function write(folder: string, fresh: readonly { readonly script: Script; readonly file: string }[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const { script, file } of fresh) {
    const unfinished = `${file}.${process.pid}`
    const data = script.createCachedData()
    const checksum = Buffer.alloc(checksumBytes)
    checksum.writeUInt32LE(crc32(data))
    writeFileSync(unfinished, Buffer.concat([checksum, data]), { mode: 0o600 })
    renameSync(unfinished, file)
  }
}
