import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { platform } from 'node:os'
import { hasSystemCode } from './error.ts'

/** Opening a pipe without a writer would block forever. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)
/** How often a file is reopened if another one replaces it meanwhile, as editors and Baton do when they save a file. */
const mostAttempts = 20

/**
 * Reads through the descriptor of a regular file; pipes, sockets and devices are never read. `real`: the path is
 * absolute with links resolved, and a file that is now reached through a link is refused.
 * @throws the system's error; an Error with code `EINVAL` if it is not a regular file
 */
export function readRegular<T>(
  path: string,
  read: (descriptor: number) => T,
  { real = false }: { readonly real?: boolean } = {},
): T {
  const descriptor = real ? openReal(path) : openSync(path, flags)
  try {
    const other = irregular(fstatSync(descriptor))
    if (other !== undefined) throw Object.assign(new Error(`${path} ${other}`), { code: 'EINVAL' })
    return read(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** What is there instead of a file, as the end of a sentence; undefined for a regular file. */
export function irregular(status: Stats): string | undefined {
  if (status.isFile()) return undefined
  return `is ${kindOf(status)} and not a regular file`
}

function kindOf(status: Stats): string {
  if (status.isDirectory()) return 'a folder'
  if (status.isFIFO()) return 'a named pipe'
  if (status.isSocket()) return 'a socket'
  return 'a device'
}

/** The bytes of a regular file. See `readRegular`. */
export function readRegularFile(path: string, options?: { readonly real?: boolean }): Buffer {
  return readRegular(path, (descriptor) => readFileSync(descriptor), options)
}

function openReal(path: string): number {
  for (let attempt = 1; ; attempt += 1) {
    const descriptor = openUnlinked(path)
    if (openedPath(descriptor, path) === path) return descriptor
    closeSync(descriptor)
    if (attempt === mostAttempts) throw leadsElsewhere(path)
  }
}

function openUnlinked(path: string): number {
  try {
    return openSync(path, flags | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    throw hasSystemCode(error, 'ELOOP') ? leadsElsewhere(path) : error
  }
}

function openedPath(descriptor: number, path: string): string {
  if (platform() === 'linux') {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      // without /proc, resolve the path again
    }
  }
  return realpathSync(path)
}

function leadsElsewhere(path: string): Error {
  return new Error(`${path} now leads somewhere else: a link was put in its path`)
}
