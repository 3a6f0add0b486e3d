import { readdirSync, statSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { type ArchiveEntry, archiveLimits, checkEntries } from '../../base/archive-entry.ts'
import { compareBytes } from '../../base/byte-order.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import type { ZipInput } from '../../base/zip-write.ts'
import type { RunContext } from '../../event/context.ts'
import { guard } from '../../tool/guard.ts'
import { readBytes, statusAt } from '../../tool/workspace-reads.ts'

export interface FolderOptions {
  readonly context: RunContext
  /** Picks files by their path in the archive. */
  readonly wants: (path: string) => boolean
  /** The archive itself (absolute, links resolved), which may lie in the folder. */
  readonly without: string
}

interface Found extends ArchiveEntry {
  readonly kind: 'file' | 'folder'
  readonly absolute: string
}

/**
 * What is in a folder (absolute), for an archive, in byte order of the paths: all folders, and the files that are wanted.
 * Hidden files count. A link to a file counts as what it leads to, which must be readable; one to a folder as an empty
 * folder. Names and sizes are checked as when unpacking, before anything is read: what is packed can be unpacked.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function* folderEntries(folder: string, options: FolderOptions): Generator<ZipInput> {
  const { context } = options
  const archive = displayPath(context.workspace, folder)
  const root = guard('read', folder, context)
  const status = statusAt(root)
  if (status === undefined) throw new BatonError('FILE_FAILED', `there is no folder ${archive}`)
  if (status.kind !== 'folder') throw new BatonError('FILE_FAILED', `${archive} is not a folder`)
  const found = limited(entriesBelow(root, '', options), archive).toSorted((a, b) => compareBytes(a.name, b.name))
  for (const { entry, path } of checkEntries(found, { archive })) {
    if (entry.kind === 'folder') yield { kind: 'folder', path }
    else yield { kind: 'file', path, content: readBytes(entry.absolute, context), isExecutable: canRun(entry.absolute) }
  }
}

/** The entries, but no more than one too many: a folder may hold all that there is. */
function limited(entries: Iterable<Found>, archive: string): Found[] {
  const found: Found[] = []
  for (const entry of entries) {
    found.push(entry)
    if (found.length > archiveLimits.entries) {
      throw new BatonError('FILE_FAILED', `${archive} holds more than ${archiveLimits.entries} files and folders`, {
        hint: 'Pick a smaller folder, or files by the option globs.',
      })
    }
  }
  return found
}

function* entriesBelow(folder: string, prefix: string, options: FolderOptions): Generator<Found> {
  for (const entry of entriesOf(folder, options)) {
    const absolute = join(folder, entry.name)
    const name = `${prefix}${entry.name}`
    if (entry.isDirectory()) {
      yield { name, kind: 'folder', size: 0, packed: 0, absolute }
      yield* entriesBelow(absolute, `${name}/`, options)
      continue
    }
    const status = statusAt(absolute)
    if (status?.kind === 'folder') yield { name, kind: 'folder', size: 0, packed: 0, absolute }
    if (status?.kind !== 'file' || !options.wants(name)) continue
    if (guard('read', absolute, options.context) === options.without) continue
    yield { name, kind: 'file', size: status.size, packed: status.size, absolute }
  }
}

function entriesOf(folder: string, { context }: FolderOptions): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    const shown = displayPath(context.workspace, folder)
    throw new BatonError('FILE_FAILED', `${shown} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function canRun(path: string): boolean {
  return (statSync(path).mode & 0o111) !== 0
}
