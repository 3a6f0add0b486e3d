import { decodeText } from '../../base/decode-text.ts'

export const pageFormats = ['markdown', 'text', 'html'] as const

/** What a model gets of a page: Markdown, its words, or what the server sent. */
export type PageFormat = (typeof pageFormats)[number]

export interface Page {
  readonly bytes: Uint8Array
  /** As the server says it; empty: it does not. */
  readonly contentType: string
  readonly format: PageFormat
}

/** A text that is recorded, of which a model reads a part at a time. */
export interface PageText {
  readonly text: string
  /** It was longer, and this is its beginning. */
  readonly isCut: boolean
}

/** Characters that are kept of a text: more would take the process too long to record. */
export const mostPageText = 1_000_000

/**
 * The text of a page; undefined: it is no text, whatever its type says. It takes long for large pages, and its code is
 * slow to load, so that it is done in a thread.
 * @throws BatonError SCRIPT_FAILED for HTML that is nested too deep
 */
export async function readPage({ bytes, contentType, format }: Page): Promise<PageText | undefined> {
  const text = await wholeText({ bytes, contentType, format })
  if (text === undefined || text.length <= mostPageText) return text === undefined ? undefined : { text, isCut: false }
  const code = text.charCodeAt(mostPageText - 1)
  const isHalf = code >= 0xd800 && code < 0xdc00
  return { text: text.slice(0, isHalf ? mostPageText - 1 : mostPageText), isCut: true }
}

async function wholeText({ bytes, contentType, format }: Page): Promise<string | undefined> {
  const isPage = isHtml(contentType) || (contentType === '' && looksLikeHtml(bytes))
  const text = decodeText(bytes, typeWithCharset(bytes, { contentType, isPage }))
  if (text.includes('\0')) return undefined
  if (!isPage || format === 'html') return text
  if (format === 'text') return (await import('../../base/text-from-html.ts')).textFromHtml(text)
  return (await import('../../base/markdown-from-html.ts')).markdownFromHtml(withoutData(text))
}

/** Whether a type is worth reading; one that is not given is looked into. */
export function isTextType(contentType: string): boolean {
  const type = essence(contentType)
  return type === '' || textTypes.test(type)
}

const textTypes =
  /^text\/|[/+](?:json|xml|yaml|toml)$|^application\/(?:x-)?(?:json.*|ndjson|jsonl|xhtml|javascript|ecmascript|typescript|sql|graphql|sh|latex|tex|httpd-php|www-form-urlencoded)$/

function essence(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase()
}

function isHtml(contentType: string): boolean {
  return ['text/html', 'application/xhtml+xml'].includes(essence(contentType))
}

function looksLikeHtml(bytes: Uint8Array): boolean {
  return /^\s*<(?:!doctype html|html|head|body)\b/i.test(headOf(bytes))
}

/** A charset that only the bytes or the page itself tell: a byte order mark, then `<meta charset>`. */
function typeWithCharset(
  bytes: Uint8Array,
  { contentType, isPage }: { readonly contentType: string; readonly isPage: boolean },
): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'text/plain; charset=utf-16le'
  if (first === 0xfe && second === 0xff) return 'text/plain; charset=utf-16be'
  if (!isPage || /;\s*charset=/i.test(contentType)) return contentType
  const [, charset] = /<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]+)/i.exec(headOf(bytes)) ?? []
  return charset === undefined ? contentType : `text/html; charset=${charset}`
}

function headOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 1024)).toString('latin1')
}

/** Pictures that are written into a page would be most of what a model reads. */
function withoutData(html: string): string {
  return html.replaceAll(/(["'])data:[\w/+.-]{0,100};base64,[\w+/=%\s]*\1/g, '$1data:$1')
}
