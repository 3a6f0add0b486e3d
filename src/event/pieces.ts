import type { EventBody } from './event.ts'

type Delta = Extract<EventBody, { readonly type: 'item.delta' }>

/** Puts the pieces of answers together again where a secret was cut. */
export interface Pieces {
  /** The events to be sent now: those before the given one that it sets free, and itself. */
  next(event: EventBody): readonly EventBody[]
}

/**
 * A secret can arrive in two pieces, neither of which shows it. The end of a piece that may be the beginning of one is
 * held back until the next piece of the item decides, or the item is complete; of a call that failed it is dropped,
 * because what came of it does not count. `begun` says how many characters at the end of a text may be such a beginning.
 */
export function createPieces(begun: (text: string) => number): Pieces {
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

  /** What is held of an item, reasoning first. */
  function take(itemId: string): readonly Delta[] {
    const keys = [keyOf({ item_id: itemId, reasoning: true }), keyOf({ item_id: itemId })]
    return keys.flatMap((key) => {
      const found = held.get(key)
      held.delete(key)
      return found === undefined ? [] : [found]
    })
  }

  return {
    next(event) {
      if (event.type === 'item.delta') return piece(event)
      if (event.type === 'item.completed') return [...take(event.item.id), event]
      if (event.type === 'item.started') take(event.item.id)
      if (event.type === 'retry' || event.type === 'fallback') take(event.item_id)
      return [event]
    },
  }
}

function keyOf({ item_id: id, reasoning }: Pick<Delta, 'item_id' | 'reasoning'>): string {
  return `${reasoning === true ? 'reasoning' : 'text'} ${id}`
}
