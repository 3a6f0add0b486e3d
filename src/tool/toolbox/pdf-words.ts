import { modelText } from '../../base/model-text.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { openPdfText } from '../../base/pdf-text.ts'
import { withUnpackLimit } from '../../base/unpack-limit.ts'
import type { PageRange } from './pdf-pages.ts'

export interface PdfPageTexts {
  /** Page count of the whole document. */
  readonly count: number
  /** The texts of the requested pages. */
  readonly pages: readonly string[]
}

/** Most characters of all pages together, and of a single page. */
const mostCharacters = 400_000

/** Extracts the text of PDF pages, counted from 1. Runs in a thread: it is slow, and parses untrusted input. */
export function extractText(bytes: Uint8Array, name: string, wanted: PageRange): Promise<PdfPageTexts> {
  return withUnpackLimit({ name }, async () => {
    try {
      return await wordsOf(bytes, wanted)
    } catch (error) {
      throw new BatonError('FILE_FAILED', modelText`the text of ${name} cannot be read: ${messageOf(error)}`, {
        cause: error,
      })
    }
  })
}

async function wordsOf(bytes: Uint8Array, { first, count: most }: PageRange): Promise<PdfPageTexts> {
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
}
