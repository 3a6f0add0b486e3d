import type { RunEvent } from '../event/event.ts'

/** What a model has said so far in a call that has not ended. It is recorded when the call has. */
export interface LiveText {
  /** A text that starts over, because its call is tried again, is another one. */
  readonly n: number
  /** The place of the agent in its events. */
  readonly agent: string
  readonly kind: 'text' | 'reasoning'
  /** When its call began, in milliseconds since 1970: the row of the call begins then or later. */
  readonly since: number
  readonly text: string
}

/** The texts that models of one run are writing, with their beginnings. */
export interface LiveTexts {
  /** The same object while a text grows. */
  readonly all: () => readonly LiveText[]
  /** Calls the listener when a text has grown or ended, until the returned function is called. */
  readonly listen: (listener: () => void) => () => void
}

/** The part of a text that its reader lacks; `at` is the number of characters before it. */
interface TextPiece extends LiveText {
  readonly at: number
}

/** What the process of a run sends about the texts in progress. */
export interface TextUpdate {
  readonly pieces: readonly TextPiece[]
  /** The numbers of all that are in progress. */
  readonly all: readonly number[]
}

interface OwnTexts extends LiveTexts {
  readonly add: (event: RunEvent) => void
  /** The run has ended. */
  readonly clear: () => void
}

interface TextSender {
  /** Sends what waits to be sent. */
  readonly flush: () => void
  /** Whether somebody reads. */
  readonly listen: (isOn: boolean) => void
}

export interface ReceivedTexts extends LiveTexts {
  readonly add: (update: TextUpdate) => void
  /** The process has ended. */
  readonly clear: () => void
  readonly isListenedTo: () => boolean
}

/** Characters of a text that are kept; of a longer one, the rest is shown when it is recorded. */
const most = 1_000_000
/** Milliseconds between messages of a process to its server. */
const sendMs = 30

type GrowingText = { -readonly [Key in keyof LiveText]: LiveText[Key] }

interface Item {
  readonly since: number
  readonly texts: { text?: GrowingText; reasoning?: GrowingText }
}

/** The texts of the run of this process. */
export function createLiveTexts(): OwnTexts {
  /** By the place of the agent, which makes one call at a time. */
  const items = new Map<string, Item>()
  const { listen, wake } = createListeners()
  let last = 0

  function grow({ agent, reasoning, text }: Extract<RunEvent, { type: 'item.delta' }>): void {
    const item = items.get(agent)
    if (item === undefined) return
    const kind = reasoning === true ? 'reasoning' : 'text'
    const known = item.texts[kind]
    if (known === undefined)
      item.texts[kind] = { n: (last += 1), agent, kind, since: item.since, text: text.slice(0, most) }
    else if (known.text.length < most) known.text = (known.text + text).slice(0, most)
    wake()
  }

  return {
    add(event) {
      const { agent } = event
      switch (event.type) {
        case 'item.started':
          items.set(agent, { since: Date.parse(event.ts), texts: {} })
          return
        case 'retry': {
          const item = items.get(agent)
          if (item !== undefined) items.set(agent, { ...item, texts: {} })
          return wake()
        }
        case 'item.completed':
          items.delete(agent)
          return wake()
        case 'item.delta':
          return grow(event)
        default:
      }
    },
    clear: () => items.clear(),
    all: () =>
      [...items.values()].flatMap(({ texts }) => [texts.reasoning, texts.text].filter((one) => one !== undefined)),
    listen,
  }
}

/**
 * Sends what the texts say, all of it at first; several pieces in a message, and only while somebody reads.
 * @param everyMs milliseconds between messages
 */
export function createTextSender(texts: LiveTexts, send: (update: TextUpdate) => void, everyMs = sendMs): TextSender {
  let sent = new WeakMap<LiveText, number>()
  let timer: NodeJS.Timeout | undefined
  let endListening: (() => void) | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const all = texts.all()
    const pieces = all.flatMap((one) => {
      const at = sent.get(one) ?? 0
      sent.set(one, one.text.length)
      return one.text.length > at ? [{ ...one, at, text: one.text.slice(at) }] : []
    })
    send({ pieces, all: all.map(({ n }) => n) })
  }

  return {
    flush() {
      if (timer !== undefined) flush()
    },
    listen(isOn) {
      endListening?.()
      clearTimeout(timer)
      timer = undefined
      sent = new WeakMap()
      endListening = isOn ? texts.listen(() => (timer ??= setTimeout(flush, everyMs))) : undefined
      if (isOn) flush()
    },
  }
}

/** The texts of the run of another process, as it sends them while somebody listens. */
export function createReceivedTexts(onListen: (isOn: boolean) => void): ReceivedTexts {
  const texts = new Map<number, GrowingText>()
  const { listen, wake, count } = createListeners()
  return {
    add({ pieces, all }) {
      for (const { at, ...piece } of pieces) {
        const known = texts.get(piece.n)
        if (at === 0) texts.set(piece.n, piece)
        // sent to an earlier listener
        else if (known?.text.length === at) known.text += piece.text
      }
      for (const n of texts.keys()) if (!all.includes(n)) texts.delete(n)
      wake()
    },
    clear: () => texts.clear(),
    isListenedTo: () => count() > 0,
    all: () => [...texts.values()],
    listen(listener) {
      const end = listen(listener)
      if (count() === 1) onListen(true)
      return () => {
        end()
        if (count() > 0) return
        texts.clear()
        onListen(false)
      }
    },
  }
}

interface Listeners extends Pick<LiveTexts, 'listen'> {
  readonly wake: () => void
  readonly count: () => number
}

function createListeners(): Listeners {
  const listeners = new Set<() => void>()
  return {
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    wake() {
      for (const listener of listeners) listener()
    },
    count: () => listeners.size,
  }
}

/** Of a run that no process works on. */
export const noLiveTexts: LiveTexts = { all: () => [], listen: () => () => undefined }
