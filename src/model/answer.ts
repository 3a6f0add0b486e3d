import { noUsage } from '../event/message.ts'
import type { Found, WireFormat } from './wire/format.ts'
import {
  type BodyReader,
  type Call,
  idleTimeout,
  keepAliveTimeout,
  type ModelTimeouts,
  type TimeLimit,
} from './call.ts'
import type { ModelFault } from './errors.ts'
import type { HttpAnswer } from './exchange.ts'
import type { ModelEvent } from './provider.ts'
import { separateThinking } from './thinking.ts'
import { createSseDecoder, type SseEvent } from './sse.ts'

/** How long the end mark and the usage are waited for once the model has said that it is finished. */
const tailMs = 10_000

/** How long the end of the body is waited for after the end mark, so that the connection can be used again. */
const drainMs = 100

interface Answering {
  readonly format: WireFormat
  readonly call: Call
  readonly timeouts: ModelTimeouts
}

/** An answer that is on its way. */
export interface AnswerReader {
  /** The events of the next read, at least one; undefined at the end of the answer. */
  next(): Promise<readonly ModelEvent[] | undefined>
}

/**
 * Turns the body of a successful response into model events (R285, R288), those of one read together. Usage (one call
 * with zero tokens when the server counted none) and finish are the last two. Faults are noted in the call and thrown,
 * after the events before them. Once a finish reason came, a connection that breaks or falls silent no longer makes the
 * answer a failure. Events that were read before the caller stopped may still come.
 */
export function readAnswer({ headers, body }: HttpAnswer, answering: Answering): AnswerReader {
  const { call } = answering
  const type = (headers['content-type'] ?? '').toLowerCase()
  const empty = endsWithConnection(headers) ? dropped : emptyBody
  if (type.includes('json')) return readWhole({ body, empty }, answering)
  const isStream = type === '' || ['event-stream', 'text/plain', 'octet-stream'].some((known) => type.includes(known))
  if (isStream) return readStream({ body, empty }, answering)
  return call.fail({ ...wrongType, what: `answered with ${type.split(';')[0]} instead of a stream` })
}

/** Whether nothing but the end of the connection says where the body ends. */
function endsWithConnection(headers: HttpAnswer['headers']): boolean {
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

interface Body {
  readonly body: BodyReader
  /** What it means when nothing comes. */
  readonly empty: ModelFault
}

function readWhole({ body, empty }: Body, { format, call, timeouts }: Answering): AnswerReader {
  let read = false
  return {
    async next() {
      if (read) return undefined
      read = true
      const text = await readText(body, call, timeouts.streamIdleMs)
      if (text.trim() === '') return call.fail(empty)
      const answer = readBatches(format)
      return closing(answer.readBody(text), answer.found, call)
    },
  }
}

// one function does all that a read takes: handing on from one to the other costs as much as the reading
function readStream({ body, empty }: Body, { format, call, timeouts }: Answering): AnswerReader {
  const idle = createIdleLimit(timeouts.streamIdleMs)
  const tail = createTail(Math.min(tailMs, timeouts.streamIdleMs))
  const decoder = createSseDecoder()
  const answer = readBatches(format)
  const { found } = answer
  let fault: ModelFault | undefined
  let received = false
  let phase: 'reading' | 'ended' | 'closed' = 'reading'

  function eventsOf(bytes: Uint8Array | undefined): readonly ModelEvent[] {
    received ||= bytes !== undefined && bytes.length > 0
    const batch = answer.read(bytes === undefined ? decoder.end() : decoder.push(bytes))
    idle.came(bytes?.length ?? 0, { hasContent: batch.events.some(isContent), pending: decoder.pending() })
    fault = batch.fault ?? (decoder.pending() > maxEventBytes ? tooLong : idle.isFlooded() ? flooded : undefined)
    if (bytes === undefined || found.done) phase = 'ended'
    return batch.events
  }

  async function close(): Promise<undefined> {
    if (found.done) await call.read(body, { ms: drainMs, fault: idleTimeout }).catch(() => undefined)
    return undefined
  }

  return {
    async next() {
      while (phase === 'reading') {
        if (fault !== undefined) call.fail(fault)
        const bytes = await (found.finish === undefined
          ? call.read(body, idle.next())
          : call.read(body, tail()).catch(() => undefined))
        const events = eventsOf(bytes)
        if (events.length > 0) return events
      }
      if (fault !== undefined) call.fail(fault)
      if (phase === 'closed') return close()
      phase = 'closed'
      if (!received) call.fail(empty)
      return closing(answer.end(), found, call)
    },
  }
}

/** Bytes of an event or a body that is not finished yet which are as good as content: a long one may take its time. */
const progressBytes = 1024

/** What limits each read, so that bytes without content do not count as an answer, however many come. */
function createIdleLimit(ms: number) {
  let since = performance.now()
  let empty = 0
  let seen = 0
  return {
    next(): TimeLimit {
      if (empty === 0) return { ms, fault: idleTimeout }
      return { ms: Math.max(1, since + ms - performance.now()), fault: () => keepAliveTimeout(ms) }
    },
    /** `hasContent`: something of the answer was in them. `pending`: bytes of what is not finished yet. */
    came(bytes: number, { hasContent, pending }: { readonly hasContent: boolean; readonly pending: number }): void {
      empty = hasContent ? 0 : empty + bytes
      if (pending < seen) seen = 0
      if (!hasContent && pending < seen + progressBytes) return
      since = performance.now()
      seen = pending
    },
    isFlooded: () => empty > maxEventBytes,
  }
}

/** From the finish reason on, however much more comes. */
function createTail(ms: number): () => TimeLimit {
  let until: number | undefined
  return () => {
    until ??= performance.now() + ms
    return { ms: Math.max(1, until - performance.now()), fault: idleTimeout }
  }
}

/** Whether a piece is something of the answer, and not only says that there is one. */
function isContent(event: ModelEvent): boolean {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return event.text !== ''
    case 'tool_call':
      return event.input !== '' || event.name !== undefined
    case 'start':
    case 'provider':
    case 'usage':
    case 'finish':
      return false
  }
}

function closing({ events, fault }: Batch, found: Readonly<Found>, call: Call): readonly ModelEvent[] {
  if (fault !== undefined) return call.fail(fault)
  const { usage = { ...noUsage, calls: 1 }, costUsd, finish = 'other' } = found
  return [
    ...events,
    { type: 'usage', usage, ...(costUsd === undefined ? {} : { costUsd }) },
    { type: 'finish', reason: finish },
  ]
}

const wrongType = { class: 'garbled', retryable: false } as const
const emptyBody = { ...wrongType, what: 'answered with an empty body' } as const
const dropped = {
  class: 'network',
  retryable: true,
  what: 'closed the connection right after the headers of its answer',
} as const
const tooLong = { ...wrongType, what: 'sent an event of more than 64 MB' } as const
const flooded = { ...wrongType, what: 'sent more than 64 MB without anything of an answer' } as const

/** What several events gave. `fault` is what they ended with; `events` came before it. */
export interface Batch {
  readonly events: readonly ModelEvent[]
  readonly fault: ModelFault | undefined
}

/** An answer that is read in batches. */
export interface BatchReader {
  readonly found: Readonly<Found>
  /** Reads the events that arrived together, up to the end mark or the first fault. */
  read(events: readonly SseEvent[]): Batch
  /** Reads a whole answer that is no stream. */
  readBody(body: string): Batch
  end(): Batch
}

/**
 * Neighbouring pieces of one text in a batch become one: whoever shows them gets them at the same moment anyway, and a
 * fast model costs a fraction.
 */
export function readBatches(format: WireFormat): BatchReader {
  // never replaced: see the list in exchange.ts
  const events: ModelEvent[] = []
  const thinking = separateThinking(add)
  const parser = format.parser(thinking.add)

  function add(next: ModelEvent): void {
    const last = events.at(-1)
    const isText = next.type === 'text' || next.type === 'reasoning'
    if (isText && last?.type === next.type && last.block === next.block) {
      events[events.length - 1] = { type: next.type, block: next.block, text: last.text + next.text }
    } else {
      events.push(next)
    }
  }

  function closed(fault: ModelFault | undefined): ModelFault | undefined {
    thinking.end()
    return fault
  }

  function batch(work: () => ModelFault | undefined): Batch {
    const fault = work()
    return { events: events.splice(0), fault }
  }

  return {
    found: parser.found,
    read: (arrived) =>
      batch(() => {
        for (const event of arrived) {
          if (parser.found.done) break
          const fault = parser.read(event)
          if (fault !== undefined) return fault
        }
        return undefined
      }),
    readBody: (body) => batch(() => closed(parser.readBody(body))),
    end: () => batch(() => closed(parser.end())),
  }
}

/** Bytes of one event or of a whole body that does not stream; more is not a chat answer. */
const maxEventBytes = 64 * 1024 * 1024

/** Bytes of an error body that are read, and how long they are waited for; its message is cut far below that. */
const maxErrorBytes = 64 * 1024
const errorBodyMs = 5_000

/** The whole rest of a body as text; a body above 64 MB is a fault. */
async function readText(reader: BodyReader, call: Call, idleMs: number): Promise<string> {
  const idle = createIdleLimit(idleMs)
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  let written = 0
  for (;;) {
    const bytes = await call.read(reader, idle.next())
    if (bytes === undefined) return text + decoder.decode()
    size += bytes.length
    if (size > maxEventBytes) call.fail({ class: 'garbled', retryable: false, what: 'sent more than 64 MB at once' })
    const piece = decoder.decode(bytes, { stream: true })
    if (piece.trim() !== '') written += bytes.length
    idle.came(bytes.length, { hasContent: false, pending: written })
    text += piece
  }
}

/** The beginning of an error body; a body that breaks off or never ends gives what came. */
export async function readErrorText(body: BodyReader): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  const limit = setTimeout(() => body.cancel(), errorBodyMs)
  try {
    while (size < maxErrorBytes) {
      const bytes = await body.read()
      if (bytes === undefined) break
      pieces.push(bytes)
      size += bytes.length
    }
  } catch {
    // the status says enough
  } finally {
    clearTimeout(limit)
  }
  return Buffer.concat(pieces).subarray(0, maxErrorBytes).toString('utf8')
}
