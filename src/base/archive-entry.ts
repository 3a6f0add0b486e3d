import { entryPlace, shownEntry } from './archive-name.ts'
import { BatonError } from './error.ts'

/** An entry of an archive, as the archive describes it. */
export interface ArchiveEntry {
  /** With `/` between folders. */
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'device'
  /** Bytes when unpacked, as declared: whoever unpacks must see that it is so. */
  readonly size: number
  /** Bytes in the archive. */
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
  /** So many times larger than packed may content of more than 1 MiB be. */
  readonly ratio: number
}

export interface ArchiveCheck {
  /** What the archive is called in messages. */
  readonly archive: string
  readonly limits?: ArchiveLimits
}

const mebibyte = 1024 * 1024

/** What is ever unpacked. */
export const archiveLimits: ArchiveLimits = {
  entries: 20_000,
  entryBytes: 256 * mebibyte,
  totalBytes: 512 * mebibyte,
  ratio: 250,
}

/**
 * Checks all entries of an archive before any of them is unpacked: names (see `entryPlace`), links and devices, names
 * that are one on systems that do not tell cases or normal forms apart, files where folders are needed, and sizes as
 * declared (issue F "Guards"). The folder itself drops out; what an archive holds in archives is not looked at.
 * @throws BatonError FILE_FAILED that names the archive and the entry
 */
export function checkEntries<E extends ArchiveEntry>(entries: readonly E[], check: ArchiveCheck): SafeEntry<E>[] {
  checkSizes(entries, check)
  const safe = entries.map((entry) => safeEntry(entry, check)).filter(({ path }) => path !== '')
  checkTogether(safe, check)
  return safe
}

/**
 * Checks number and declared sizes alone: for archives of which nothing is put on the disk.
 * @throws BatonError FILE_FAILED
 */
export function checkSizes(entries: readonly ArchiveEntry[], { archive, limits = archiveLimits }: ArchiveCheck): void {
  if (entries.length > limits.entries) {
    throw refused(archive, `has ${entries.length} entries; at most ${limits.entries} are unpacked`)
  }
  let size = 0
  let packed = 0
  for (const entry of entries) {
    if (entry.size > limits.entryBytes) {
      throw refusedEntry(
        archive,
        entry.name,
        `has ${megabytes(entry.size)}; at most ${megabytes(limits.entryBytes)} are unpacked`,
      )
    }
    if (isBomb(entry, limits)) throw refusedEntry(archive, entry.name, bombText(entry, limits))
    size += entry.size
    packed += entry.packed
    if (size > limits.totalBytes) {
      throw refusedEntry(archive, entry.name, `brings the archive to more than ${megabytes(limits.totalBytes)}`)
    }
  }
  if (isBomb({ size, packed }, limits)) throw refused(archive, bombText({ size, packed }, limits))
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

interface Claim {
  readonly path: string
  readonly kind: SafeEntry['kind']
}

/** Every entry claims its path and the folders above it: a folder may be claimed again, a file may not. */
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

/** The path and the folders above it, by what they are where cases or normal forms are not told apart. */
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
    return `has a path that is one with another on some systems: ${shownEntry(one.path)}, ${shownEntry(other.path)}`
  }
  if (one.kind === other.kind) return 'is in the archive twice'
  return `needs ${shownEntry(one.path)} to be a ${one.kind}, but it is a ${other.kind} too`
}

function megabytes(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`
}

/** The error for an archive that cannot be used. */
export function refused(archive: string, problem: string, details: { readonly cause?: unknown } = {}): BatonError {
  return new BatonError('FILE_FAILED', `${archive} ${problem}`, {
    hint: 'Make the archive anew, or use another one.',
    ...details,
  })
}

/** The error for one entry of it. */
export function refusedEntry(archive: string, entry: string, problem: string): BatonError {
  return refused(archive, `cannot be unpacked: the entry ${shownEntry(entry)} ${problem}`)
}
