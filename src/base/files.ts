import { isUtf8 } from 'node:buffer'
import {
  closeSync,
  fchmodSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from './error.ts'
import { inFolder } from './open-folder.ts'
import { irregular, readRegularFile } from './regular-file.ts'
import { isOfSystem } from './system-folders.ts'

/** Maximum size of prompt files, agents and config, in bytes. */
export const maxSourceBytes = 10 * 1024 * 1024

/**
 * Reads a text file the user wrote. Refuses folders, more than 10 MB, NUL bytes and text that is not UTF-8.
 * @throws BatonError FILE_UNREADABLE
 */
export function readSourceFile(file: string): string {
  return decodeSource(readSourceBytes(file), file)
}

/**
 * Decodes text the user wrote. Refuses NUL bytes and text that is not UTF-8; `file` is its name in messages.
 * @throws BatonError FILE_UNREADABLE
 */
export function decodeSource(bytes: Buffer, file: string): string {
  const invalid = firstInvalidByte(bytes)
  if (invalid === undefined) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const what = bytes[invalid] === 0 ? 'a NUL byte; it looks binary' : 'a byte that is not UTF-8'
  throw new BatonError('FILE_UNREADABLE', `${file} contains ${what} (byte ${invalid})`, {
    place: { file, ...positionOfByte(bytes, invalid) },
    hint: 'Save the file as UTF-8 text.',
  })
}

function readSourceBytes(file: string): Buffer {
  try {
    const status = statSync(file)
    if (isOfSystem(realPath(file))) throw unreadable(file, 'belongs to the system', { hint: 'Name another file.' })
    if (status.isDirectory()) throw unreadable(file, 'is a folder, not a file', { hint: 'Name a file in it.' })
    const other = irregular(status)
    if (other !== undefined) throw unreadable(file, other, { hint: 'Name a regular file.' })
    if (status.size <= maxSourceBytes) return readRegularFile(file)
    const megabytes = (status.size / 1e6).toFixed(1)
    const hint = 'Move the data into files and name them in context_globs.'
    throw unreadable(file, `is ${megabytes} MB; at most 10 MB can be read`, { hint })
  } catch (error) {
    if (error instanceof BatonError) throw error
    if (!hasSystemCode(error, 'ENOENT', 'ENOTDIR')) {
      throw unreadable(file, `cannot be read: ${messageOf(error)}`, { hint: 'Check its permissions.', cause: error })
    }
    const hint = 'Check the path; relative paths start in the current folder, or the one given with -C.'
    throw new BatonError('FILE_UNREADABLE', `there is no file ${file}`, { place: { file }, hint, cause: error })
  }
}

function unreadable(
  file: string,
  problem: string,
  details: { readonly hint: string; readonly cause?: unknown },
): BatonError {
  return new BatonError('FILE_UNREADABLE', `${file} ${problem}`, { place: { file }, ...details })
}

function firstInvalidByte(bytes: Buffer): number | undefined {
  const nul = bytes.indexOf(0)
  if (nul !== -1) return nul
  if (isUtf8(bytes)) return undefined
  // the first byte that decoding changes
  const decoded = Buffer.from(bytes.toString('utf8'))
  const changed = bytes.findIndex((byte, index) => byte !== decoded[index])
  return changed === -1 ? bytes.length : changed
}

function positionOfByte(bytes: Buffer, offset: number): { readonly line: number; readonly column: number } {
  const before = bytes.subarray(0, offset).toString('utf8')
  const lastBreak = before.lastIndexOf('\n')
  return { line: before.split('\n').length, column: before.length - lastBreak }
}

/**
 * Writes a whole file through a temporary file and a rename, so that a crash leaves the old or the new content. Creates
 * missing folders, keeps the mode of a file that it replaces, and writes through links. If a file has several names
 * (hard links), only this one is replaced.
 * @throws the system's error; for a path that leads through a file, an Error that names it
 */
export function writeFileAtomic(file: string, content: string | Uint8Array | FilePart): void {
  const target = existingLinkTarget(resolve(file))
  replaceFile(join(realPath(dirname(target)), basename(target)), content)
}

interface Replacing {
  readonly temporaryName?: string
}

/**
 * Like `writeFileAtomic`, for a path whose links are resolved: it does not follow links created since, and replaces a
 * link at the path itself.
 */
export function replaceFile(
  file: string,
  content: string | Uint8Array | FilePart,
  { temporaryName = newTemporaryName() }: Replacing = {},
): void {
  replaceBy(file, (to) => writeContent(to, content), { temporaryName })
}

/** Appends to a file after separating it from its other hard links. For a path whose links are resolved. */
export function addToOwnFile(file: string, added: Uint8Array): void {
  replaceBy(file, (to, present) => {
    copyPart({ file: present, bytes: statSync(present).size }, to)
    writeFileSync(to, added)
  })
}

/** `fill` gets the descriptor of the new file and the path of the present one. */
function replaceBy(
  file: string,
  fill: (to: number, present: string) => void,
  { temporaryName = newTemporaryName() }: Replacing = {},
): void {
  const name = basename(file)
  inFolder(
    dirname(file),
    ({ at }) => {
      const temporary = at(temporaryName)
      const descriptor = openSync(temporary, 'wx', 0o666)
      try {
        try {
          keepMode(at(name), descriptor)
          fill(descriptor, at(name))
        } finally {
          closeSync(descriptor)
        }
        renameSync(temporary, at(name))
      } catch (error) {
        rmSync(temporary, { force: true })
        throw withPath(error, file)
      }
    },
    { make: true },
  )
}

function writeContent(to: number, content: string | Uint8Array | FilePart): void {
  if (typeof content === 'string' || content instanceof Uint8Array) writeFileSync(to, content)
  else copyPart(content, to)
}

/** Errors of reading and writing do not name the file; only those of opening one do. */
function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || 'path' in error) return error
  return Object.assign(new Error(`${messageOf(error)} '${path}'`, { cause: error }), { code: error.code, path })
}

/** The first bytes of a file: content that need not be in memory. */
export interface FilePart {
  readonly file: string
  readonly bytes: number
}

function copyPart({ file, bytes }: FilePart, to: number): void {
  const chunk = Buffer.allocUnsafe(Math.min(bytes, 1024 * 1024))
  const from = openSync(file, 'r')
  try {
    for (let done = 0; done < bytes;) {
      const count = readSync(from, chunk, 0, Math.min(chunk.length, bytes - done), done)
      if (count === 0) throw new Error(`${file} was truncated while it was read`)
      writeFileSync(to, chunk.subarray(0, count))
      done += count
    }
  } finally {
    closeSync(from)
  }
}

/**
 * A name for a temporary file, which must be opened with `wx` because it can be guessed. Not derived from the target's
 * name, which may already have the maximum length.
 */
export function newTemporaryName(): string {
  const digits = (): string =>
    Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return `.baton-${digits()}${digits()}.tmp`
}

/** Whether a name could come from `newTemporaryName`. */
export function isTemporaryName(name: string): boolean {
  return /^\.baton-[0-9a-f]{16}\.tmp$/.test(name)
}

/** The path of an entry itself, even if it is a link: only the folders above it are resolved. */
export function entryPath(path: string): string {
  return join(realPath(dirname(path)), basename(path))
}

function existingLinkTarget(file: string): string {
  try {
    return lstatSync(file).isSymbolicLink() ? realpathSync(file) : file
  } catch {
    return file
  }
}

function keepMode(target: string, descriptor: number): void {
  try {
    const status = lstatSync(target)
    if (status.isFile()) fchmodSync(descriptor, status.mode & 0o777)
  } catch (error) {
    if (!hasSystemCode(error, 'ENOENT')) throw error
  }
}

/** The path with all links resolved; parts that do not exist yet are unchanged. */
export function realPath(path: string): string {
  const absolute = resolve(path)
  try {
    return resolveLinks(absolute)
  } catch (error) {
    if (!hasSystemCode(error, 'ENOENT', 'ENOTDIR')) throw error
    return presentPart(absolute)
  }
}

/** A single system call; on other systems than Linux it also changes how names are spelled. */
const resolveLinks = process.platform === 'linux' ? realpathSync.native : realpathSync

/** From the top, so that a path of many thousand folders that do not exist costs no more than its text. */
function presentPart(absolute: string): string {
  const { root } = parse(absolute)
  const names = absolute.slice(root.length).split(sep)
  let real = root
  for (const [index, name] of names.entries()) {
    const entry = join(real, name)
    const kind = kindOf(entry)
    if (kind === 'nothing') return join(real, names.slice(index).join(sep))
    // writing through a dangling link would create a file at its target
    real = kind === 'link' ? realPath(resolve(real, readlinkSync(entry))) : entry
  }
  return real
}

function kindOf(path: string): 'link' | 'entry' | 'nothing' {
  try {
    return lstatSync(path).isSymbolicLink() ? 'link' : 'entry'
  } catch (error) {
    // ENOTDIR: the path is below a file
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return 'nothing'
    throw error
  }
}

/** True when `path` is `folder` or below it. Does not resolve links. */
export function isInside(folder: string, path: string): boolean {
  return stepsBelow(folder, path) !== undefined
}

/** The path from the folder; empty for the folder itself, undefined if it is not below it. */
function stepsBelow(folder: string, path: string): string | undefined {
  const steps = relative(folder, path)
  return isAbsolute(steps) || steps === '..' || steps.startsWith(`..${sep}`) ? undefined : steps
}

/** A path for display: relative to `folder` if below it, otherwise absolute. */
export function displayPath(folder: string, path: string): string {
  const steps = stepsBelow(folder, path)
  return steps === undefined ? path : steps || '.'
}

/**
 * The first link in `path` (absolute) that leads from where `allows` returns true to where it returns false. Undefined
 * if there is none: then the path itself is outside, without following links.
 */
export function escapingLink(path: string, allows: (real: string) => boolean): string | undefined {
  for (const step of stepsFromRoot(path)) {
    if (kindOf(step) === 'link' && allows(realPath(dirname(step))) && !allows(realPath(step))) return step
  }
  return undefined
}

/** The path and all folders above it but the root, from the top. */
function stepsFromRoot(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...stepsFromRoot(parent), path]
}
