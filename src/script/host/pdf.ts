import { join } from 'node:path'
import { displayPath } from '../../base/files.ts'
import type { PdfFile } from '../../base/pdf.ts'
import type { Place } from '../../event/effects.ts'
import { attemptAsync, passOn } from '../../journal/attempt.ts'
import { saveMadeFile } from '../../tool/workspace-files.ts'
import { fileStatus, readBytes } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson } from '../values.ts'
import { argumentError, pathText } from './arguments.ts'
import { fileInfo } from './file-info.ts'
import type { HostModule, Section } from './module.ts'
import { joinPath, pathParts } from './path-parts.ts'
import { sectionPath } from './section-path.ts'
import { pathOr } from './zip-arguments.ts'

/**
 * `aip.pdf` (spec/aipack.md 6.2). Unlike AIPack, relative paths start from the workspace, and pages are written only where
 * scripts may write.
 */
export const pdfModule: HostModule = {
  name: 'aip.pdf',
  functions: {
    /**
     * `aip.pdf.page_count(path) → integer`
     * How many pages a PDF has. Error when the file is missing, no PDF, damaged, or needs a password.
     */
    page_count: {
      effect: 'act',
      call: async (args, section, at) => {
        const name = 'aip.pdf.page_count'
        const path = sectionPath(args[0], { name }, section)
        const counted = await attemptAsync(async () => (await openAt(path, section)).pageCount)
        const call = { name, args: argumentsToJson(args) }
        return [section.context.effects.observe(at, call, () => passOn(counted))]
      },
    },
    /**
     * `aip.pdf.split_pages(path, dest_dir?) → FileInfo[]`
     * Writes each page of a PDF as a file of its own, `<stem>-page-0001.pdf` and so on, into `dest_dir`, or a folder beside
     * it that is named as it is without `.pdf`. Error as for `page_count`.
     */
    split_pages: { effect: 'act', call: async (args, section, at) => [await splitPages(args, section, at)] },
  },
}

async function openAt(path: string, { context }: Section): Promise<PdfFile> {
  const bytes = readBytes(path, context)
  const { openPdf } = await import('../../base/pdf.ts')
  return openPdf(bytes, displayPath(context.workspace, path))
}

async function splitPages(args: readonly LuaValue[], section: Section, at: Place): Promise<LuaValue> {
  const name = 'aip.pdf.split_pages'
  const { context } = section
  const given = pathText(args[0], name)
  const { parent, stem } = pathParts(given)
  if (stem === '') throw argumentError(name, `${given} is not the path of a file`)
  const argument = { name, what: 'the destination' }
  const folder = pathOr(args[1], () => joinPath(parent ?? '', stem), argument)
  const source = sectionPath(given, { name }, section)
  const target = sectionPath(folder, argument, section)

  const pdf = await attemptAsync(() => openAt(source, section))
  const count = context.effects.observe(
    [...at, 'read'],
    { name, args: argumentsToJson(args) },
    () => passOn(pdf).pageCount,
  )
  const infos: LuaValue[] = []
  for (let index = 0; index < count; index += 1) {
    const page = await attemptAsync(() => passOn(pdf).page(index))
    context.signal.throwIfAborted()
    const file = `${stem}-page-${String(index + 1).padStart(4, '0')}.pdf`
    const call = { context, at: [...at, String(index)] }
    saveMadeFile(join(target, file), { op: 'split', source, make: () => passOn(page) }, call)
    infos.push(fileInfo(joinPath(folder, file), fileStatus(join(target, file), context)))
  }
  return infos
}
