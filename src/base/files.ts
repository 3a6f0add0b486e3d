import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from './error.ts'

/** Prompt files, agents and config above this many bytes are refused (DESIGN 12). */
export const maxSourceBytes = 10 * 1024 * 1024

/**
 * Reads a text file a person wrote. Refuses folders, more than 10 MB, NUL bytes and text that is not UTF-8.
 * @throws BatonError FILE_UNREADABLE
 */
export function readSourceFile(file: string): string {
  return decodeSource(readSourceBytes(file), file)
}

/**
 * The text of what a person wrote. Refuses NUL bytes and text that is not UTF-8; `file` is its name in messages.
 * @throws BatonError FILE_UNREADABLE
 */
export function decodeSource(bytes: Buffer, file: string): string {
  const invalid = firstInvalidByte(bytes)
  if (invalid === undefined) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const { line, column } = positionOfByte(bytes, invalid)
  const what = bytes[invalid] === 0 ? 'a NUL byte; it looks binary' : 'a byte that is not UTF-8'
  throw new BatonError('FILE_UNREADABLE', `${file} holds ${what} (byte ${invalid})`, {
    place: { file, line, column },
    hint: 'Save the file as UTF-8 text.',
  })
}

function readSourceBytes(file: string): Buffer {
  try {
    const status = statSync(file)
    if (status.isDirectory())
      throw new BatonError('FILE_UNREADABLE', `${file} is a folder, not a file`, {
        place: { file },
        hint: 'Name a file in it.',
      })
    if (!status.isFile()) {
      const hint = 'Name a file; pipes and devices are not read.'
      throw new BatonError('FILE_UNREADABLE', `${file} is not a file`, { place: { file }, hint })
    }
    if (status.size > maxSourceBytes) {
      throw new BatonError(
        'FILE_UNREADABLE',
        `${file} has ${(status.size / 1e6).toFixed(1)} MB; at most 10 MB can be read`,
        {
          place: { file },
          hint: 'Move the data into files that are named by context_globs.',
        },
      )
    }
    return readFileSync(file)
  } catch (error) {
    if (error instanceof BatonError) throw error
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) {
      const hint = 'Check the path; relative paths start in the current folder, or the one given with -C.'
      throw new BatonError('FILE_UNREADABLE', `there is no file ${file}`, { place: { file }, hint, cause: error })
    }
    const hint = 'Check that you may read it.'
    throw new BatonError('FILE_UNREADABLE', `${file} cannot be read: ${messageOf(error)}`, {
      place: { file },
      hint,
      cause: error,
    })
  }
}

function firstInvalidByte(bytes: Buffer): number | undefined {
  const nul = bytes.indexOf(0)
  if (nul !== -1) return nul
  const text = bytes.toString('utf8')
  if (Buffer.byteLength(text) === bytes.length && !text.includes('�')) return undefined
  // a real U+FFFD in the file is fine: only the first place where the bytes differ counts
  const again = Buffer.from(text)
  const end = Math.min(bytes.length, again.length)
  for (let index = 0; index < end; index += 1) if (bytes[index] !== again[index]) return index
  return bytes.length === again.length ? undefined : end
}

function positionOfByte(bytes: Buffer, offset: number): { readonly line: number; readonly column: number } {
  const before = bytes.subarray(0, offset).toString('utf8')
  const lastBreak = before.lastIndexOf('\n')
  return { line: before.split('\n').length, column: before.length - lastBreak }
}

/**
 * Writes a whole file through a temporary file and a rename, so that a crash leaves the old or the new content.
 * Missing folders are made; the mode of a file that is replaced is kept.
 * @throws what the system says; for a path that leads through a file an Error that names it
 */
export function writeFileAtomic(
  file: string,
  content: string | Uint8Array,
  { temporaryName = newTemporaryName() }: { readonly temporaryName?: string } = {},
): void {
  makeFolders(dirname(file))
  const target = existingLinkTarget(file)
  const temporary = join(dirname(target), temporaryName)
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const descriptor = openSync(temporary, 'wx', 0o666)
  try {
    try {
      keepMode(target, descriptor)
      for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done)
    } finally {
      closeSync(descriptor)
    }
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/**
 * Makes a folder and those above it, as far as they are missing.
 * @throws what the system says; an Error that names the file which stands in the way
 */
export function makeFolders(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    if (!hasSystemCode(error, 'EEXIST', 'ENOTDIR')) throw error
    throw new Error(`${nearestThere(folder)} is not a folder`, { cause: error })
  }
}

/** The path itself or the nearest above it that is there. */
function nearestThere(path: string): string {
  const parent = dirname(path)
  if (parent === path) return path
  try {
    lstatSync(path)
    return path
  } catch {
    return nearestThere(parent)
  }
}

/** A name for a file that is written before it takes its place; not made of the target's, which may be as long as names can be. */
export function newTemporaryName(): string {
  return `.baton-${randomBytes(8).toString('hex')}.tmp`
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
    fchmodSync(descriptor, statSync(target).mode & 0o777)
  } catch (error) {
    if (!hasSystemCode(error, 'ENOENT')) throw error
  }
}

/** The path with every link on it resolved; parts that do not exist yet are kept as they are. */
export function realPath(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch (error) {
    if (!hasSystemCode(error, 'ENOENT', 'ENOTDIR')) throw error
    const target = danglingTarget(absolute)
    if (target !== undefined) return realPath(target)
    const parent = dirname(absolute)
    return parent === absolute ? absolute : join(realPath(parent), basename(absolute))
  }
}

/** Where a link that points to nothing would lead: writing through it would make a file there. */
function danglingTarget(path: string): string | undefined {
  try {
    return resolve(dirname(path), readlinkSync(path))
  } catch {
    return undefined
  }
}

/** True when `path` is `folder` or below it. Both are compared as they are: resolve links before. */
export function isInside(folder: string, path: string): boolean {
  const steps = relative(folder, path)
  return steps === '' || (!isAbsolute(steps) && steps !== '..' && !steps.startsWith(`..${sep}`))
}

/** A path for people: relative to `folder` when below it, otherwise absolute. */
export function displayPath(folder: string, path: string): string {
  if (!isInside(folder, path)) return path
  return relative(folder, path) || '.'
}
