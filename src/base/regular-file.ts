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

/** Opening a pipe that nobody writes to would wait for ever. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)
/** So often a file is opened again that another one takes the place of meanwhile, as editors and we ourselves save files. */
const mostAttempts = 20

/**
 * Reads through the descriptor of a regular file; pipes, sockets and devices are never read. `real`: the path is
 * absolute with links resolved, and a file that is reached through a link by now is refused.
 * @throws the error of the system; an Error with code `EINVAL` for what is no file
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

/** What stands where a file should be, as the end of a sentence; undefined for a regular file. */
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

/** Where what was opened is by now. */
function openedPath(descriptor: number, path: string): string {
  if (platform() === 'linux') {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      // without /proc the path says it
    }
  }
  return realpathSync(path)
}

function leadsElsewhere(path: string): Error {
  return new Error(`${path} leads somewhere else by now: a link was put in its path`)
}
