import { join } from 'node:path'
import { item } from '../../event/place.ts'
import { capture, captureAsync, unwrap } from '../../journal/work-result.ts'
import { saveMadeFile } from '../../tool/workspace-files.ts'
import { readBytes } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { converted } from './worker-call.ts'
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
     * The number of pages of a PDF. It is an error if the file is missing, not a PDF, damaged, needs a password,
     * or needs more than 128 MB when it is unpacked.
     */
    page_count: acting(async (call) => {
      const path = call.file(0)
      const counted = await captureAsync(async () => (await pdfAt(path, call, { count: 0 })).pageCount)
      return call.observeFile(() => unwrap(counted))
    }),
    /**
     * `aip.pdf.split_pages(path, dest_dir?) → FileInfo[]`
     * Writes each page of a PDF to its own file, `<stem>-page-0001.pdf` and so on, in `dest_dir`, or in a folder next
     * to the PDF with its name without `.pdf`. Errors as for `page_count`.
     */
    split_pages: acting(splitPages),
  },
}

/** Pages that are split at once; the PDF is read again for the next ones. */
const atOnce = 50

interface PdfPart {
  readonly pageCount: number
  readonly pages: readonly Uint8Array[]
}

/** Some pages of a PDF, counted from 0. */
function pdfAt(
  path: string,
  call: HostCall,
  { first = 0, count }: { first?: number; count: number },
): Promise<PdfPart> {
  return converted('pdf', [readBytes(call.noted(path), call.context), call.shown(path), { first, count }], call.section)
}

async function splitPages(call: ActCall): Promise<LuaValue> {
  const given = call.path(0)
  const { parent, stem } = pathParts(tidyPath(given))
  if (stem === '') throw call.error(`${given} is not the path of a file`)
  const folder = call.has(1) ? call.path(1, 'the destination') : joinPath(parent ?? '', stem)
  const source = call.file(0)
  const target = call.resolve(folder)

  let part = await captureAsync(() => pdfAt(source, call, { count: atOnce }))
  const count = call.observeBefore(() => unwrap(part).pageCount)
  const infos: LuaValue[] = []
  for (let index = 0; index < count; index += 1) {
    if (index > 0 && index % atOnce === 0)
      part = await captureAsync(() => pdfAt(source, call, { first: index, count: atOnce }))
    const page = capture(() => pageOf(unwrap(part), index))
    call.context.services.signal.throwIfAborted()
    const file = `${stem}-page-${String(index + 1).padStart(4, '0')}.pdf`
    const absolute = join(target, file)
    saveMadeFile(absolute, { op: 'split', source, make: () => unwrap(page) }, call.below(item(index)))
    infos.push(infoOf(joinPath(folder, file), absolute, call.context))
  }
  return infos
}

function pageOf({ pages }: PdfPart, index: number): Uint8Array {
  const page = pages[index % atOnce]
  if (page === undefined) throw new Error(`page ${index + 1} is missing`)
  return page
}
