import type { Mail } from '../../event/collab.ts'

/** Something to deliver to a model: a message, or a notice, which starts no work. */
export type Letter =
  | { readonly id: string; readonly mail: Mail }
  | { readonly id: string; readonly mail?: undefined; readonly text: string }

/** What waits for one conversation. Each id is delivered once, even if it was known before the letter arrived. */
export interface Mailbox {
  /** `waits`: to be delivered later. `told`: already delivered, according to a record. `known`: a duplicate. */
  readonly add: (letter: Letter) => 'waits' | 'told' | 'known'
  /** The letters not delivered yet, oldest first. */
  readonly letters: () => readonly Letter[]
  /** The messages among them, interrupting ones first. */
  readonly mail: () => readonly Mail[]
  readonly hasMail: () => boolean
  readonly isEmpty: () => boolean
  /** Marks ids as delivered, including ids of letters that arrive later. Returns the letters that were waiting. */
  readonly know: (ids: readonly string[]) => readonly Letter[]
  readonly isKnown: (id: string) => boolean
}

export function createMailbox(): Mailbox {
  const waiting = new Map<string, Letter>()
  /** False: the letter itself has not arrived yet. */
  const known = new Map<string, boolean>()
  let mails = 0
  return {
    add(letter) {
      const hasCome = known.get(letter.id)
      if (hasCome === true || waiting.has(letter.id)) return 'known'
      if (hasCome === false) {
        known.set(letter.id, true)
        return 'told'
      }
      waiting.set(letter.id, letter)
      if (letter.mail !== undefined) mails += 1
      return 'waits'
    },
    letters: () => [...waiting.values()],
    mail() {
      const all = [...waiting.values()].flatMap(({ mail }) => mail ?? [])
      return [...all.filter(({ interrupts }) => interrupts), ...all.filter(({ interrupts }) => !interrupts)]
    },
    hasMail: () => mails > 0,
    isEmpty: () => waiting.size === 0,
    know(ids) {
      return ids.flatMap((id) => {
        const letter = waiting.get(id)
        if (!known.has(id)) known.set(id, letter !== undefined)
        if (letter === undefined) return []
        waiting.delete(id)
        if (letter.mail !== undefined) mails -= 1
        return [letter]
      })
    },
    isKnown: (id) => known.has(id),
  }
}
