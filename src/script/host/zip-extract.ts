import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { refusedEntry, type SafeEntry } from '../../base/archive-entry.ts'
import { displayPath } from '../../base/files.ts'
import { checkZip, readZipEntry, type ZipArchive } from '../../base/zip.ts'
import type { ZipEntry } from '../../base/zip-directory.ts'
import type { Place } from '../../event/effects.ts'
import { attemptAsync, passOn } from '../../journal/attempt.ts'
import { guard } from '../../tool/guard.ts'
import { makeFolder, saveMadeFile } from '../../tool/workspace-files.ts'
import { type FileStatus, fileStatus, statusAt } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson } from '../values.ts'
import { pathText } from './arguments.ts'
import { fileInfo } from './file-info.ts'
import type { Section } from './module.ts'
import { joinPath, pathParts } from './path-parts.ts'
import { sectionPath } from './section-path.ts'
import { pathOr, readArchive, wantedPaths } from './zip-arguments.ts'

const name = 'aip.zip.extract'

/**
 * Unpacks an archive. Names, sizes and content of all entries, and what stands at their places, are checked before the
 * first is written; then each is one file effect, so that every file is written whole or not at all (DESIGN 9).
 */
export async function extractZip(args: readonly LuaValue[], section: Section, at: Place): Promise<LuaValue> {
  const [zip, dest, options] = args
  const { context } = section
  const given = pathText(zip, name)
  const folder = pathOr(dest, () => defaultFolder(given), { name, what: 'the destination' })
  const source = sectionPath(given, { name }, section)
  const target = sectionPath(folder, { name, what: 'the destination' }, section)
  const wants = wantedPaths(options, name)

  const examined = await attemptAsync(() => examine({ source, target, wants }, section))
  context.signal.throwIfAborted()
  const entries = context.effects.observe([...at, 'read'], { name, args: argumentsToJson(args) }, () =>
    passOn(examined).entries.map(({ path, kind }) => ({ path, kind })),
  )

  const infos: LuaValue[] = []
  for (const [index, { path, kind }] of entries.entries()) {
    await nextTurn(undefined, { signal: context.signal })
    const absolute = join(target, path)
    const call = { context, at: [...at, String(index)] }
    if (kind === 'folder') {
      makeFolder(absolute, call)
      continue
    }
    saveMadeFile(absolute, { op: 'unpack', source, make: () => contentOf(path, passOn(examined)) }, call)
    infos.push(fileInfo(joinPath(folder, path), fileStatus(absolute, context)))
  }
  return infos
}

/** Beside the archive, named as it is without its extension. */
function defaultFolder(zip: string): string {
  const { parent, stem } = pathParts(zip)
  return joinPath(parent ?? '', stem)
}

interface Examined {
  readonly zip: ZipArchive
  readonly entries: readonly SafeEntry<ZipEntry>[]
  /** The entries by their paths. */
  readonly byPath: ReadonlyMap<string, ZipEntry>
}

interface Request {
  readonly source: string
  readonly target: string
  readonly wants: (path: string) => boolean
}

async function examine({ source, target, wants }: Request, section: Section): Promise<Examined> {
  const zip = readArchive(source, section)
  const entries = await checkZip(zip, section.context.signal, wants)
  const known = new Map<string, FileStatus['kind'] | undefined>()
  for (const { entry, path, kind } of entries) {
    const absolute = join(target, path)
    // first of all: nothing is said of what lies outside
    const real = guard('write', absolute, section.context)
    const needed: readonly (readonly [string, 'file' | 'folder'])[] = [
      ...foldersBetween(target, absolute).map((folder) => [folder, 'folder'] as const),
      [real, kind],
    ]
    for (const [place, wanted] of needed) {
      if (!known.has(place)) known.set(place, statusAt(place)?.kind)
      const found = known.get(place)
      if (found === undefined || found === wanted) continue
      const shown = displayPath(section.context.workspace, place)
      const what = found === 'other' ? 'a device or pipe' : `a ${found}`
      throw refusedEntry(zip.archive, entry.name, `needs a ${wanted} at ${shown}, which is ${what}`)
    }
  }
  return { zip, entries, byPath: new Map(entries.map(({ entry, path }) => [path, entry])) }
}

/** The folders from `target` down to the one that a path below it lies in. */
function foldersBetween(target: string, path: string): string[] {
  const folder = dirname(path)
  return folder === target ? [target] : [...foldersBetween(target, folder), folder]
}

/** An archive that was replaced since its entries were recorded may no longer hold one of them. */
function contentOf(path: string, { zip, byPath }: Examined): Uint8Array {
  const entry = byPath.get(path)
  if (entry === undefined) throw refusedEntry(zip.archive, path, 'is no longer in it')
  return readZipEntry(zip, entry)
}
