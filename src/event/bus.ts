import { mapTexts } from '../base/json.ts'
import type { EventBody, RunEvent } from './event.ts'
import { type Place, placeText } from './place.ts'

export interface BusOptions {
  readonly runId: string
  readonly now: () => Date
  /** Hides secrets in a text; called for every event, because secrets are known only once the config is read. */
  readonly hide?: (text: string) => string
  /** How many characters at the end of a text may be the beginning of a secret; also called for every event. */
  readonly begun?: (text: string) => number
}

/**
 * Secrets are hidden in the event. `result`: the unmasked text of an `answer` or `output`, for the caller of the run.
 */
export interface Listener {
  (event: RunEvent, result?: string): void
  /** Does not receive pieces (`isPiece`); if no listener wants them, they are not created. */
  readonly passesOverPieces?: true
}

/** Whether an event only shows what is in progress: a piece of an answer, or of the output of a command. */
export function isPiece({ type }: Pick<EventBody, 'type'>): boolean {
  return type === 'item.delta' || type === 'tool.output'
}

/** The same listener without pieces, which are the vast majority of events. */
export function withoutPieces(listener: Listener): Listener {
  const wrapped: Listener = (event, result) => listener(event, result)
  return Object.assign(wrapped, { passesOverPieces: true as const })
}

export interface Bus {
  readonly send: (at: Place, event: EventBody) => void
  /** Whether any event was sent yet. */
  hasSent(): boolean
  /** Listeners are called synchronously and in order. Returns a function that ends the subscription. */
  subscribe(listener: Listener): () => void
}

/** Ordered fan-out of the events of one run. A listener that throws is removed, so it cannot stop the run. */
export function createBus({ runId, now, hide, begun }: BusOptions): Bus {
  const listeners = new Set<Listener>()
  let takersOfPieces = 0
  const agentOf = createPlaceTexts()
  const timeOf = createTimeTexts()
  const piecesOf = begun === undefined ? (event: EventBody) => [event] : createPieces(begun)
  let seq = 0

  function send(at: Place, given: EventBody): void {
    const body = hide === undefined ? given : hidden(given, hide)
    // the spread is last: V8 is tens of times slower if an object literal begins with one
    const event: RunEvent = { seq, ts: timeOf(now()), run_id: runId, agent: agentOf(at), ...body }
    seq += 1
    const result = resultIn(given)
    for (const listener of listeners) {
      if (listener.passesOverPieces === true && isPiece(event)) continue
      try {
        listener(event, result)
      } catch {
        remove(listener)
      }
    }
  }

  function remove(listener: Listener): void {
    if (listeners.delete(listener) && listener.passesOverPieces !== true) takersOfPieces -= 1
  }

  return {
    send(at, event) {
      if (takersOfPieces === 0 && isPiece(event)) return
      for (const piece of piecesOf(event)) send(at, piece)
    },
    hasSent: () => seq > 0,
    subscribe(listener) {
      if (!listeners.has(listener) && listener.passesOverPieces !== true) takersOfPieces += 1
      listeners.add(listener)
      return () => remove(listener)
    },
  }
}

function resultIn(event: EventBody): string | undefined {
  if (event.type === 'answer') return event.text
  return event.type === 'output' && typeof event.output === 'string' ? event.output : undefined
}

/** `placeText` with a cache for the current place: all pieces of an answer have the same one. */
function createPlaceTexts(): (at: Place) => string {
  const texts = new WeakMap<Place, string>()
  return (at) => {
    const known = texts.get(at)
    if (known !== undefined) return known
    const text = placeText(at)
    texts.set(at, text)
    return text
  }
}

/** A time as ISO 8601 text. Caches the last one, because many events share a millisecond. */
function createTimeTexts(): (time: Date) => string {
  let lastMs = NaN
  let lastText = ''
  return (time) => {
    const ms = time.getTime()
    if (ms !== lastMs) {
      lastText = time.toISOString()
      lastMs = ms
    }
    return lastText
  }
}

/** The same event without secrets. In pieces of answers, the most frequent event, only `text` can contain one. */
function hidden(event: EventBody, hide: (text: string) => string): EventBody {
  if (event.type !== 'item.delta') return mapTexts(event, hide) as EventBody
  const text = hide(event.text)
  return text === event.text ? event : { ...event, text }
}

type Delta = Extract<EventBody, { readonly type: 'item.delta' }>

/**
 * Rejoins pieces of answers where a secret was split between them. Returns the events to send now: earlier ones that
 * the given event releases, and the event itself.
 *
 * A secret can be split between two pieces, neither of which shows it. If the end of a piece may be the beginning of a
 * secret, it is held back until the next piece of the item decides, or the item is complete. If the call fails, it is
 * dropped, because the output of a failed call does not count. `begun` returns the length of such a beginning at the
 * end of a text.
 */
function createPieces(begun: (text: string) => number): (event: EventBody) => readonly EventBody[] {
  const held = new Map<string, Delta>()

  function piece(delta: Delta): readonly EventBody[] {
    if (held.size === 0 && begun(delta.text) === 0) return [delta]
    const key = keyOf(delta)
    const text = `${held.get(key)?.text ?? ''}${delta.text}`
    const ready = text.length - begun(text)
    if (ready < text.length) held.set(key, { ...delta, text: text.slice(ready) })
    else held.delete(key)
    return ready === 0 && text !== '' ? [] : [{ ...delta, text: text.slice(0, ready) }]
  }

  /** The held back pieces of an item, reasoning first. */
  function take(itemId: string): readonly Delta[] {
    const keys = [keyOf({ item_id: itemId, reasoning: true }), keyOf({ item_id: itemId })]
    return keys.flatMap((key) => {
      const found = held.get(key)
      held.delete(key)
      return found === undefined ? [] : [found]
    })
  }

  return (event) => {
    if (event.type === 'item.delta') return piece(event)
    // the next one repeats its lines
    if (event.type === 'tool.output')
      return [{ ...event, text: event.text.slice(0, event.text.length - begun(event.text)) }]
    if (event.type === 'item.completed') return [...take(event.item.id), event]
    if (event.type === 'item.started') take(event.item.id)
    if (event.type === 'retry' || event.type === 'fallback') take(event.item_id)
    return [event]
  }
}

function keyOf({ item_id: id, reasoning }: Pick<Delta, 'item_id' | 'reasoning'>): string {
  return `${reasoning === true ? 'reasoning' : 'text'} ${id}`
}
