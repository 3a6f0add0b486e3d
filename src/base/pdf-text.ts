/** The text of an open PDF. Pages count from 1. */
export interface PdfText {
  readonly pageCount: number
  /** Words in the order in which they are drawn; empty for a page that is only an image. */
  readonly page: (number: number) => Promise<string>
}

/** The used part of the package, which is loaded by name: it is too large to bundle into the command. */
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

/** Prints nothing, and never compiles code from a document. */
const quiet = { verbosity: 0, isEvalSupported: false }

/**
 * Opens a PDF for its text. Import this file lazily, and run it where it can be stopped.
 * @throws Error for a damaged file
 */
export async function openPdfText(bytes: Uint8Array): Promise<PdfText> {
  const name = 'unpdf'
  const { getDocumentProxy } = (await import(name)) as Unpdf
  // the package transfers the memory it is given
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
