import { modelText } from '../base/model-text.ts'
import { basename, extname } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { describeValue } from '../settings/issue.ts'
import { below, type ContextWith, type Gate, type RunStore } from '../event/context.ts'
import { type Message, textMessage } from '../event/message.ts'
import { item } from '../event/place.ts'
import { resolvePath } from '../script/host/resolve-path.ts'
import type { ReadContext } from '../tool/guard.ts'
import { noteData, readBytes } from '../tool/workspace-reads.ts'
import { isUtf8 } from 'node:buffer'

type AttachmentContext = ReadContext & ContextWith<'at' | 'runId', Gate & Pick<RunStore, 'reads'>>

/** A file to attach. */
export interface AttachmentSource {
  readonly file_source: string
  readonly file_name?: string
  readonly title?: string
}

/**
 * The attached files of a data response, one user message each, before all prompt sections. An unreadable file becomes
 * a message that says so. Text files are quoted, all others are sent as binary parts.
 */
export function loadAttachments(sources: readonly AttachmentSource[], context: AttachmentContext): readonly Message[] {
  return sources.map((source, index) => loadAttachment(source, below(context, item(index))))
}

/**
 * Reads `attachments` of a data response: one table or a list of tables; null and an empty table mean none.
 * @throws BatonError SCRIPT_FAILED for any other value
 */
export function readAttachments(value: Json | undefined): readonly AttachmentSource[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.map(readSource)
  return isJsonObject(value) && Object.keys(value).length === 0 ? [] : [readSource(value)]
}

function readSource(item: Json): AttachmentSource {
  const source = isJsonObject(item) ? textField(item, 'file_source') : {}
  if (!isJsonObject(item) || source.file_source === undefined) throw wrongShape('must be tables with a file_source')
  return { file_source: source.file_source, ...textField(item, 'file_name'), ...textField(item, 'title') }
}

function textField<K extends string>(item: JsonObject, key: K): { readonly [key in K]?: string } {
  const value = item[key] ?? undefined
  if (value !== undefined && typeof value !== 'string') {
    throw wrongShape(`have a ${key} that is ${describeValue(value)}, not text`)
  }
  return (value === undefined ? {} : { [key]: value }) as { readonly [key in K]?: string }
}

function wrongShape(problem: string): BatonError {
  return new BatonError('SCRIPT_FAILED', `attachments of aip.flow.data_response ${problem}`, {
    hint: 'Write attachments = { { file_source = "image.png", title = "…" } }.',
  })
}

function loadAttachment(
  { file_source: path, file_name, title }: AttachmentSource,
  context: AttachmentContext,
): Message {
  const name = file_name ?? basename(path)
  const about = [
    modelText`Attached file: ${path}`,
    modelText`Name: ${name}`,
    ...(title === undefined ? [] : [modelText`Title: ${title}`]),
  ].join('\n')
  try {
    const call = { name: 'attachment', args: [path], reads: path }
    const data = context.services.effects.observe(context.scope.at, call, () => {
      const file = resolvePath(path, context)
      noteData(file, context)
      return readBytes(file, context).toString('base64')
    })
    const bytes = Buffer.from(data, 'base64')
    const mediaType = mediaTypes[extname(path).toLowerCase()]
    if (mediaType === undefined && isUtf8(bytes) && !bytes.includes(0)) {
      return textMessage('user', `${about}\n\n${bytes.toString('utf8')}`)
    }
    const file = { type: 'file', name, mediaType: mediaType ?? 'application/octet-stream', data } as const
    return { role: 'user', parts: [{ type: 'text', text: about }, file] }
  } catch (error) {
    return textMessage('user', modelText`${about}\nIt could not be read: ${messageOf(error)}`)
  }
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
}
