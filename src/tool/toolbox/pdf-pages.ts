import { openPdf } from '../../base/pdf.ts'
import { withUnpackLimit } from '../../base/unpack-limit.ts'

export interface PdfPages {
  readonly count: number
  /** Each page as a separate document, in base64; `all`: the whole document is wanted, unchanged. */
  readonly pages: readonly string[] | 'all'
}

export interface PageRange {
  /** Counted from 1. */
  readonly first: number
  readonly count: number
}

/**
 * Extracts pages of a PDF. Runs in a thread: it is slow for large documents, and parses untrusted input.
 * @throws BatonError FILE_FAILED
 */
export function extractPages(bytes: Uint8Array, name: string, { first, count: most }: PageRange): Promise<PdfPages> {
  return withUnpackLimit({ name }, async () => {
    const { pageCount: count, page } = await openPdf(bytes, name)
    if (first === 1 && count <= most) return { count, pages: 'all' }
    const pages: string[] = []
    for (let number = first; number <= Math.min(count, first + most - 1); number += 1) {
      pages.push(Buffer.from(await page(number - 1)).toString('base64'))
    }
    return { count, pages }
  })
}
