import { guard } from '../../tool/guard.ts'
import { readZipEntry } from '../../base/zip.ts'
import { saveMadeFile } from '../../tool/workspace-files.ts'
import { decodeText, fileStatus } from '../../tool/workspace-reads.ts'
import type { Place } from '../../event/effects.ts'
import { attemptAsync, passOn } from '../../journal/attempt.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, pathText, text } from './arguments.ts'
import { fileInfo } from './file-info.ts'
import type { HostModule, Section } from './module.ts'
import { joinPath, pathParts } from './path-parts.ts'
import { sectionPath } from './section-path.ts'
import { pathOr, readArchive, wantedPaths } from './zip-arguments.ts'
import { extractZip } from './zip-extract.ts'
import { folderEntries } from './zip-folder.ts'

/** `aip.zip` (spec/aipack.md 6.2). Unlike AIPack, relative paths start from the workspace, as everywhere else. */
export const zipModule: HostModule = {
  name: 'aip.zip',
  functions: {
    /**
     * `aip.zip.create(src_dir, dest?, {globs?}?) → FileInfo`
     * Packs a folder into a zip file, `<name>.zip` beside it unless `dest` names another; `globs` pick the files by their
     * paths in the archive. Equal folders make equal archives. Error when the folder is missing, when a link in it leads
     * out of what may be read, and for names or sizes that `extract` would refuse.
     */
    create: { effect: 'act', call: async (args, section, at) => [await createZip(args, section, at)] },
    /**
     * `aip.zip.extract(zip, dest?, {globs?}?) → FileInfo[]`
     * Unpacks an archive into `dest`, or a folder beside it that is named as it is without `.zip`, and gives the files in
     * the order of the archive. Everything is checked before the first file is written: error for names that lead out or
     * are not good everywhere, links, encrypted or damaged entries, and more than 20,000 entries, 256 MiB in one, 512 MiB
     * in all, or 250 times the packed size.
     */
    extract: { effect: 'act', call: async (args, section, at) => [await extractZip(args, section, at)] },
    /**
     * `aip.zip.list(zip, {globs?}?) → string[]`
     * The names of the entries as they are stored, in the order of the archive; those of folders end with `/`. They are
     * not checked. Error when the archive is missing or damaged.
     */
    list: {
      effect: 'observe',
      call: ([zip, options], section) => {
        const name = 'aip.zip.list'
        const wants = wantedPaths(options, name)
        const { entries } = readArchive(sectionPath(zip, { name }, section), section)
        return [entries.map((entry) => entry.name).filter(wants)]
      },
    },
    /**
     * `aip.zip.read_text(zip, entry) → string?`
     * The text of one entry, by its name as `list` gives it; nil when there is none. Error when it is not UTF-8, damaged,
     * encrypted, too large, or in the archive twice.
     */
    read_text: { effect: 'observe', call: ([zip, entry], section) => [readText(zip, entry, section)] },
  },
}

function readText(zip: LuaValue, entry: LuaValue, section: Section): string | undefined {
  const name = 'aip.zip.read_text'
  const wanted = text(entry, name, 'the entry')
  const archive = readArchive(sectionPath(zip, { name }, section), section)
  const [found, second] = archive.entries.filter((one) => one.name === wanted)
  if (found === undefined) return undefined
  if (second !== undefined) throw argumentError(name, `${archive.archive} holds ${wanted} twice`)
  return decodeText(readZipEntry(archive, found), `${wanted} in ${archive.archive}`)
}

async function createZip([src, dest, options]: readonly LuaValue[], section: Section, at: Place): Promise<LuaValue> {
  const name = 'aip.zip.create'
  const { context } = section
  const given = pathText(src, name, 'the folder')
  const path = pathOr(dest, () => defaultArchive(given, name), { name, what: 'the destination' })
  const source = sectionPath(given, { name, what: 'the folder' }, section)
  const target = sectionPath(path, { name, what: 'the destination' }, section)
  const wants = wantedPaths(options, name)
  const packed = await attemptAsync(async () => {
    const without = guard('write', target, context)
    const { writeZip } = await import('../../base/zip-write.ts')
    return writeZip(folderEntries(source, { context, wants, without }))
  })
  context.signal.throwIfAborted()
  saveMadeFile(target, { op: 'pack', source, make: () => passOn(packed) }, { context, at })
  return fileInfo(path, fileStatus(target, context))
}

function defaultArchive(folder: string, name: string): string {
  const { parent, name: last } = pathParts(folder)
  if (last === '') throw argumentError(name, `${folder} has no name to call the archive by: pass a destination`)
  return joinPath(parent ?? '', `${last}.zip`)
}
