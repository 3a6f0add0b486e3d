import { join } from 'node:path'
import type { PdfFile } from '../../base/pdf.ts'
import { item } from '../../event/place.ts'
import { attemptAsync, passOn } from '../../journal/attempt.ts'
import { saveMadeFile } from '../../tool/workspace-files.ts'
import { readBytes } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import type { ActCall, HostCall } from './call.ts'
import { infoOf } from './file-info.ts'
import { acting, type HostModule } from './module.ts'
import { joinPath, pathParts, tidyPath } from './resolve-path.ts'

/**
 * `aip.pdf`. Unlike in AIPack, relative paths start from the workspace, and pages are written only where scripts may
 * write.
 */
export const pdfModule: HostModule = {
  name: 'aip.pdf',
  functions: {
    /**
     * `aip.pdf.page_count(path) → integer`
     * The number of pages of a PDF. It is an error if the file is missing, not a PDF, damaged, or needs a password.
     */
    page_count: acting(async (call) => {
      const path = call.file(0)
      const counted = await attemptAsync(async () => (await openAt(path, call)).pageCount)
      return call.observeFile(() => passOn(counted))
    }),
    /**
     * `aip.pdf.split_pages(path, dest_dir?) → FileInfo[]`
     * Writes each page of a PDF to its own file, `<stem>-page-0001.pdf` and so on, in `dest_dir`, or in a folder next
     * to the PDF with its name without `.pdf`. Errors as for `page_count`.
     */
    split_pages: acting(splitPages),
  },
}

async function openAt(path: string, call: HostCall): Promise<PdfFile> {
  const bytes = readBytes(path, call.context)
  const { openPdf } = await import('../../base/pdf.ts')
  return openPdf(bytes, call.shown(path))
}

async function splitPages(call: ActCall): Promise<LuaValue> {
  const given = call.path(0)
  const { parent, stem } = pathParts(tidyPath(given))
  if (stem === '') throw call.error(`${given} is not the path of a file`)
  const folder = call.has(1) ? call.path(1, 'the destination') : joinPath(parent ?? '', stem)
  const source = call.file(0)
  const target = call.resolve(folder)

  const pdf = await attemptAsync(() => openAt(source, call))
  const count = call.observeBefore(() => passOn(pdf).pageCount)
  const infos: LuaValue[] = []
  for (let index = 0; index < count; index += 1) {
    const page = await attemptAsync(() => passOn(pdf).page(index))
    call.context.services.signal.throwIfAborted()
    const file = `${stem}-page-${String(index + 1).padStart(4, '0')}.pdf`
    const absolute = join(target, file)
    saveMadeFile(absolute, { op: 'split', source, make: () => passOn(page) }, call.below(item(index)))
    infos.push(infoOf(joinPath(folder, file), absolute, call.context))
  }
  return infos
}
