import { type Dirent, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ArchiveEntry, archiveLimits, checkEntries, refusedEntry, type SafeEntry } from '../../base/archive.ts'
import { compareBytes } from '../../base/byte-order.ts'
import { BatonError } from '../../base/error.ts'
import { compileGlobs } from '../../base/glob.ts'
import { checkArchiveFile, checkZip, openZip, readZipEntry, type ZipArchive } from '../../base/zip.ts'
import type { ZipEntry } from '../../base/zip-directory.ts'
import type { ZipInput } from '../../base/zip-write.ts'
import { item } from '../../event/place.ts'
import { captureAsync, unwrap } from '../../journal/work-result.ts'
import { allowedPath, allowOf, readablePath } from '../../tool/guard.ts'
import { makeFolder, saveMadeFile } from '../../tool/workspace-files.ts'
import {
  decodeText,
  type FileStatus,
  fileStatus,
  orUnreadable,
  readBytes,
  statusAt,
} from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { type ActCall, type HostCall, textList } from './call.ts'
import { infoOf } from './file-info.ts'
import { acting, type HostModule, observing } from './module.ts'
import { joinPath, pathParts, tidyPath } from './resolve-path.ts'

/** `aip.zip`. Unlike in AIPack, relative paths start from the workspace, as everywhere else. */
export const zipModule: HostModule = {
  name: 'aip.zip',
  functions: {
    /**
     * `aip.zip.create(src_dir, dest?, {globs?}?) → FileInfo`
     * Packs a folder into a zip file, `<name>.zip` next to it unless `dest` is given; `globs` select the files by their
     * paths in the archive. Equal folders make equal archives. It is an error if the folder is missing, if a link in it
     * leads to a path that may not be read, or for names or sizes that `extract` would reject.
     */
    create: acting(createZip),
    /**
     * `aip.zip.extract(zip, dest?, {globs?}?) → FileInfo[]` Unpacks an archive into `dest`, or into a folder next to it
     * with its name without `.zip`, and returns the files in the order of the archive. Everything is checked before the
     * first file is written. These are errors: names that lead outside the folder or are not portable, links, encrypted
     * or damaged entries, more than 20,000 entries, more than 256 MiB in one entry, 512 MiB in total, or 250 times the
     * packed size.
     */
    extract: acting(extractZip),
    /**
     * `aip.zip.list(zip, {globs?}?) → string[]` The names of the entries as stored, in the order of the archive; names
     * of folders end with `/`. They are not checked. It is an error if the archive is missing or damaged.
     */
    list: observing((call) => {
      const wants = wantedPaths(call, 1)
      return readArchive(call.file(0), call)
        .entries.map(({ name }) => name)
        .filter(wants)
    }),
    /**
     * `aip.zip.read_text(zip, entry) → string?` The text of one entry, by its name as `list` returns it; nil if there
     * is no such entry. It is an error if it is not UTF-8, damaged, encrypted, too large, or in the archive twice.
     */
    read_text: observing((call) => {
      const wanted = call.text(1, 'the entry')
      const archive = readArchive(call.file(0), call)
      const [found, second] = archive.entries.filter(({ name }) => name === wanted)
      if (found === undefined) return undefined
      if (second !== undefined) throw call.error(`${archive.archive} contains ${wanted} twice`)
      return decodeText(readZipEntry(archive, found), `${wanted} in ${archive.archive}`)
    }),
  },
}

/** Whether the option `globs` selects a path in an archive; every path if it is omitted or empty. */
function wantedPaths(call: HostCall, optionsAt: number): (path: string) => boolean {
  const globs = call.options(optionsAt).get('globs')
  const given = globs === undefined ? [] : textList(globs, call.name, 'the option globs')
  return given.length === 0 ? () => true : compileGlobs(given).matches
}

/** @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED */
function readArchive(path: string, call: HostCall): ZipArchive {
  const { context } = call
  const archive = call.shown(path)
  checkArchiveFile(fileStatus(path, context)?.size ?? 0, { archive })
  return openZip(readBytes(call.noted(path), context), { archive })
}

async function createZip(call: ActCall): Promise<LuaValue> {
  const { context } = call
  const path = call.has(1) ? call.path(1, 'the destination') : defaultArchive(call)
  const source = call.file(0, 'the folder')
  const target = call.resolve(path)
  const wants = wantedPaths(call, 2)
  const packed = await captureAsync(async () => {
    const archive = allowedPath('write', target, { context, allow: allowOf(context) })
    const { writeZip } = await import('../../base/zip-write.ts')
    return writeZip(folderEntries(source, { call, wants, archive }))
  })
  context.services.signal.throwIfAborted()
  saveMadeFile(target, { op: 'pack', source, make: () => unwrap(packed) }, call)
  return infoOf(path, target, context)
}

function defaultArchive(call: HostCall): string {
  const folder = call.path(0, 'the folder')
  const { parent, name } = pathParts(tidyPath(folder))
  if (name === '') throw call.error(`${folder} has no name for the archive: pass a destination`)
  return joinPath(parent ?? '', `${name}.zip`)
}

interface FolderOptions {
  readonly call: HostCall
  /** Selects files by their path in the archive. */
  readonly wants: (path: string) => boolean
  /** The archive itself (absolute, links resolved), which may be in the folder and is skipped. */
  readonly archive: string
}

interface Found extends ArchiveEntry {
  readonly kind: 'file' | 'folder'
  readonly absolute: string
}

/**
 * The entries of a folder (absolute) for an archive, in byte order of the paths: all folders, and the wanted files,
 * including hidden ones. A link to a file counts as its target, which must be readable; a link to a folder counts as an
 * empty folder. Names and sizes are checked as when unpacking, before anything is read, so that every archive can be
 * unpacked.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
function* folderEntries(folder: string, options: FolderOptions): Generator<ZipInput> {
  const { context } = options.call
  const archive = options.call.shown(folder)
  const root = readablePath(folder, context)
  const status = statusAt(root)
  if (status === undefined) throw new BatonError('FILE_FAILED', `there is no folder ${archive}`)
  if (status.kind !== 'folder') throw new BatonError('FILE_FAILED', `${archive} is not a folder`)
  const found = limited(entriesBelow(root, '', options), archive).toSorted((a, b) => compareBytes(a.name, b.name))
  for (const { entry, path } of checkEntries(found, { archive })) {
    if (entry.kind === 'folder') yield { kind: 'folder', path }
    else yield { kind: 'file', path, content: readBytes(entry.absolute, context), isExecutable: canRun(entry.absolute) }
  }
}

/** The entries. Stops as soon as there are too many: the folder may be as large as the whole disk. */
function limited(entries: Iterable<Found>, archive: string): Found[] {
  const found: Found[] = []
  for (const entry of entries) {
    found.push(entry)
    if (found.length > archiveLimits.entries) {
      throw new BatonError('FILE_FAILED', `${archive} contains more than ${archiveLimits.entries} files and folders`, {
        hint: 'Choose a smaller folder, or select files with the option globs.',
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
    if (readablePath(absolute, options.call.context) === options.archive) continue
    yield { name, kind: 'file', size: status.size, packed: status.size, absolute }
  }
}

function entriesOf(folder: string, { call }: FolderOptions): readonly Dirent[] {
  return orUnreadable(call.shown(folder), () => readdirSync(folder, { withFileTypes: true }))
}

function canRun(path: string): boolean {
  return (statSync(path).mode & 0o111) !== 0
}

/**
 * Unpacks an archive. Names, sizes and content of all entries, and existing files at their paths, are checked before
 * the first is written; then each entry is one file effect, so that every file is written atomically.
 */
async function extractZip(call: ActCall): Promise<LuaValue> {
  const { context } = call
  const { parent = '', stem } = pathParts(tidyPath(call.path(0)))
  const folder = call.has(1) ? call.path(1, 'the destination') : joinPath(parent, stem)
  const source = call.file(0)
  const target = call.resolve(folder)
  const wants = wantedPaths(call, 2)

  const examined = await captureAsync(() => examine({ source, target }, wants, call))
  context.services.signal.throwIfAborted()
  const entries = call.observeBefore(() => unwrap(examined).entries.map(({ path, kind }) => ({ path, kind })))

  const infos: LuaValue[] = []
  for (const [index, { path, kind }] of entries.entries()) {
    await nextTurn(undefined, { signal: context.services.signal })
    const absolute = join(target, path)
    const step = call.below(item(index))
    if (kind === 'folder') {
      makeFolder(absolute, step)
      continue
    }
    saveMadeFile(absolute, { op: 'unpack', source, make: () => contentOf(path, unwrap(examined)) }, step)
    infos.push(infoOf(joinPath(folder, path), absolute, context))
  }
  return infos
}

interface Examined {
  readonly zip: ZipArchive
  readonly entries: readonly SafeEntry<ZipEntry>[]
  readonly byPath: ReadonlyMap<string, ZipEntry>
}

async function examine(
  { source, target }: { readonly source: string; readonly target: string },
  wants: (path: string) => boolean,
  call: HostCall,
): Promise<Examined> {
  const { context } = call
  const zip = readArchive(source, call)
  const entries = await checkZip(zip, context.services.signal, wants)
  const known = new Map<string, FileStatus['kind'] | undefined>()
  for (const { entry, path, kind } of entries) {
    const absolute = join(target, path)
    // checked first, so that errors reveal nothing about paths outside
    const real = allowedPath('write', absolute, { context, allow: allowOf(context) })
    const needed: readonly (readonly [string, 'file' | 'folder'])[] = [
      ...foldersBetween(target, absolute).map((folder) => [folder, 'folder'] as const),
      [real, kind],
    ]
    for (const [place, wanted] of needed) {
      if (!known.has(place)) known.set(place, statusAt(place)?.kind)
      const found = known.get(place)
      if (found === undefined || found === wanted) continue
      const what = found === 'other' ? 'a device or pipe' : `a ${found}`
      throw refusedEntry(zip.archive, entry.name, `needs a ${wanted} at ${call.shown(place)}, which is ${what}`)
    }
  }
  return { zip, entries, byPath: new Map(entries.map(({ entry, path }) => [path, entry])) }
}

/** The folders from `target` down to the parent of a path below it. */
function foldersBetween(target: string, path: string): string[] {
  const folder = dirname(path)
  return folder === target ? [target] : [...foldersBetween(target, folder), folder]
}

/** The archive may have been replaced since its entries were recorded, and may lack one of them. */
function contentOf(path: string, { zip, byPath }: Examined): Uint8Array {
  const entry = byPath.get(path)
  if (entry === undefined) throw refusedEntry(zip.archive, path, 'is no longer in it')
  return readZipEntry(zip, entry)
}
