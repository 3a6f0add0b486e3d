import { modelText } from '../../base/model-text.ts'
import { createSlices } from '../../base/concurrency.ts'
import { BatonError } from '../../base/error.ts'
import { sizeText } from '../../base/size.ts'
import { type PieceTaker, readPieces, readSlices } from '../workspace-reads.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import { createLineWindow, type WindowLines } from './line-reader.ts'
import { linesText, mostOfPart, numberedLines, pastEnd, defaultLimit } from './output.ts'
import type { ReadInput } from './read.ts'
import type { SeenFile } from './seen-log.ts'

/** A file that the call may read. */
export interface ReadableFile {
  /** Absolute, links resolved. */
  readonly path: string
  /** The path as the model sees it. */
  readonly shown: string
  /** In bytes. */
  readonly size: number
}

/** A model cannot write larger files back, so their hash is not needed to detect changes. */
const mostHashed = 10 * 1024 * 1024
/** In larger files, the lines after those shown are not counted. */
const mostCounted = 64 * 1024 * 1024

/** Shows lines of a text, an image, or pages of a document. @throws BatonError FILE_FAILED */
export async function readFile(file: ReadableFile, input: ReadInput, call: ToolCall): Promise<ToolOutput> {
  const kind = kindOf(file, call)
  if (kind === undefined) return readLines(file, input, call)
  if (kind.kind !== 'binary') return (await import('./read-media.ts')).readMedia(file, kind, { input, call })
  throw new BatonError('FILE_FAILED', modelText`${file.shown} is binary (${kind.what}, ${sizeText(file.size)})`, {
    hint: 'Only text, images and PDF documents can be read.',
  })
}

function kindOf({ path }: ReadableFile, { context }: ToolCall): FileKind | undefined {
  let kind: FileKind | undefined
  const take = (piece: Buffer): boolean => {
    kind = fileKind(piece.subarray(0, headBytes))
    return false
  }
  readPieces(path, { take }, context)
  return kind
}

function readLines(file: ReadableFile, input: ReadInput, { context, at }: ToolCall): Promise<ToolOutput> {
  return showLines(file, { ...input, at }, (take) => readSlices(file.path, take, context))
}

/** Shows lines of the content a file would have in a dry run. @throws BatonError FILE_FAILED */
export function readText(
  { text, ...file }: Omit<ReadableFile, 'size'> & { readonly text: string },
  input: ReadInput,
  { context: { services }, at }: ToolCall,
): Promise<ToolOutput> {
  const bytes = Buffer.from(text)
  return showLines({ ...file, size: bytes.length }, { ...input, at }, async (take) => {
    const slices = createSlices()
    for (let from = 0; from < bytes.length && take(bytes.subarray(from, from + pieceBytes)); from += pieceBytes) {
      await slices.pass(services.signal)
    }
  })
}

const pieceBytes = 64 * 1024

async function showLines(
  { path, shown, size }: ReadableFile,
  { offset = 1, limit = defaultLimit, at }: ReadInput & Pick<ToolCall, 'at'>,
  read: (take: PieceTaker) => Promise<void>,
): Promise<ToolOutput> {
  const hashes = size <= mostHashed
  const window = createLineWindow({ offset, limit, characters: mostOfPart }, { hashes })
  let isWhole = true
  await read((piece) => {
    window.take(piece)
    isWhole = size <= mostCounted || !window.isFull()
    return isWhole
  })
  const found = window.finish()
  if (found.count === 0) return { text: modelText`[the file is empty]`, seen: [{ path, hash: found.hash }] }
  if (found.lines.length === 0) {
    throw pastEnd(shown, linesText(found.count), offset)
  }
  const seen = hashes && found.lines.every(({ isUtf8 }) => isUtf8) ? seenParts(path, offset, found) : []
  const texts = found.lines.map(({ text }) => text)
  return { text: [numberedLines(texts, offset, at), ...remarks(found, { offset, isWhole, size })].join('\n'), seen }
}

interface Shown {
  readonly offset: number
  /** Whether all lines were counted. */
  readonly isWhole: boolean
  readonly size: number
}

/** Facts about a file in addition to the lines shown. */
function remarks(found: WindowLines, { offset, isWhole, size }: Shown): readonly string[] {
  const { lines, count } = found
  const last = offset + lines.length - 1
  const all = isWhole ? `${count}` : `more than ${count} (${sizeText(size)})`
  const isPart = offset > 1 || last < count || !isWhole
  const rest = last < count || !isWhole ? `; go on from offset ${last + 1}` : ''
  return [
    ...(isPart ? [`[lines ${offset} to ${last} of ${all}${rest}]`] : []),
    ...(lines.some(({ endsInCrLf }) => endsInCrLf) ? ['[lines end in CR LF]'] : []),
    ...(lines.every(({ isUtf8 }) => isUtf8) ? [] : ['[this is not UTF-8: invalid bytes are shown as �]']),
  ]
}

/** The lines a model has seen; truncated lines do not count. */
function seenParts(path: string, offset: number, { lines, count, hash }: WindowLines): readonly SeenFile[] {
  const isAll = offset === 1 && lines.length === count && !lines.some(({ isCut }) => isCut)
  if (isAll) return [{ path, hash }]
  const parts: SeenFile[] = []
  let from = 0
  for (const [index, { isCut }] of [...lines, { isCut: true }].entries()) {
    if (!isCut) continue
    if (index > from) parts.push({ path, hash, part: { from: offset + from, to: offset + index - 1, lines: count } })
    from = index + 1
  }
  return parts
}

/** The kind of a file that is not text, by its first bytes. */
export type FileKind =
  | { readonly kind: 'image' | 'document'; readonly mediaType: string }
  /** `what` completes "it is …". */
  | { readonly kind: 'binary'; readonly what: string }

/** Bytes at the start of a file that are enough to detect its kind. */
const headBytes = 8 * 1024

const media: readonly (readonly [magic: RegExp, mediaType: string])[] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'], // oxlint-disable-line no-control-regex
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[^]{4}WEBP/, 'image/webp'],
  [/^%PDF-/, 'application/pdf'],
]

const binaries: readonly (readonly [magic: RegExp, what: string])[] = [
  [/^PK(?:\x03\x04|\x05\x06)/, 'a zip archive, or a document in one'], // oxlint-disable-line no-control-regex
  [/^\x1f\x8b/, 'compressed with gzip'], // oxlint-disable-line no-control-regex
  [/^(?:BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf)/, 'compressed'],
  [/^[^]{257}ustar/, 'a tar archive'],
  [/^(?:\x7fELF|MZ|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm)/, 'a program'], // oxlint-disable-line no-control-regex
  [/^SQLite format 3\0/, 'an SQLite database'], // oxlint-disable-line no-control-regex
  [/^(?:\xff\xfe|\xfe\xff)/, 'text in UTF-16'],
  [/^(?:ID3|OggS|fLaC|RIFF[^]{4}WAVE|\xff\xfb)/, 'sound'],
  [/^(?:[^]{4}ftyp|\x1aE\xdf\xa3|RIFF[^]{4}AVI )/, 'a video or an image'], // oxlint-disable-line no-control-regex
  [/^(?:BM[^]{4}\0\0\0\0|II\*\0|MM\0\*|\0\0\x01\0)/, 'an image of another kind'], // oxlint-disable-line no-control-regex
]

/** The kind of a file, by its first bytes; undefined for text, which has no NUL byte. */
function fileKind(head: Uint8Array): FileKind | undefined {
  const beginning = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, headBytes)).toString('latin1')
  const [, mediaType] = media.find(([magic]) => magic.test(beginning)) ?? []
  if (mediaType !== undefined) return { kind: mediaType.startsWith('image/') ? 'image' : 'document', mediaType }
  if (!beginning.includes('\0') && !/^(?:\xff\xfe|\xfe\xff|\x1f\x8b)/.test(beginning)) return undefined // oxlint-disable-line no-control-regex
  const [, what = 'no text'] = binaries.find(([magic]) => magic.test(beginning)) ?? []
  return { kind: 'binary', what }
}
