import { basename, extname } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { RunContext } from '../event/context.ts'
import type { Message } from '../event/message.ts'
import { resolvePath } from '../script/host/resolve-path.ts'
import { readBytes } from '../tool/workspace-reads.ts'
import { isUtf8 } from 'node:buffer'

interface Source {
  readonly file_source: string
  readonly file_name?: string
  readonly title?: string
}

/**
 * The files a data response attaches, one user message each, before all prompt sections (spec/aipack.md 2.5). A file
 * that cannot be read becomes a message that says so. Text files are quoted, all others travel as binary parts.
 * @throws BatonError SCRIPT_FAILED when the value has another shape
 */
export function loadAttachments(value: Json | undefined, context: RunContext): readonly Message[] {
  return readSources(value).map((source, index) =>
    loadAttachment(source, { ...context, at: [...context.at, String(index)] }),
  )
}

function readSources(value: Json | undefined): readonly Source[] {
  if (value === undefined || value === null) return []
  const list: readonly Json[] = Array.isArray(value) ? value : Object.keys(value).length === 0 ? [] : [value]
  return list.map((item) => {
    if (!isJsonObject(item) || typeof item['file_source'] !== 'string') {
      throw new BatonError('SCRIPT_FAILED', 'attachments must be tables with a file_source', {
        hint: 'Write attachments = { { file_source = "image.png", title = "…" } }.',
      })
    }
    return { file_source: item['file_source'], ...textField(item, 'file_name'), ...textField(item, 'title') }
  })
}

function textField<K extends string>(item: JsonObject, key: K): { readonly [key in K]?: string } {
  const value = item[key]
  return (typeof value === 'string' ? { [key]: value } : {}) as { readonly [key in K]?: string }
}

function loadAttachment({ file_source: path, file_name, title }: Source, context: RunContext): Message {
  const name = file_name ?? basename(path)
  const about = [`Attached file: ${path}`, `Name: ${name}`, ...(title === undefined ? [] : [`Title: ${title}`])].join(
    '\n',
  )
  try {
    const data = context.effects.observe(context.at, { name: 'attachment', args: [path] }, () =>
      readBytes(resolvePath(path, context), context).toString('base64'),
    )
    const bytes = Buffer.from(data, 'base64')
    const mediaType = mediaTypes[extname(path).toLowerCase()]
    if (mediaType === undefined && isUtf8(bytes) && !bytes.includes(0)) {
      return { role: 'user', content: `${about}\n\n${bytes.toString('utf8')}` }
    }
    return {
      role: 'user',
      content: about,
      attachment: { name, mediaType: mediaType ?? 'application/octet-stream', data },
    }
  } catch (error) {
    return { role: 'user', content: `${about}\nIt could not be read: ${messageOf(error)}` }
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
