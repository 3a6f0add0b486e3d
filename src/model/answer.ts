import { noUsage } from '../event/message.ts'
import { readBatch } from './batch.ts'
import { maxEventBytes, readText } from './body.ts'
import { idleTimeout, type BodyReader, type Call, type ModelTimeouts } from './call.ts'
import type { ModelFault } from './errors.ts'
import type { ModelEvent } from './provider.ts'
import { createSseDecoder } from './sse.ts'
import type { AnswerState, AnswerStep, WireFormat } from './wire/format.ts'

/** How long the end mark and the usage are waited for once the model has said that it is finished. */
const tailMs = 10_000

/** How long the end of the body is waited for after the end mark, so that the connection can be used again. */
const drainMs = 100

export interface Answering<S extends AnswerState> {
  readonly format: WireFormat<S>
  readonly call: Call
  readonly timeouts: ModelTimeouts
}

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
export function readAnswer<S extends AnswerState>(response: Response, answering: Answering<S>): AnswerReader {
  const { call } = answering
  const type = (response.headers.get('content-type') ?? '').toLowerCase()
  const body = response.body?.getReader()
  if (body === undefined) return call.fail(emptyBody)
  if (type.includes('json')) return readWhole(body, answering)
  if (mayBeStream(type)) return readStream(body, answering)
  return call.fail({ ...wrongType, what: `answered with ${type.split(';')[0]} instead of a stream` })
}

function readWhole<S extends AnswerState>(body: BodyReader, { format, call, timeouts }: Answering<S>): AnswerReader {
  let read = false
  return {
    async next() {
      if (read) return undefined
      read = true
      const text = await readText(body, call, { ms: timeouts.streamIdleMs, fault: idleTimeout })
      return text.trim() === '' ? call.fail(emptyBody) : closing(format.readBody(text), call)
    },
  }
}

// no generator: in one that hands on every read, the handing on costs more than the reading
function readStream<S extends AnswerState>(body: BodyReader, { format, call, timeouts }: Answering<S>): AnswerReader {
  const idle = { ms: timeouts.streamIdleMs, fault: idleTimeout }
  const tail = { ...idle, ms: Math.min(tailMs, idle.ms) }
  const decoder = createSseDecoder()
  let state = format.start
  let fault: ModelFault | undefined
  let received = false
  let phase: 'reading' | 'ended' | 'closed' = 'reading'

  async function nextBatch(): Promise<readonly ModelEvent[]> {
    const bytes = await (state.finish === undefined
      ? call.read(body, idle)
      : call.read(body, tail).catch(() => undefined))
    received ||= bytes !== undefined && bytes.length > 0
    const batch = readBatch(format, state, bytes === undefined ? decoder.end() : decoder.push(bytes))
    state = batch.state
    fault = batch.fault ?? (decoder.pending() > maxEventBytes ? tooLong : undefined)
    if (bytes === undefined || state.done) phase = 'ended'
    return batch.events
  }

  async function close(): Promise<undefined> {
    if (state.done) await call.read(body, { ...idle, ms: drainMs }).catch(() => undefined)
    return undefined
  }

  return {
    async next() {
      while (phase === 'reading') {
        if (fault !== undefined) call.fail(fault)
        const events = await nextBatch()
        if (events.length > 0) return events
      }
      if (fault !== undefined) call.fail(fault)
      if (phase === 'closed') return close()
      phase = 'closed'
      if (!received) call.fail(emptyBody)
      return closing(format.end(state), call)
    },
  }
}

/** The events of the last step, and what every answer ends with. */
function closing(step: AnswerStep<AnswerState>, call: Call): readonly ModelEvent[] {
  if (step.kind === 'fault') return call.fail(step.fault)
  const { usage = { ...noUsage, calls: 1 }, costUsd, finish = 'other' } = step.state
  return [
    ...step.events,
    { type: 'usage', usage, ...(costUsd === undefined ? {} : { costUsd }) },
    { type: 'finish', reason: finish },
  ]
}

function mayBeStream(type: string): boolean {
  return type === '' || ['event-stream', 'text/plain', 'octet-stream'].some((known) => type.includes(known))
}

const wrongType = { class: 'garbled', retryable: false } as const
const emptyBody = { ...wrongType, what: 'answered with an empty body' } as const
const tooLong = { ...wrongType, what: 'sent an event of more than 64 MB' } as const
