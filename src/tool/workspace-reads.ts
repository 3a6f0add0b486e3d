import { readFileSync, statSync } from 'node:fs'
import { BatonError, hasSystemCode, isBatonError, messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import type { RunContext } from '../event/context.ts'
import { guard } from './guard.ts'

type Reading = Pick<RunContext, 'workspace' | 'policy'>

export interface FileStatus {
  readonly kind: 'file' | 'folder' | 'other'
  /** In bytes. */
  readonly size: number
  /** Microseconds since 1970. */
  readonly modified: number
}

/**
 * What stands at the path (absolute), links followed; undefined when nothing does.
 * @throws BatonError OUTSIDE_WORKSPACE
 */
export function fileStatus(path: string, context: Reading): FileStatus | undefined {
  return statusAt(guard('read', path, context))
}

/** The same without asking: for paths that have been allowed already. */
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
 * The bytes of a file. Pipes and devices are refused, because reading them could last for ever.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function readBytes(path: string, context: Reading): Buffer {
  return readRegular(path, context, (real) => readFileSync(real))
}

/**
 * Reads a file with `read`, which is given its real path once that is allowed and known to be a file.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function readRegular<T>(path: string, context: Reading, read: (real: string) => T): T {
  const real = guard('read', path, context)
  const shown = displayPath(context.workspace, path)
  const status = statusAt(real)
  if (status === undefined) throw new BatonError('FILE_FAILED', `there is no file ${shown}`)
  if (status.kind !== 'file') {
    throw new BatonError(
      'FILE_FAILED',
      `${shown} is ${status.kind === 'folder' ? 'a folder' : 'a device or pipe'}, not a file`,
    )
  }
  try {
    return read(real)
  } catch (error) {
    if (isBatonError(error)) throw error
    throw new BatonError('FILE_FAILED', `${shown} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * The text of a UTF-8 file; a byte order mark stays.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function readText(path: string, context: Reading): string {
  return decodeText(readBytes(path, context), displayPath(context.workspace, path))
}

/** @throws BatonError FILE_FAILED when the bytes are not UTF-8 */
export function decodeText(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${name} is not UTF-8 text`, {
      hint: 'Only text can be loaded; leave binary files out of the globs.',
      cause: error,
    })
  }
}
