import { modelText } from '../../base/model-text.ts'
import { decodeText } from '../../base/decode-text.ts'

export const pageFormats = ['markdown', 'text', 'html'] as const

/** What a model gets of a page: Markdown, plain text, or what the server sent. */
export type PageFormat = (typeof pageFormats)[number]

export interface Page {
  readonly bytes: Uint8Array
  /** As sent by the server; empty if it sent none. */
  readonly contentType: string
  readonly format: PageFormat
}

/** The recorded text, which a model reads in parts. */
export interface PageText {
  readonly text: string
  readonly isCut: boolean
}

/** Most characters of a text that are kept: recording more would take too long. */
export const mostPageText = 1_000_000

/**
 * The text of a page; undefined if it is not text, whatever its type says. Runs in a thread, because large pages take
 * long and the code is slow to load.
 * @throws BatonError SCRIPT_FAILED for HTML that is nested too deeply
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

/** Whether content of this type is worth reading; if no type is given, the content decides. */
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

/** A charset declared only in the content: a byte order mark, then `<meta charset>`. */
function typeWithCharset(
  bytes: Uint8Array,
  { contentType, isPage }: { readonly contentType: string; readonly isPage: boolean },
): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return modelText`text/plain; charset=utf-16le`
  if (first === 0xfe && second === 0xff) return modelText`text/plain; charset=utf-16be`
  if (!isPage || /;\s*charset=/i.test(contentType)) return contentType
  const [, charset] = /<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]+)/i.exec(headOf(bytes)) ?? []
  return charset === undefined ? contentType : `text/html; charset=${charset}`
}

function headOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 1024)).toString('latin1')
}

/** Inline images would be most of what a model reads. */
function withoutData(html: string): string {
  return html.replaceAll(/(["'])data:[\w/+.-]{0,100};base64,[\w+/=%\s]*\1/g, '$1data:$1')
}
