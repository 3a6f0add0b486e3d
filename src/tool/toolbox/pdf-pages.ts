import { openPdf } from '../../base/pdf.ts'

export interface PdfPages {
  /** Of the whole document. */
  readonly count: number
  /** Each as a document of its own, in base64; `all`: what is wanted is the document as it is. */
  readonly pages: readonly string[] | 'all'
}

/** Takes pages out of a PDF, the first one being 1. In a thread: large documents take long. @throws BatonError FILE_FAILED */
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
