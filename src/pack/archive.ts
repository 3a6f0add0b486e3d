import type { PackFile } from './digest.ts'
import { isPackFile } from './pack-files.ts'
import { packLimits } from './pack-limits.ts'

const limits = {
  entries: packLimits.files,
  entryBytes: packLimits.fileBytes,
  totalBytes: packLimits.totalBytes,
  ratio: 250,
} as const

/**
 * The files of an `.aipack` archive, all of it checked before the first is given: names, links, sizes, checksums
 * (base/archive-entry.ts). Nothing is written. `name` is what the archive is called in messages.
 * @throws BatonError FILE_FAILED that names the entry; the reason of the signal
 */
export async function readArchive(bytes: Uint8Array, name: string, signal: AbortSignal): Promise<readonly PackFile[]> {
  const { checkZip, openZip, readZipEntry } = await import('../base/zip.ts')
  const zip = openZip(bytes, { archive: name, limits })
  const entries = await checkZip(zip, signal)
  return entries
    .filter(({ kind, path }) => kind === 'file' && isPackFile(path))
    .map(({ path, entry }) => ({ path, isExecutable: entry.isExecutable, bytes: readZipEntry(zip, entry) }))
}
