import { withoutMark } from '../base/text-lines.ts'
import { noUsage } from '../event/message.ts'
import type { Emit, AnswerMetadata, WireFormat } from './wire/format.ts'
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
import type { FinishReason, ModelEvent } from './provider.ts'
import { createSseDecoder, type SseEvent } from './sse.ts'

/** How long to wait for the end mark and the usage after the finish reason. */
const tailMs = 10_000

/** How long to wait for the end of the body after the end mark, so that the connection can be reused. */
const drainMs = 100

interface Answering {
  readonly format: WireFormat
  readonly call: Call
  readonly timeouts: ModelTimeouts
}

/** An answer that is being received. */
export interface AnswerReader {
  /** The events of the next read, at least one; undefined at the end of the answer. */
  next(): Promise<readonly ModelEvent[] | undefined>
}

/**
 * Turns the body of a successful response into model events, one batch per read. Whether it is a stream or
 * a whole answer is decided by how it begins, because many servers send the wrong content type. The last two events are
 * usage (one call with zero tokens if the server reported none) and finish. Faults are recorded in the call and thrown
 * after the preceding events. Once a finish reason was received, a connection that breaks or stalls no longer fails the
 * answer. Events read before the caller stopped may still be returned.
 */
export async function readAnswer({ headers, body }: HttpAnswer, answering: Answering): Promise<AnswerReader> {
  const { call, timeouts } = answering
  const type = (headers['content-type'] ?? '').toLowerCase()
  const isJson = type.includes('json')
  const isStream = type === '' || ['event-stream', 'text/plain', 'octet-stream'].some((known) => type.includes(known))
  const known = isJson || isStream
  const head = await readHead(body, call, { timeouts, characters: known ? 1 : 'event:'.length })
  const start = startOf(head)
  const whole = {
    body: head.length === 0 ? body : withHead(body, head),
    empty: endsWithConnection(headers) ? dropped : emptyBody,
  }
  if (start.startsWith('{') || start.startsWith('[')) return readWhole(whole, answering)
  // no JSON begins with a colon or the first letter of a field of a stream
  if (isStream || (isJson && /^[:deir]/.test(start))) return readStream(whole, answering)
  if (isJson) return readWhole(whole, answering)
  if (/^(?:data|event|id|retry)?:/.test(start)) return readStream(whole, answering)
  return call.fail({ ...wrongType, what: `answered with ${type.split(';')[0]} instead of a stream` })
}

/** The first reads of a body, until it has so many characters from the first visible one on. */
async function readHead(
  body: BodyReader,
  call: Call,
  { timeouts, characters }: { readonly timeouts: ModelTimeouts; readonly characters: number },
): Promise<readonly Uint8Array[]> {
  const idle = createIdleLimit(timeouts)
  const head: Uint8Array[] = []
  for (;;) {
    const bytes = await call.read(body, idle.next())
    if (bytes === undefined) return head
    head.push(bytes)
    if (startOf([bytes]) !== '' && startOf(head).length >= characters) return head
    idle.came(bytes.length, { hasContent: false, pending: 0 })
    if (idle.isFlooded()) call.fail(flooded)
  }
}

/** The text of these bytes from its first visible character on. */
function startOf(head: readonly Uint8Array[]): string {
  return withoutMark(Buffer.concat(head).toString('utf8')).trimStart()
}

/** The body with what was read of it before. */
function withHead(body: BodyReader, head: readonly Uint8Array[]): BodyReader {
  let first: Uint8Array | undefined = Buffer.concat(head)
  return {
    read() {
      const bytes = first
      first = undefined
      return bytes === undefined ? body.read() : Promise.resolve(bytes)
    },
    cancel: () => body.cancel(),
  }
}

/** Whether only the end of the connection marks the end of the body. */
function endsWithConnection(headers: HttpAnswer['headers']): boolean {
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

interface Body {
  readonly body: BodyReader
  /** The fault if the body is empty. */
  readonly empty: ModelFault
}

function readWhole({ body, empty }: Body, { format, call, timeouts }: Answering): AnswerReader {
  let read = false
  return {
    async next() {
      if (read) return undefined
      read = true
      const text = await readText(body, call, timeouts)
      if (text.trim() === '') return call.fail(empty)
      const answer = readBatches(format)
      return closing(answer.readBody(text), answer.found, call)
    },
  }
}

// one function does everything for a read: passing events between functions costs as much as reading them
function readStream({ body, empty }: Body, { format, call, timeouts }: Answering): AnswerReader {
  const idle = createIdleLimit(timeouts)
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

/** This many bytes of an unfinished event or body count as content, because a long one takes time. */
const progressBytes = 1024

/** The idle limit of each read. Bytes without content do not reset it, no matter how many arrive. */
function createIdleLimit({ streamIdleMs: ms, streamIdleKey: key }: ModelTimeouts) {
  let since = performance.now()
  let empty = 0
  let seen = 0
  return {
    next(): TimeLimit {
      if (empty === 0) return { ms, fault: (passed) => idleTimeout(passed, key) }
      return { ms: Math.max(1, since + ms - performance.now()), fault: () => keepAliveTimeout(ms, key) }
    },
    /** `hasContent`: the bytes contained part of the answer. `pending`: bytes of the unfinished event or body. */
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

/** The limit from the finish reason on, no matter how much more arrives. */
function createTail(ms: number): () => TimeLimit {
  let until: number | undefined
  return () => {
    until ??= performance.now() + ms
    return { ms: Math.max(1, until - performance.now()), fault: idleTimeout }
  }
}

/** Whether an event contains part of the answer, not only metadata. */
function isContent(event: ModelEvent): boolean {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return event.text !== ''
    case 'tool_call':
      return event.input !== '' || event.name !== undefined
    case 'start':
    case 'provider':
    case 'discard':
    case 'usage':
    case 'finish':
      return false
  }
}

/** The events of a whole answer that came outside of an exchange, or the fault in it. */
export function eventsOfWhole(format: WireFormat, body: string): readonly ModelEvent[] | ModelFault {
  const answer = readBatches(format)
  const { events, fault } = answer.readBody(body)
  return fault ?? closed(events, answer.found)
}

function closing({ events, fault }: Batch, found: Readonly<AnswerMetadata>, call: Call): readonly ModelEvent[] {
  return fault === undefined ? closed(events, found) : call.fail(fault)
}

/** The events of an answer with the last two, which are made of what was found. */
function closed(events: readonly ModelEvent[], found: Readonly<AnswerMetadata>): readonly ModelEvent[] {
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
  what: 'closed the connection right after the response headers',
} as const
const tooLong = { ...wrongType, what: 'sent an event of more than 64 MB' } as const
const flooded = { ...wrongType, what: 'sent more than 64 MB without any answer content' } as const

/** The result of reading several events. `events` precede `fault`. */
export interface Batch {
  readonly events: readonly ModelEvent[]
  readonly fault: ModelFault | undefined
}

export interface BatchReader {
  readonly found: Readonly<AnswerMetadata>
  /** Reads the events that arrived together, up to the end mark or the first fault. */
  read(events: readonly SseEvent[]): Batch
  /** Reads a whole answer that is not a stream. */
  readBody(body: string): Batch
  end(): Batch
}

/**
 * Merges adjacent pieces of one text in a batch: they arrive at the same moment anyway, and this makes fast models much
 * cheaper to process.
 */
export function readBatches(format: WireFormat): BatchReader {
  // emptied, never replaced: see the list in exchange.ts
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
    thinking.end(parser.found.finish)
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

/** Most bytes of one event or of a body that is not a stream; anything larger is not a chat answer. */
const maxEventBytes = 64 * 1024 * 1024

/** Limits for reading an error body; its message is cut to far less than that. */
const maxErrorBytes = 64 * 1024
const errorBodyMs = 5_000

/** The rest of a body as text; a body above 64 MB is a fault. */
async function readText(reader: BodyReader, call: Call, timeouts: ModelTimeouts): Promise<string> {
  const idle = createIdleLimit(timeouts)
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  let written = 0
  for (;;) {
    const bytes = await call.read(reader, idle.next())
    if (bytes === undefined) return text + decoder.decode()
    size += bytes.length
    if (size > maxEventBytes) call.fail({ class: 'garbled', retryable: false, what: 'sent a body of more than 64 MB' })
    const piece = decoder.decode(bytes, { stream: true })
    if (piece.trim() !== '') written += bytes.length
    idle.came(bytes.length, { hasContent: false, pending: written })
    text += piece
  }
}

/** The start of an error body; if the body breaks off or never ends, what was received. */
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
    // the status is enough
  } finally {
    clearTimeout(limit)
  }
  return Buffer.concat(pieces).subarray(0, maxErrorBytes).toString('utf8')
}

/** Filters events on their way to the reader. */
interface ThinkingFilter {
  readonly add: Emit
  /** Emits the text held back; call it last. `finish`: why the model stopped, if that is known. */
  readonly end: (finish: FinishReason | undefined) => void
}

type TextEvent = Extract<ModelEvent, { readonly type: 'text' }>

const tag = /<(\/?)(think|thinking)>/gi
const possibleTag = /<\/?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?$/i

/** After so many tags that are quoted, the text is about them. */
const mostQuoted = 32

/** Endings after which a thought that was not closed is one nevertheless, and was cut off. */
const cutOff: ReadonlySet<FinishReason | undefined> = new Set<FinishReason>(['length', 'incomplete', 'content_filter'])

/**
 * Extracts reasoning that servers leave in the text of an answer: what is between the first `<think>` or `<thinking>`
 * and its closing tag, or before a closing tag without an opening one. It becomes a block right before that of the
 * text, without the white space around it. Tags in code, in quotes and in file changes do not count. Without its
 * closing tag, everything stays text, unless the answer was cut off. At most a tag that arrives in pieces is held back:
 * what turns out to be another kind of part than it seemed is discarded and sent again.
 */
function separateThinking(emit: Emit): ThinkingFilter {
  let state: 'text' | 'inside' | 'behind' | 'passing' = 'text'
  let block: number | undefined
  /** What came and was not emitted yet. */
  let held = ''
  /** The text of the block so far; inside a thought, everything from its tag on. */
  let said = ''
  let isSaid = false
  let hasReasoned = false
  let quoted = 0
  let closing = ''

  function add(event: ModelEvent): void {
    if (state === 'passing' || event.type !== 'text') return emit(event)
    block ??= event.block
    if (event.block === block) return read(event)
    end(undefined)
    emit(event)
  }

  function read(event: TextEvent): void {
    const { text } = event
    // fast path: nearly every piece
    if (state === 'text' && isSaid && held === '' && !text.includes('<')) {
      said += text
      return emit(event)
    }
    held += text
    if (state === 'text') find()
    else if (state === 'inside') reason(text)
    else answer()
  }

  /** Looks for the first tag. */
  function find(): void {
    tag.lastIndex = 0
    for (let found = tag.exec(held); found !== null; found = tag.exec(held)) {
      const before = held.slice(0, found.index)
      const behind = held.slice(found.index + found[0].length)
      const isAfterQuote = /["'“‘«]$/.test(before || said)
      if (isAfterQuote && behind === '') return say(before)
      if ((isAfterQuote && /^["'”’»]/.test(behind)) || isInCode(said + before)) {
        quoted += 1
        continue
      }
      if (found[1] === '') open(before, found[0], behind)
      else retract(before, behind)
      return
    }
    if (quoted > mostQuoted) return end(undefined)
    const possible = possibleTag.exec(held)?.index ?? held.length
    say(held.slice(0, possible))
  }

  /** Emits the start of what is held back as text. White space waits for the text behind it, or for a tag. */
  function say(text: string): void {
    isSaid ||= text.trim() !== ''
    if (!isSaid) return
    said += text
    give('text', text)
  }

  function open(before: string, opened: string, behind: string): void {
    if (isSaid || before.trim() !== '') say(before)
    state = 'inside'
    closing = opened.replace('<', '</').toLowerCase()
    said = (isSaid ? '' : before) + opened
    held = behind
    reason(behind)
  }

  /** Everything before a closing tag without an opening one was reasoning. */
  function retract(before: string, behind: string): void {
    const thought = (said + before).trim()
    if (isSaid && block !== undefined) emit({ type: 'discard', block })
    held = thought
    give('reasoning', thought)
    held = behind
    state = 'behind'
    answer()
  }

  function reason(text: string): void {
    said += text
    if (!hasReasoned) held = held.trimStart()
    const at = held.toLowerCase().indexOf(closing)
    if (at === -1) {
      const thought = withoutEnd(held, closing)
      hasReasoned ||= thought !== ''
      return give('reasoning', thought)
    }
    const behind = held.slice(at + closing.length)
    give('reasoning', held.slice(0, at).trimEnd())
    held = behind
    state = 'behind'
    answer()
  }

  function answer(): void {
    held = held.trimStart()
    if (held !== '') end(undefined)
  }

  /** Emits the start of what is held back. */
  function give(type: 'text' | 'reasoning', text: string): void {
    if (text !== '' && block !== undefined) emit({ type, block: type === 'text' ? block : block - 0.5, text })
    held = held.slice(text.length)
  }

  function end(finish: FinishReason | undefined): void {
    if (state === 'inside' && !cutOff.has(finish)) {
      if (hasReasoned && block !== undefined) emit({ type: 'discard', block: block - 0.5 })
      held = said
      give('text', held)
    } else if (state !== 'passing') {
      give(state === 'inside' ? 'reasoning' : 'text', held)
    }
    state = 'passing'
  }

  return { add, end }
}

/** Whether the text before a tag opens code or a file change that is not closed. */
function isInCode(before: string): boolean {
  if (before.lastIndexOf('<FILE_CHANGES') > before.lastIndexOf('</FILE_CHANGES')) return true
  const lines = before.split('\n')
  const line = lines.pop() ?? ''
  let fence: string | undefined
  for (const [, marks = '', info = ''] of lines.map((one) => /^\s*(`{3,}|~{3,})(.*)$/.exec(one) ?? [])) {
    if (marks === '') continue
    if (fence === undefined) fence = info.includes('`') ? undefined : marks
    else if (info.trim() === '' && marks.startsWith(fence)) fence = undefined
  }
  return fence !== undefined || line.split('`').length % 2 === 0
}

/** The text without trailing white space or a partial tag, which must wait for the next piece. */
function withoutEnd(text: string, end: string): string {
  const at = text.lastIndexOf('<')
  const rest = at !== -1 && end.startsWith(text.slice(at).toLowerCase()) ? text.slice(0, at) : text
  return rest.trimEnd()
}
