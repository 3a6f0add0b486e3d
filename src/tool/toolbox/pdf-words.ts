import { BatonError, messageOf } from '../../base/error.ts'
import { openPdfText } from '../../base/pdf-text.ts'

export interface PdfWords {
  /** Of the whole document. */
  readonly count: number
  /** The texts of the pages that were asked for. */
  readonly pages: readonly string[]
}

/** Characters of all pages together; one is always given whole, up to this. */
const mostCharacters = 400_000

/** Takes the text out of pages of a PDF, the first one being 1. In a thread: it takes long, and is code that reads what strangers wrote. */
export async function takeWords(
  bytes: Uint8Array,
  name: string,
  { first, count: most }: { readonly first: number; readonly count: number },
): Promise<PdfWords> {
  try {
    const { pageCount: count, page } = await openPdfText(bytes)
    const pages: string[] = []
    let left = mostCharacters
    for (let number = first; number <= Math.min(count, first + most - 1) && left > 0; number += 1) {
      const text = (await page(number)).slice(0, mostCharacters)
      if (pages.length > 0 && text.length > left) break
      pages.push(text)
      left -= text.length
    }
    return { count, pages }
  } catch (error) {
    throw new BatonError('FILE_FAILED', `the text of ${name} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}
