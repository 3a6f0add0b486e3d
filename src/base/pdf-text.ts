/** The text of an open PDF. Pages count from 1. */
export interface PdfText {
  readonly pageCount: number
  /** Words in the order in which they are drawn; empty for a page that is only an image. */
  readonly page: (number: number) => Promise<string>
}

/** What is used of the package, which is loaded by its name: it is too large to be built into the command. */
interface Unpdf {
  readonly getDocumentProxy: (bytes: Uint8Array, options: object) => Promise<PdfProxy>
}

interface PdfProxy {
  readonly numPages: number
  readonly getPage: (number: number) => Promise<{ readonly getTextContent: () => Promise<TextContent> }>
}

interface TextContent {
  readonly items: readonly { readonly str?: string; readonly hasEOL?: boolean }[]
}

/** Nothing is printed, and no code is made of what is in a document. */
const quiet = { verbosity: 0, isEvalSupported: false }

/** Opens a PDF for its text. Load this file at its first use, and run it where it can be ended. @throws Error for a damaged one */
export async function openPdfText(bytes: Uint8Array): Promise<PdfText> {
  const name = 'unpdf'
  const { getDocumentProxy } = (await import(name)) as Unpdf
  // the package takes the memory of what it is given
  const document = await getDocumentProxy(Uint8Array.from(bytes), quiet)
  return {
    pageCount: document.numPages,
    async page(number) {
      const { items } = await (await document.getPage(number)).getTextContent()
      return items
        .map(({ str = '', hasEOL = false }) => (hasEOL ? `${str}\n` : str))
        .join('')
        .trim()
    },
  }
}
