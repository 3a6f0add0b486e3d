import { readFileSync, readSync, statSync } from 'node:fs'
import { isAbsolute, relative, sep } from 'node:path'
import { createSlices } from '../base/concurrency.ts'
import { BatonError, hasSystemCode, isBatonError, messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { createHash } from '../base/hash.ts'
import { readRegular } from '../base/regular-file.ts'
import type { ContextWith, RunStore } from '../event/context.ts'
import { type ReadContext, readablePath } from './guard.ts'

export interface FileStatus {
  readonly kind: 'file' | 'folder' | 'other'
  /** In bytes. */
  readonly size: number
  /** Microseconds since 1970. */
  readonly modified: number
}

/**
 * The status of a path (absolute), links followed; undefined if it does not exist.
 * @throws BatonError OUTSIDE_WORKSPACE
 */
export function fileStatus(path: string, context: ReadContext): FileStatus | undefined {
  return statusAt(readablePath(path, context))
}

/** The same without a permission check, for paths that are already allowed. */
export function statusAt(path: string): FileStatus | undefined {
  try {
    const status = statSync(path, { bigint: true })
    const kind = status.isFile() ? 'file' : status.isDirectory() ? 'folder' : 'other'
    return { kind, size: Number(status.size), modified: Number(status.mtimeNs / 1000n) }
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) return undefined
    throw new BatonError('FILE_FAILED', `${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * The bytes of a file. Pipes and devices are refused, because reading them might never end.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function readBytes(path: string, context: ReadContext): Buffer {
  return readAllowed(path, context, (descriptor) => readFileSync(descriptor))
}

/**
 * Calls `read` with the descriptor of a file, once its real path is allowed and known to be a file.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
function readAllowed<T>(path: string, context: ReadContext, read: (descriptor: number) => T): T {
  const real = readablePath(path, context)
  const shown = displayPath(context.scope.folders.workspace, path)
  const status = statusAt(real)
  if (status === undefined) throw new BatonError('FILE_FAILED', `there is no file ${shown}`)
  if (status.kind !== 'file') throw notAFile(shown, status.kind)
  return orUnreadable(shown, () => readRegular(real, read, { real: true }))
}

/**
 * Reports a file (absolute) that a script or a program of a model is about to read, so that a watch session notices its
 * changes. Only files of the workspace; those in its folders of Baton and AIPack count as part of what is run.
 */
export function noteData(
  path: string,
  { scope, services: { reads } }: ContextWith<'folders', Pick<RunStore, 'reads'>>,
): void {
  if (reads === undefined) return
  const [top, ...others] = relative(scope.folders.workspace, path).split(sep)
  if (top === '' || top === '..' || top === '.git' || isAbsolute(top ?? '')) return
  reads.ready?.(path)
  if (others.length > 0 && (top === '.aipack' || top === '.baton')) reads.file(path)
  else reads.data?.(path)
}

/** The error for something that is not a file; `shown` is its path as displayed. */
export function notAFile(shown: string, kind: 'folder' | 'other'): BatonError {
  return new BatonError('FILE_FAILED', `${shown} is ${kind === 'folder' ? 'a folder' : 'a device or pipe'}, not a file`)
}

/** Calls `read`, and turns system errors into FILE_FAILED for a path as displayed. */
export function orUnreadable<T>(shown: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (isBatonError(error)) throw error
    throw new BatonError('FILE_FAILED', `${shown} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/** The text of a UTF-8 file; a byte order mark is kept. @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED */
export function readText(path: string, context: ReadContext): string {
  return decodeText(readBytes(path, context), displayPath(context.scope.folders.workspace, path))
}

/** @throws BatonError FILE_FAILED if the bytes are not UTF-8 */
export function decodeText(bytes: Uint8Array, name: string): string {
  return orNoText(name, () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
}

function orNoText(name: string, decode: () => string): string {
  try {
    return decode()
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${name} is not UTF-8 text`, {
      hint: 'Only text can be loaded: exclude binary files from the globs.',
      cause: error,
    })
  }
}

/**
 * The same for a file that may be large, with the SHA-256 of its bytes. Does not block other work of the process, so
 * the file may change meanwhile.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export async function readTextInSlices(
  path: string,
  context: ReadContext,
): Promise<{ readonly text: string; readonly hash: string }> {
  const name = displayPath(context.scope.folders.workspace, path)
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const hash = createHash('sha256')
  const parts: string[] = []
  const decode = (piece?: Buffer): void =>
    void parts.push(orNoText(name, () => decoder.decode(piece, { stream: piece !== undefined })))
  await readSlices(
    path,
    (piece) => {
      hash.update(piece)
      decode(piece)
      return true
    },
    context,
  )
  decode()
  return { text: parts.join(''), hash: hash.digest('hex') }
}

const pieceBytes = 64 * 1024

/** Takes the next piece of a file; the buffer is reused for the following one. Return false to stop. */
export type PieceTaker = (piece: Buffer) => boolean

/**
 * Reads a file (absolute path) piece by piece, for files that do not fit into memory. `from` is the byte offset to
 * start at.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function readPieces(
  path: string,
  { take, from = 0 }: { readonly take: PieceTaker; readonly from?: number },
  context: ReadContext,
): void {
  readAllowed(path, context, (descriptor) => {
    const buffer = Buffer.allocUnsafe(pieceBytes)
    let position = from
    for (;;) {
      const size = readSync(descriptor, buffer, 0, pieceBytes, position)
      if (size === 0 || !take(buffer.subarray(0, size))) return
      position += size
    }
  })
}

/**
 * The same without blocking other work of the process. The file is reopened for each slice of the work, so it may
 * change meanwhile. Also rejects with the reason of the signal.
 */
export async function readSlices(path: string, take: PieceTaker, context: ReadContext): Promise<void> {
  const { signal } = context.services
  let from = 0
  for (let isMore = true; isMore;) {
    const slice = createSlices()
    isMore = false
    let pause: Promise<void> | undefined
    const takePiece: PieceTaker = (piece) => {
      from += piece.length
      if (!take(piece)) return false
      pause = slice.pass(signal)
      isMore = pause !== undefined
      return !isMore
    }
    readPieces(path, { take: takePiece, from }, context)
    await pause
  }
}
