import { BatonError } from './error.ts'

/** An entry of an archive, as declared in the archive. */
export interface ArchiveEntry {
  /** With `/` between folders. */
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'device'
  /** Declared size in bytes when unpacked; it must be checked while unpacking. */
  readonly size: number
  /** Size in bytes in the archive. */
  readonly packed: number
}

/** An entry that may be unpacked. */
export interface SafeEntry<E extends ArchiveEntry = ArchiveEntry> {
  readonly entry: E
  /** Relative, with single slashes, without `.` and `..`. */
  readonly path: string
  readonly kind: 'file' | 'folder'
}

export interface ArchiveLimits {
  readonly entries: number
  /** Bytes of one entry, unpacked. */
  readonly entryBytes: number
  /** Bytes of all entries together, unpacked. */
  readonly totalBytes: number
  /** Maximum ratio of unpacked to packed size, for content of more than 1 MiB. */
  readonly ratio: number
}

export interface ArchiveCheck {
  /** Name of the archive in messages. */
  readonly archive: string
  readonly limits?: ArchiveLimits
}

const mebibyte = 1024 * 1024

/** The default limits for unpacking. */
export const archiveLimits: ArchiveLimits = {
  entries: 20_000,
  entryBytes: 256 * mebibyte,
  totalBytes: 512 * mebibyte,
  ratio: 250,
}

/**
 * Checks all entries of an archive before any of them is unpacked: names (see `entryPlace`), links and devices, names
 * that are equal on systems that ignore case or normalization, files where folders are needed, and declared sizes. The
 * root folder itself is omitted. Archives inside the archive are not opened.
 * @throws BatonError FILE_FAILED that names the archive and the entry
 */
export function checkEntries<E extends ArchiveEntry>(entries: readonly E[], check: ArchiveCheck): SafeEntry<E>[] {
  checkSizes(entries, check)
  const safe = entries.map((entry) => safeEntry(entry, check)).filter(({ path }) => path !== '')
  checkTogether(safe, check)
  return safe
}

/**
 * Checks only the number of entries and their declared sizes, for archives that are not written to disk.
 * @throws BatonError FILE_FAILED
 */
export function checkSizes(entries: readonly ArchiveEntry[], { archive, limits = archiveLimits }: ArchiveCheck): void {
  if (entries.length > limits.entries) {
    throw refused(archive, `has ${entries.length} entries; at most ${limits.entries} are unpacked`)
  }
  const total = { size: 0, packed: 0 }
  for (const entry of entries) {
    const { name, size, packed } = entry
    if (size > limits.entryBytes) {
      const problem = `is ${megabytes(size)}; at most ${megabytes(limits.entryBytes)} can be unpacked`
      throw refusedEntry(archive, name, problem)
    }
    if (isBomb(entry, limits)) throw refusedEntry(archive, name, bombText(entry, limits))
    total.size += size
    total.packed += packed
    if (total.size > limits.totalBytes) {
      throw refusedEntry(archive, name, `brings the archive to more than ${megabytes(limits.totalBytes)}`)
    }
  }
  if (isBomb(total, limits)) throw refused(archive, bombText(total, limits))
}

type Sizes = Pick<ArchiveEntry, 'size' | 'packed'>

function isBomb({ size, packed }: Sizes, { ratio }: ArchiveLimits): boolean {
  return size > mebibyte && size > packed * ratio
}

function bombText({ size, packed }: Sizes, { ratio }: ArchiveLimits): string {
  return `grows from ${packed} to ${size} bytes, more than ${ratio} times: it looks like a zip bomb`
}

function safeEntry<E extends ArchiveEntry>(entry: E, { archive }: ArchiveCheck): SafeEntry<E> {
  const { name, kind, size } = entry
  const place = entryPlace(name)
  if (place.kind === 'refused') throw refusedEntry(archive, name, place.problem)
  if (kind === 'link') throw refusedEntry(archive, name, 'is a link, and links are not unpacked')
  if (kind === 'device') throw refusedEntry(archive, name, 'is a device or pipe')
  if (kind === 'folder' && size > 0) throw refusedEntry(archive, name, 'is a folder, but has content')
  if (kind === 'file' && place.path === '') throw refusedEntry(archive, name, 'is a file without a name')
  return { entry, path: place.path, kind }
}

type Claim = Pick<SafeEntry, 'path' | 'kind'>

/** Every entry claims its path and the folders above it: a folder may be claimed more than once, a file may not. */
function checkTogether(entries: readonly SafeEntry[], { archive }: ArchiveCheck): void {
  const known = new Map<string, Claim>()
  for (const { entry, path, kind } of entries) {
    for (const [key, claim] of claimsOf({ path, kind })) {
      const other = known.get(key)
      if (other === undefined) known.set(key, claim)
      else if (other.path !== claim.path || other.kind === 'file' || claim.kind === 'file') {
        throw refusedEntry(archive, entry.name, collision(claim, other))
      }
    }
  }
}

/** The path and the folders above it, by their names on systems that ignore case and normalization. */
function claimsOf({ path, kind }: Claim): (readonly [string, Claim])[] {
  const names = path.split('/')
  const folded = path.normalize('NFD').toUpperCase().toLowerCase().normalize('NFC').split('/')
  return names.map((_, index) => {
    const isLast = index === names.length - 1
    const claim: Claim = isLast ? { path, kind } : { path: names.slice(0, index + 1).join('/'), kind: 'folder' }
    return [folded.slice(0, index + 1).join('/'), claim]
  })
}

function collision(one: Claim, other: Claim): string {
  if (one.path !== other.path) {
    return `has the same path as another entry on some systems: ${shownEntry(one.path)}, ${shownEntry(other.path)}`
  }
  if (one.kind === other.kind) return 'is in the archive twice'
  return `needs ${shownEntry(one.path)} to be a ${one.kind}, but it is a ${other.kind} too`
}

function megabytes(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`
}

export function refused(archive: string, problem: string): BatonError {
  return new BatonError('FILE_FAILED', `${archive} ${problem}`, {
    hint: 'Recreate the archive or use a different one.',
  })
}

export function refusedEntry(archive: string, entry: string, problem: string): BatonError {
  return refused(archive, `cannot be unpacked: the entry ${shownEntry(entry)} ${problem}`)
}

/** The path of an entry below the folder the archive is unpacked into, or why it cannot be unpacked. */
export type EntryPlace =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'refused'; readonly problem: string }

/** Limits of file systems, in bytes of UTF-8. */
const longestName = 255
const longestPath = 1024
const mostNames = 64
/** Device names on Windows, with any extension. */
const device = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i

/**
 * The relative path of an entry, with single slashes and without `.`; empty for the root folder itself. Depends on the
 * name alone, not on the disk, so that an archive is accepted everywhere or nowhere. Refuses names that lead out of the
 * folder or mean something else on another system.
 */
export function entryPlace(name: string): EntryPlace {
  const names = name.split('/').filter((step) => step !== '' && step !== '.')
  const problem =
    wholeProblem(name) ??
    (names.length > mostNames ? `is nested in more than ${mostNames} folders` : undefined) ??
    names.map(stepProblem).find((found) => found !== undefined)
  return problem === undefined ? { kind: 'path', path: names.join('/') } : { kind: 'refused', problem }
}

function wholeProblem(name: string): string | undefined {
  if (name === '') return 'has no name'
  if (name.includes('\0')) return 'contains a NUL character'
  // also characters that change the text direction, so that a name looks like another one
  if (/[\p{Cc}\u061c\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u.test(name)) return 'contains a control character'
  if (name.startsWith('/') || name.startsWith('\\')) return 'is an absolute path'
  if (/^[A-Za-z]:/.test(name)) return 'starts with a drive letter'
  if (name.includes('\\')) return 'contains a backslash, which is a separator on some systems'
  if (Buffer.byteLength(name) > longestPath) return `is longer than ${longestPath} bytes`
  return /\p{Cs}/u.test(name) ? 'is not Unicode text' : undefined
}

function stepProblem(step: string): string | undefined {
  if (step === '..') return 'leads out of the folder'
  if (/[. ]$/.test(step)) return 'has a name that ends with a dot or a space'
  if (device.test(step)) return `has the name of a device (${step})`
  return Buffer.byteLength(step) > longestName ? `has a name of more than ${longestName} bytes` : undefined
}

/** The name of an entry for messages: quoted, invisible characters escaped, cut at 100 characters. */
export function shownEntry(name: string): string {
  const short = name.length > 100 ? `${name.slice(0, 99)}…` : name
  return JSON.stringify(short).replaceAll(
    /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
