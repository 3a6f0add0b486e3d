import { maxEventBytes, readBytes, readText } from './body.ts'
import type { Call, ModelTimeouts } from './call.ts'
import { chatStart, endOfChat, readChatBody, readChatEvents, type ChatState, type ChatStep } from './chat-stream.ts'
import type { ModelEvent } from './provider.ts'
import { createSseDecoder } from './sse.ts'

/** How long the end mark and the usage are waited for once the model has said that it is finished. */
const tailMs = 10_000

/** How long the end of the body is waited for after the end mark, so that the connection can be used again. */
const drainMs = 100

/**
 * Turns the body of a successful response into model events (R285, R288), those of one read together: a generator step
 * for every piece costs more than reading it. Faults are noted in the call and thrown, after the events before them.
 * Once a finish reason came, a connection that breaks or falls silent no longer makes the answer a failure. Events that
 * were read before the caller stopped may still come.
 */
export async function* readAnswer(
  response: Response,
  { call, timeouts }: { readonly call: Call; readonly timeouts: ModelTimeouts },
): AsyncGenerator<readonly ModelEvent[]> {
  const type = (response.headers.get('content-type') ?? '').toLowerCase()
  const reader = response.body?.getReader()
  if (reader === undefined) return call.fail(emptyBody)
  if (type.includes('json')) {
    const body = await readText(reader, call, timeouts.streamIdleMs)
    if (body.trim() === '') call.fail(emptyBody)
    yield eventsOf(readChatBody(body), call)
    return
  }
  if (!mayBeStream(type)) call.fail({ ...wrongType, what: `answered with ${type.split(';')[0]} instead of a stream` })

  const decoder = createSseDecoder()
  let state = chatStart
  let received = false
  for (let ended = false; !ended && !state.done;) {
    const bytes = await nextBytes(reader, { call, timeouts, state })
    ended = bytes === undefined
    received ||= bytes !== undefined && bytes.length > 0
    const batch = readChatEvents(state, bytes === undefined ? decoder.end() : decoder.push(bytes))
    if (decoder.pending() > maxEventBytes) call.fail({ ...wrongType, what: 'sent an event of more than 64 MB' })
    if (batch.events.length > 0) yield batch.events
    if (batch.fault !== undefined) call.fail(batch.fault)
    state = batch.state
  }
  if (!received) call.fail(emptyBody)
  yield eventsOf(endOfChat(state), call)
  if (state.done) await readBytes(reader, call, drainMs).catch(() => undefined)
}

async function nextBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reading: { readonly call: Call; readonly timeouts: ModelTimeouts; readonly state: ChatState },
): Promise<Uint8Array | undefined> {
  const { call, timeouts, state } = reading
  if (state.finish === undefined) return readBytes(reader, call, timeouts.streamIdleMs)
  return readBytes(reader, call, Math.min(tailMs, timeouts.streamIdleMs)).catch(() => undefined)
}

function eventsOf(step: ChatStep, call: Call): readonly ModelEvent[] {
  return step.kind === 'fault' ? call.fail(step.fault) : step.events
}

function mayBeStream(type: string): boolean {
  return type === '' || ['event-stream', 'text/plain', 'octet-stream'].some((known) => type.includes(known))
}

const wrongType = { class: 'garbled', retryable: false } as const
const emptyBody = { ...wrongType, what: 'answered with an empty body' } as const
