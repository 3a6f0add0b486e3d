import { basename } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { WorkerLimitError, runInWorker } from '../../base/worker-task.ts'
import { BatonError } from '../../base/error.ts'
import { sizeText } from '../../base/size.ts'
import type { FilePart } from '../../event/message.ts'
import { readSlices } from '../workspace-reads.ts'
import type { FileKind, ReadableFile } from './read-file.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import { pastEnd } from './output.ts'
import type { PdfPages } from './pdf-pages.ts'
import type { PdfPageTexts } from './pdf-words.ts'
import type { ReadInput } from './read.ts'

/** Limits of providers: images of 5 MB and requests of 32 MB, in base64. */
const mostBytes = { image: 3.75 * 1024 * 1024, document: 16 * 1024 * 1024 }
/** Most pages of a document shown at once. */
const defaultPages = 20
const pdfLimits = { timeMs: 20_000, memoryMb: 512 }

interface Reading {
  readonly input: ReadInput
  readonly call: ToolCall
}

/** An image, a document or some of its pages, after a line that says what it is. @throws BatonError FILE_FAILED */
export async function readMedia(
  file: ReadableFile,
  { kind, mediaType }: Exclude<FileKind, { readonly kind: 'binary' }>,
  { input, call }: Reading,
): Promise<ToolOutput> {
  const { path, shown, size } = file
  const { taken = { image: true, document: true } } = call.context.scope
  if (kind === 'image' && !taken.image) {
    throw new BatonError('FILE_FAILED', modelText`${shown} is an image (${mediaType}), and this model takes only text`)
  }
  if (size > mostBytes[kind]) {
    throw new BatonError(
      'FILE_FAILED',
      `${shown} has ${sizeText(size)}; a model is given at most ${sizeText(mostBytes[kind])}`,
    )
  }
  const pieces: Buffer[] = []
  await readSlices(
    path,
    (piece) => {
      pieces.push(Buffer.from(piece))
      return true
    },
    call.context,
  )
  const bytes = Buffer.concat(pieces)
  const name = basename(path)
  if (kind === 'document' && !taken.document) return wordsOf({ shown, bytes }, { input, call })
  if (kind === 'document') return pagesOf({ name, shown, bytes }, { input, call })
  const image = { type: 'file', name, mediaType, data: bytes.toString('base64') } as const
  return { text: `${shown} (${mediaType}, ${sizeText(size)})`, files: [image] }
}

interface PdfDocument {
  readonly name: string
  readonly shown: string
  readonly bytes: Uint8Array
}

/** The text of a document, for a model that does not accept documents. */
async function wordsOf(
  { shown, bytes }: Omit<PdfDocument, 'name'>,
  { input: { offset = 1, limit = defaultPages }, call }: Reading,
): Promise<ToolOutput> {
  const wanted = { first: offset, count: Math.min(limit, defaultPages) }
  const { signal } = call.context.services
  const task = { name: 'pdf.words', args: [bytes, shown, wanted] }
  const { count, pages } = (await inLimits(shown, runInWorker(task, { ...pdfLimits, signal }))) as PdfPageTexts
  if (pages.length === 0) throw pastEnd(shown, pagesText(count), offset)
  const last = offset + pages.length - 1
  const rest = last < count ? `; go on from offset ${last + 1}` : ''
  const texts = pages.map(
    (text, index) => `--- page ${offset + index} ---\n${text === '' ? '[no text: it may be an image]' : text}`,
  )
  const part = offset > 1 || last < count ? [`[pages ${offset} to ${last} of ${count}${rest}]`] : []
  return { text: [`${shown} (PDF, the text of its pages)`, ...part, ...texts].join('\n') }
}

/** A page count as text: modelText`1 page`, "3 pages". */
function pagesText(count: number): string {
  return count === 1 ? '1 page' : `${count} pages`
}

/** A document that takes too long or too much memory is reported as unreadable. */
async function inLimits<T>(shown: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
    throw new BatonError('FILE_FAILED', modelText`${shown} cannot be read: ${error.message}`, { cause: error })
  }
}

/** The whole document if it is short and no pages are requested; otherwise each page as a separate document. */
async function pagesOf({ name, shown, bytes }: PdfDocument, { input, call }: Reading): Promise<ToolOutput> {
  const { offset = 1, limit = defaultPages } = input
  const wanted = { first: offset, count: Math.min(limit, defaultPages) }
  const { signal } = call.context.services
  const task = { name: 'pdf.pages', args: [bytes, shown, wanted] }
  const { count, pages } = (await inLimits(shown, runInWorker(task, { ...pdfLimits, signal }))) as PdfPages
  const part = (label: string, data: string): FilePart => ({
    type: 'file',
    name: label,
    mediaType: 'application/pdf',
    data,
  })
  if (pages === 'all') {
    return { text: `${shown} (PDF, ${pagesText(count)})`, files: [part(name, Buffer.from(bytes).toString('base64'))] }
  }
  if (pages.length === 0) throw pastEnd(shown, pagesText(count), offset)
  const last = offset + pages.length - 1
  const rest = last < count ? `; go on from offset ${last + 1}` : ''
  return {
    text: modelText`${shown} (PDF)\n[pages ${offset} to ${last} of ${count}${rest}]`,
    files: pages.map((data, index) => part(`${name.replace(/\.pdf$/i, '')}-${offset + index}.pdf`, data)),
  }
}
