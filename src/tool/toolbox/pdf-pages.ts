import { openPdf } from '../../base/pdf.ts'

export interface PdfPages {
  /** Page count of the whole document. */
  readonly count: number
  /** Each page as a separate document, in base64; `all`: the whole document is wanted, unchanged. */
  readonly pages: readonly string[] | 'all'
}

/**
 * Extracts pages of a PDF, counted from 1. Runs in a thread, because large documents take long.
 * @throws BatonError FILE_FAILED
 */
export async function takePages(
  bytes: Uint8Array,
  name: string,
  { first, count: most }: { readonly first: number; readonly count: number },
): Promise<PdfPages> {
  const { pageCount: count, page } = await openPdf(bytes, name)
  if (first === 1 && count <= most) return { count, pages: 'all' }
  const pages: string[] = []
  for (let number = first; number <= Math.min(count, first + most - 1); number += 1) {
    pages.push(Buffer.from(await page(number - 1)).toString('base64'))
  }
  return { count, pages }
}
