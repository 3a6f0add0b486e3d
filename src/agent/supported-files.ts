import { runInWorker } from '../base/worker-task.ts'
import type { FilePart, Message, MessagePart, SupportedFiles, TextPart, ToolResultPart } from '../event/message.ts'
import type { PdfPageTexts } from '../tool/toolbox/pdf-words.ts'

/**
 * Adapts messages to a model that answers instead of another one. Files from tools or server resources that it does not
 * accept become the text of their pages, or a note of what they are. `taken` undefined: what it accepts is unknown, so
 * nothing changes.
 */
export async function adaptMessages(
  messages: readonly Message[],
  taken: SupportedFiles | undefined,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  if (taken === undefined || (taken.image && taken.document)) return messages
  const isLeft = (part: MessagePart): boolean => part.type === 'file' && !isTaken(part, taken)
  const hasLeft = (part: MessagePart): part is ToolResultPart => part.type === 'tool_result' && part.parts.some(isLeft)
  const isLeftResource = (part: MessagePart): part is FilePart =>
    part.type === 'file' && part.isResource === true && isLeft(part)
  return Promise.all(
    messages.map(async (message) => {
      if (!message.parts.some((part) => hasLeft(part) || isLeftResource(part))) return message
      const parts = await Promise.all(
        message.parts.map(async (part) => {
          if (isLeftResource(part)) return takenPart(part, taken, signal)
          if (!hasLeft(part)) return part
          return { ...part, parts: await Promise.all(part.parts.map((one) => takenPart(one, taken, signal))) }
        }),
      )
      return { ...message, parts }
    }),
  )
}

function isTaken({ mediaType }: FilePart, { image, document }: SupportedFiles): boolean {
  return mediaType.startsWith('image/') ? image : mediaType !== 'application/pdf' || document
}

/** A cache: a conversation sends the same files again with every request. */
const texts = new WeakMap<FilePart, Promise<string>>()

async function takenPart(
  part: TextPart | FilePart,
  taken: SupportedFiles,
  signal: AbortSignal,
): Promise<TextPart | FilePart> {
  if (part.type === 'text' || isTaken(part, taken)) return part
  const known = texts.get(part)
  if (known !== undefined) return { type: 'text', text: await known }
  const made = textOf(part, signal)
  texts.set(part, made)
  // an interrupted conversion is retried
  made.catch(() => texts.delete(part))
  return { type: 'text', text: await made }
}

/** Limits of pages for one document; a tool returns at most that many at a time. */
const wanted = { first: 1, count: 20 }
const limits = { timeMs: 20_000, memoryMb: 512 }

async function textOf({ name, mediaType, data }: FilePart, signal: AbortSignal): Promise<string> {
  if (mediaType !== 'application/pdf') return `[${name} is an image (${mediaType}), and this model takes only text]`
  try {
    const task = { name: 'pdf.words', args: [Buffer.from(data, 'base64'), name, wanted] }
    const { pages } = (await runInWorker(task, { ...limits, signal })) as PdfPageTexts
    const shown = pages.map((text) => (text === '' ? '[no text: it may be an image]' : text))
    return [`[${name} (PDF, the text of its pages)]`, ...shown].join('\n')
  } catch {
    signal.throwIfAborted()
    return `[${name} is a PDF document, whose text cannot be read, and this model takes only text]`
  }
}
