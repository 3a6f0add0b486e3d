import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readRegularFile } from '../base/regular-file.ts'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { buildFolders } from '../base/glob.ts'
import { createHash, sha256 } from '../base/hash.ts'
import { manifestName, withoutOwnTable } from './pack-manifest.ts'

export interface PackFile {
  /** Relative to the pack's folder, with `/`. */
  readonly path: string
  readonly isExecutable: boolean
  readonly bytes: Uint8Array
}

/** Limits of a pack, wherever it comes from: far more than packs need, so that none can fill a disk. */
export const packLimits = {
  files: 10_000,
  /** Of one file. */
  fileBytes: 64 * 1024 * 1024,
  /** Of all files. */
  totalBytes: 256 * 1024 * 1024,
  /** Of an archive, and of a download. */
  archiveBytes: 128 * 1024 * 1024,
  downloadMs: 5 * 60_000,
  cloneMs: 10 * 60_000,
} as const

const ignoredFiles = /^(?:\.DS_Store|Thumbs\.db|.*\.swp)$/
/** Files from which programs read secrets, except for shared examples of them. */
const secretFiles = /^\.env(?!\.(?:example|sample|template)$)(?:rc$|$|[._-])/i

/**
 * The files of a pack's folder, sorted, without files of tools and editors and without `.env*`, which may contain
 * secrets. Empty folders do not count.
 * @throws BatonError FILE_UNREADABLE for a link, a device, too many or too large files, or unreadable files
 */
export function readPackFiles(folder: string): readonly PackFile[] {
  const files: PackFile[] = []
  let total = 0
  for (const path of listPackFiles(folder).files) {
    const file = join(folder, path)
    const { size, mode } = lstatSync(file)
    total += size
    if (size > packLimits.fileBytes || total > packLimits.totalBytes) throw tooLarge(file)
    files.push({ path, isExecutable: (mode & 0o100) !== 0, bytes: reading(file, () => readRegularFile(file)) })
  }
  return files
}

/** Paths in a pack's folder that are omitted because they may contain secrets: relative, sorted. */
export function secretPackFiles(folder: string): readonly string[] {
  return listPackFiles(folder).secret
}

export function skippedFilesText(paths: readonly string[]): string {
  return `warning: omitted because it may contain secrets: ${paths.join(', ')}`
}

/** Paths relative to the folder, with `/`, sorted. */
function listPackFiles(folder: string) {
  const found: string[] = []
  const secret: string[] = []
  const open = ['']
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const opened = join(folder, at)
    for (const entry of reading(opened, () => readdirSync(opened, { withFileTypes: true }))) {
      const path = at === '' ? entry.name : `${at}/${entry.name}`
      if (entry.isDirectory()) {
        if (!buildFolders.includes(entry.name)) open.push(path)
      } else if (secretFiles.test(entry.name)) {
        secret.push(path)
      } else if (!ignoredFiles.test(entry.name)) {
        if (!entry.isFile()) throw notAFile(join(folder, path), entry)
        found.push(path)
      }
    }
    if (found.length > packLimits.files) throw tooLarge(folder)
  }
  return { files: found.toSorted(compareBytes), secret: secret.toSorted(compareBytes) }
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (hasSystemCode(cause, 'ENOENT', 'ENOTDIR'))
      throw new BatonError('FILE_UNREADABLE', `${path} does not exist`, { hint: 'Check the path.', cause })
    const hint = 'Check that you may read it.'
    throw new BatonError('FILE_UNREADABLE', `${path} cannot be read: ${messageOf(cause)}`, { hint, cause })
  }
}

function notAFile(path: string, entry: Dirent): BatonError {
  const what = entry.isSymbolicLink() ? 'a link' : 'not a regular file'
  return new BatonError('FILE_UNREADABLE', `${path} is ${what}, but packs may only contain files`, {
    hint: 'Remove it, or replace it with the file itself.',
  })
}

function tooLarge(path: string): BatonError {
  const { files, totalBytes } = packLimits
  return new BatonError('FILE_UNREADABLE', `${path} exceeds the limits of a pack`, {
    hint: `At most ${files} files and ${totalBytes / 1024 / 1024} MB; folders such as node_modules are omitted.`,
  })
}

/**
 * The content of a pack as one hash: SHA-256 over the paths in byte order, with the kind of each file and the SHA-256
 * of its content. The table `[installed]` that an installation adds does not count, so a pack has the same digest
 * wherever and in whatever form it is stored.
 */
export function contentDigest(files: readonly PackFile[]): string {
  const hash = createHash('sha256')
  for (const file of files.toSorted((left, right) => compareBytes(left.path, right.path))) {
    // a path contains no NUL, so no two entries are encoded alike
    hash.update(`${file.path}\0${file.isExecutable ? 'x' : '-'}\0${sha256(countedBytes(file))}\n`)
  }
  return `sha256:${hash.digest('hex')}`
}

function countedBytes({ path, bytes }: PackFile): Uint8Array {
  if (path !== manifestName) return bytes
  const text = Buffer.from(bytes).toString('latin1')
  // an installation may add a line ending at the end
  return Buffer.from(withoutOwnTable(text).replace(/\n*$/, ''), 'latin1')
}

const archiveLimits = {
  entries: packLimits.files,
  entryBytes: packLimits.fileBytes,
  totalBytes: packLimits.totalBytes,
  ratio: 250,
} as const

/**
 * The relevant files of an `.aipack` archive; names, links, sizes and checksums of all are checked before any is
 * returned. Nothing is written. `name` is the archive in messages.
 * @throws BatonError FILE_FAILED that names the entry; the reason of the signal
 */
export async function readArchive(bytes: Uint8Array, name: string, signal: AbortSignal): Promise<readonly PackFile[]> {
  const { checkZip, openZip, readZipEntry } = await import('../base/zip.ts')
  const zip = openZip(bytes, { archive: name, limits: archiveLimits })
  const entries = await checkZip(zip, signal)
  return entries
    .filter(({ kind, path }) => kind === 'file' && isPackFile(path))
    .map(({ path, entry }) => ({ path, isExecutable: entry.isExecutable, bytes: readZipEntry(zip, entry) }))
}

function isPackFile(path: string): boolean {
  const names = path.split('/')
  const file = names.pop() ?? ''
  return !ignoredFiles.test(file) && !secretFiles.test(file) && !names.some((name) => buildFolders.includes(name))
}

/** An `.aipack` archive: a zip with entries for folders too. The same files always give the same bytes. */
export async function makeArchive(files: readonly PackFile[]): Promise<Uint8Array> {
  const { writeZip } = await import('../base/zip-write.ts')
  const folders = new Set(files.flatMap(({ path }) => foldersAbove(path)))
  return writeZip([
    ...[...folders].map((path) => ({ kind: 'folder', path }) as const),
    ...files.map(({ path, bytes, isExecutable }) => ({ kind: 'file', path, content: bytes, isExecutable }) as const),
  ])
}

function foldersAbove(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, index) => names.slice(0, index + 1).join('/'))
}
