import type { RunEvent } from '../../event/event.ts'

/** What a model has said so far in a call that has not ended. It is recorded when the call has. */
export interface LiveText {
  /** The place of the agent in its events. */
  readonly agent: string
  readonly kind: 'text' | 'reasoning'
  /** When its call began, in milliseconds since 1970: the row of the call begins then or later. */
  readonly since: number
  readonly text: string
}

/** The texts that models of one run are writing, with their beginnings. */
export interface LiveTexts {
  readonly add: (event: RunEvent) => void
  /** A text that starts over, because its call is tried again, is a new object. */
  readonly all: () => readonly LiveText[]
  /** Calls the listener when a text has grown, until the returned function is called. */
  readonly listen: (listener: () => void) => () => void
}

/** Characters of a text that are kept; of a longer one, the rest is shown when it is recorded. */
const most = 1_000_000

type GrowingText = { -readonly [Key in keyof LiveText]: LiveText[Key] }

interface Item {
  readonly since: number
  readonly texts: { text?: GrowingText; reasoning?: GrowingText }
}

export function createLiveTexts(): LiveTexts {
  /** By the place of the agent, which makes one call at a time. */
  const items = new Map<string, Item>()
  const listeners = new Set<() => void>()

  return {
    add(event) {
      const { agent } = event
      switch (event.type) {
        case 'item.started':
          return void items.set(agent, { since: Date.parse(event.ts), texts: {} })
        case 'retry': {
          const item = items.get(agent)
          return item && void items.set(agent, { ...item, texts: {} })
        }
        case 'item.completed':
          return void items.delete(agent)
        case 'item.delta': {
          const item = items.get(agent)
          if (item === undefined) return
          const kind = event.reasoning === true ? 'reasoning' : 'text'
          const known = item.texts[kind]
          // the same object grows, so that a client can be sent what it lacks
          if (known === undefined)
            item.texts[kind] = { agent, kind, since: item.since, text: event.text.slice(0, most) }
          else if (known.text.length < most) known.text = (known.text + event.text).slice(0, most)
          for (const listener of listeners) listener()
          return
        }
        default:
      }
    },
    all: () =>
      [...items.values()].flatMap(({ texts }) => [texts.reasoning, texts.text].filter((one) => one !== undefined)),
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Of a run of another process, whose calls are known when they are recorded. */
export const noLiveTexts: LiveTexts = { add: () => undefined, all: () => [], listen: () => () => undefined }
