import type { TimeLimit } from './alarm.ts'
import type { BodyReader, Call } from './call.ts'

/** Bytes of one event or of a whole body that does not stream; more is not a chat answer. */
export const maxEventBytes = 64 * 1024 * 1024

/** Bytes of an error body that are read, and how long they are waited for; its message is cut far below that. */
const maxErrorBytes = 64 * 1024
const errorBodyMs = 5_000

/** The whole rest of a body as text; a body above 64 MB is a fault. */
export async function readText(reader: BodyReader, call: Call, idle: TimeLimit): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for (;;) {
    const bytes = await call.read(reader, idle)
    if (bytes === undefined) return text + decoder.decode()
    size += bytes.length
    if (size > maxEventBytes) call.fail({ class: 'garbled', retryable: false, what: 'sent more than 64 MB at once' })
    text += decoder.decode(bytes, { stream: true })
  }
}

/** The beginning of an error body; a body that breaks off or never ends gives what came. */
export async function readErrorText(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const pieces: Uint8Array[] = []
  let size = 0
  const limit = setTimeout(() => void reader.cancel().catch(() => undefined), errorBodyMs)
  try {
    while (size < maxErrorBytes) {
      const { value } = await reader.read()
      if (value === undefined) break
      pieces.push(value)
      size += value.length
    }
    await reader.cancel()
  } catch {
    // the status says enough
  } finally {
    clearTimeout(limit)
  }
  return Buffer.concat(pieces).subarray(0, maxErrorBytes).toString('utf8')
}
