import { type Dirent, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { buildFolders } from '../base/glob.ts'
import type { PackFile } from './digest.ts'
import { packLimits } from './pack-limits.ts'

const noFiles = /^(?:\.DS_Store|Thumbs\.db|.*\.swp)$/
/** What programs read secrets from, but for the examples of it that are shared. */
const secretFiles = /^\.env(?!\.(?:example|sample|template)$)(?:rc$|$|[._-])/i

/**
 * The files of a pack's folder, sorted, without those of tools and editors (spec/aipack.md 7.2) and without `.env*`,
 * which hold secrets. Empty folders do not count.
 * @throws BatonError FILE_UNREADABLE for a link, a device, too much of something, or what cannot be read
 */
export function readPackFiles(folder: string): readonly PackFile[] {
  const files: PackFile[] = []
  let total = 0
  for (const path of listPackFiles(folder).files) {
    const file = join(folder, path)
    const { size, mode } = lstatSync(file)
    total += size
    if (size > packLimits.fileBytes || total > packLimits.totalBytes) throw tooLarge(file)
    files.push({ path, isExecutable: (mode & 0o100) !== 0, bytes: read(file) })
  }
  return files
}

/** Whether a path in a pack is that of a file that counts, wherever the pack comes from. */
export function isPackFile(path: string): boolean {
  const names = path.split('/')
  const file = names.pop() ?? ''
  return !noFiles.test(file) && !secretFiles.test(file) && !names.some((name) => buildFolders.includes(name))
}

/** The files in a pack's folder that are left out because they may hold secrets: relative paths, sorted. */
export function secretPackFiles(folder: string): readonly string[] {
  return listPackFiles(folder).secret
}

/** What people are told of these. */
export function leftOutText(paths: readonly string[]): string {
  return `warning: left out, because it may hold secrets: ${paths.join(', ')}`
}

/** Paths relative to the folder, with `/`, sorted. */
interface Listing {
  readonly files: readonly string[]
  readonly secret: readonly string[]
}

function listPackFiles(folder: string): Listing {
  const found: string[] = []
  const secret: string[] = []
  const open = ['']
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of entriesOf(join(folder, at))) {
      const path = at === '' ? entry.name : `${at}/${entry.name}`
      if (entry.isDirectory()) {
        if (!buildFolders.includes(entry.name)) open.push(path)
      } else if (secretFiles.test(entry.name)) {
        secret.push(path)
      } else if (!noFiles.test(entry.name)) {
        if (!entry.isFile()) throw notAFile(join(folder, path), entry)
        found.push(path)
      }
    }
    if (found.length > packLimits.files) throw tooLarge(folder)
  }
  return { files: found.toSorted(compareBytes), secret: secret.toSorted(compareBytes) }
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) {
      throw new BatonError('FILE_UNREADABLE', `there is no folder ${folder}`, { hint: 'Check the path.', cause: error })
    }
    throw unreadable(folder, error)
  }
}

function read(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(path: string, error: unknown): BatonError {
  return new BatonError('FILE_UNREADABLE', `${path} cannot be read: ${messageOf(error)}`, {
    hint: 'Check that you may read it.',
    cause: error,
  })
}

function notAFile(path: string, entry: Dirent): BatonError {
  const what = entry.isSymbolicLink() ? 'a link' : 'no ordinary file'
  return new BatonError('FILE_UNREADABLE', `${path} is ${what}, and packs hold files only`, {
    hint: 'Remove it, or put the file itself there.',
  })
}

function tooLarge(path: string): BatonError {
  const { files, totalBytes } = packLimits
  return new BatonError('FILE_UNREADABLE', `${path} is more than a pack may hold`, {
    hint: `At most ${files} files and ${totalBytes / 1024 / 1024} MB; folders such as node_modules are left out.`,
  })
}
