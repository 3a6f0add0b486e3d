import type { Input } from './input.ts'

/** What was sent with Enter while an answer was in progress, and waits for its turn. */
export interface LineQueue {
  /** Messages and commands, oldest first. */
  readonly lines: readonly string[]
  /** Whether the chat ends after them. */
  readonly ends: boolean
  /** Nothing is taken from it until the user sends something: the answer before it was stopped. */
  readonly isHeld: boolean
}

export const emptyQueue: LineQueue = { lines: [], ends: false, isHeld: false }

/** Enter. What is sent after an answer was stopped comes before what waits; nothing but spaces only ends the waiting. */
export function withSent(queue: LineQueue, line: string): LineQueue {
  const added = line.trim() === '' ? [] : [line]
  const lines = queue.isHeld ? [...added, ...queue.lines] : [...queue.lines, ...added]
  return { ...queue, lines, isHeld: false }
}

/** Ctrl-C. With no line in it, there is nothing to hold. */
export function withHold(queue: LineQueue): LineQueue {
  return { ...queue, isHeld: queue.lines.length > 0 }
}

/** Removes what was added last, so that it can be changed. `line` is undefined if that was the end of the chat. */
export function dequeueLast(queue: LineQueue): { readonly queue: LineQueue; readonly line: string | undefined } {
  if (queue.ends) return { queue: { ...queue, ends: false }, line: undefined }
  const lines = queue.lines.slice(0, -1)
  return { queue: { ...queue, lines, isHeld: queue.isHeld && lines.length > 0 }, line: queue.lines.at(-1) }
}

/** Takes what comes next; undefined if nothing does, or if it is held. */
export function dequeue(queue: LineQueue): { readonly queue: LineQueue; readonly next: Input } | undefined {
  const [text, ...lines] = queue.lines
  if (queue.isHeld) return undefined
  if (text !== undefined) return { queue: { ...queue, lines }, next: { kind: 'line', text } }
  return queue.ends ? { queue: emptyQueue, next: { kind: 'end' } } : undefined
}

export function isEmpty({ lines, ends }: LineQueue): boolean {
  return lines.length === 0 && !ends
}

/** Lines that are shown of a queue. */
const mostShown = 5

/** The queue as lines to show: how many wait, and the last of them. Empty if none do. */
export function queueTexts({ lines, ends, isHeld }: LineQueue, shown: (line: string) => string): readonly string[] {
  if (lines.length === 0) return ends ? ['the chat ends after this; Up takes that back'] : []
  const more = lines.length - mostShown
  return [
    `queued: ${lines.length} · ${isHeld ? `Enter sends ${lines.length === 1 ? 'it' : 'them'}, ` : ''}Up takes the last one back`,
    ...(more > 0 ? [`  … ${more} before these`] : []),
    ...lines.slice(-mostShown).map((line) => `  ${shown(line)}`),
    ...(ends ? ['  then the chat ends'] : []),
  ]
}
