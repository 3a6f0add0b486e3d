import { EncryptedPDFError, PDFDocument } from '@cantoo/pdf-lib'
import { BatonError, messageOf } from './error.ts'

/** An open PDF. Pages count from 0. */
export interface PdfFile {
  readonly pageCount: number
  /** One page as a PDF; always the same bytes. */
  readonly page: (index: number) => Promise<Uint8Array>
}

/** Maximum distance of the first and last marker from the ends of a PDF. */
const tailBytes = 2048

/**
 * Opens a PDF; `name` is its name in messages. A PDF with only an owner password is opened, as viewers do. The library
 * accepts damaged files; they are refused here if pages or the end are missing. Import this file lazily.
 * @throws BatonError FILE_FAILED if it is not a PDF, is damaged, or needs a password
 */
export async function openPdf(content: Uint8Array, name: string): Promise<PdfFile> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (!bytes.subarray(0, tailBytes).includes('%PDF-')) throw pdfFailed(name, 'is not a PDF')
  if (!bytes.subarray(-tailBytes).includes('%%EOF'))
    throw pdfFailed(name, 'is damaged or truncated: its end is missing')
  try {
    const source = await PDFDocument.load(content, { updateMetadata: false, password: '' })
    const pageCount = source.getPageCount()
    const declared = source.catalog.Pages().Count().asNumber()
    if (pageCount !== declared) throw new Error(`it declares ${declared} pages, but ${pageCount} can be read`)
    return { pageCount, page: (index) => pageOf(source, index, name) }
  } catch (error) {
    throw isLocked(error)
      ? pdfFailed(name, 'is encrypted, and needs a password', { cause: error, hint: 'Save it without a password.' })
      : pdfFailed(name, `is damaged: ${messageOf(error)}`, { cause: error })
  }
}

async function pageOf(source: PDFDocument, index: number, name: string): Promise<Uint8Array> {
  try {
    const single = await PDFDocument.create({ updateMetadata: false })
    for (const page of await single.copyPages(source, [index])) single.addPage(page)
    return await single.save()
  } catch (error) {
    throw pdfFailed(name, `is damaged on page ${index + 1}: ${messageOf(error)}`, { cause: error })
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof EncryptedPDFError || messageOf(error) === 'NEEDS PASSWORD'
}

function pdfFailed(
  name: string,
  problem: string,
  details: { readonly hint?: string; readonly cause?: unknown } = {},
): BatonError {
  return new BatonError('FILE_FAILED', `${name} ${problem}`, details)
}
