import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../base/json.ts'
import { sizeText } from '../base/size.ts'
import type { McpContent, McpResourceContent, McpResult } from '../event/mcp.ts'
import type { FilePart, SupportedFiles } from '../event/message.ts'
import type { ToolOutput } from '../tool/toolbox/kind.ts'

/** What model providers accept unconverted; limits as in read-media.ts. */
const takenImages: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const mostBytes = { image: 3.75 * 1024 * 1024, document: 16 * 1024 * 1024 }

interface Telling {
  /** The tool's name: files of its result are named after it. */
  readonly name: string
  /** Kinds of files that the model accepts. */
  readonly taken: SupportedFiles
}

/** A piece of a result: its text for the model, and its file. */
interface Piece {
  readonly text: string
  readonly file?: FilePart
}

/**
 * The result of a server's tool for a model: texts in order, then files; content that the model does not accept is
 * described by its type and size. Structured content follows as JSON, unless one of the texts is the same JSON;
 * programs get it unchanged.
 */
export function toolOutput(
  { content, structured, isError }: McpResult,
  telling: Telling,
): Pick<ToolOutput, 'text' | 'files' | 'structured' | 'isError'> {
  const pieces = content.map((one, index) => pieceOf(one, index, telling))
  const isSaid = structured === undefined || content.some((one) => says(one, structured))
  const texts = [...pieces.map(({ text }) => text), ...(isSaid ? [] : [JSON.stringify(structured)])]
  const files = pieces.flatMap(({ file }) => (file === undefined ? [] : [file]))
  const text = texts.join('\n')
  return {
    text: text === '' ? nothing(isError === true) : text,
    ...(files.length === 0 ? {} : { files }),
    ...(structured === undefined ? {} : { structured }),
    ...(isError === true ? { isError } : {}),
  }
}

function nothing(isError: boolean): string {
  return isError ? 'It failed, and the server does not say why.' : '[the server returned an empty result]'
}

/** Whether a text is the JSON of a value. */
function says(content: McpContent, value: JsonObject): boolean {
  if (content.type !== 'text' || !/^\s*\{/.test(content.text)) return false
  try {
    return isDeepStrictEqual(JSON.parse(content.text) as Json, value)
  } catch {
    return false
  }
}

function pieceOf(content: McpContent, index: number, telling: Telling): Piece {
  switch (content.type) {
    case 'text':
      return { text: content.text }
    case 'image':
    case 'audio': {
      const name = `${telling.name}-${index + 1}${ending(content.mimeType)}`
      return filePiece({ ...content, name, what: content.type }, telling)
    }
    case 'resource_link': {
      const { uri, name, description, mimeType } = content
      const type = mimeType === undefined ? '' : ` (${mimeType})`
      return { text: `[resource ${name}${type}: ${uri}${description === undefined ? '' : `: ${description}`}]` }
    }
    case 'resource': {
      const { uri, mimeType = 'application/octet-stream', text, blob } = content.resource
      if (text !== undefined) return { text: `[resource ${uri}]\n${text}` }
      return filePiece({ data: blob ?? '', mimeType, name: lastStep(uri), what: `resource ${uri}` }, telling)
    }
  }
}

interface GivenFile {
  /** Base64. */
  readonly data: string
  readonly mimeType: string
  readonly name: string
  readonly what: string
}

/** The resource as an image or PDF document; undefined if model providers do not accept it. */
export function fileOfResource({ uri, mimeType = '', blob }: McpResourceContent): FilePart | undefined {
  if (blob === undefined) return undefined
  const mediaType = plainType(mimeType)
  const kind = kindOf(mediaType)
  if (kind === undefined || Buffer.byteLength(blob, 'base64') > mostBytes[kind]) return undefined
  return { type: 'file', name: lastStep(uri), mediaType, data: blob, isResource: true }
}

/** The media type without parameters. */
function plainType(mimeType: string): string {
  return (mimeType.split(';')[0] ?? '').trim().toLowerCase()
}

function kindOf(mediaType: string): keyof typeof mostBytes | undefined {
  if (takenImages.has(mediaType)) return 'image'
  return mediaType === 'application/pdf' ? 'document' : undefined
}

/** A file that the model accepts is attached to the message; any other is only described. */
function filePiece({ data, mimeType, name, what }: GivenFile, { taken }: Telling): Piece {
  const bytes = Buffer.byteLength(data, 'base64')
  const shown = `${what} (${mimeType}, ${sizeText(bytes)})`
  const mediaType = plainType(mimeType)
  const kind = kindOf(mediaType)
  if (kind === undefined) return { text: `[${shown}: models are given only text, images and PDF documents]` }
  if (!taken[kind]) return { text: `[${shown}: this model takes no ${kind}s]` }
  if (bytes > mostBytes[kind]) return { text: `[${shown}: a model is given at most ${sizeText(mostBytes[kind])}]` }
  return { text: `[${shown}]`, file: { type: 'file', name, mediaType, data } }
}

function ending(mimeType: string): string {
  const [, subtype] = /^\w+\/([a-z0-9]+)/i.exec(mimeType) ?? []
  return subtype === undefined ? '' : `.${subtype.toLowerCase()}`
}

function lastStep(uri: string): string {
  return (
    uri
      .split(/[?#]/)[0]
      ?.split('/')
      .findLast((step) => step !== '') ?? 'resource'
  )
}
