import type { Mail } from '../../event/collab.ts'

/** Something that is told to a model: a message, or a notice, for which no work begins. */
export type Letter =
  | { readonly id: string; readonly mail: Mail }
  | { readonly id: string; readonly mail?: undefined; readonly text: string }

/** What waits for one conversation. Each id is told once, also where it was known before it came. */
export interface Mailbox {
  /** `waits`: it is told later. `told`: it had been told already, by a record. `known`: it is here a second time. */
  readonly add: (letter: Letter) => 'waits' | 'told' | 'known'
  /** Those that were not told, oldest first. */
  readonly letters: () => readonly Letter[]
  /** The messages of them, those that interrupt first. */
  readonly mail: () => readonly Mail[]
  readonly hasMail: () => boolean
  readonly isEmpty: () => boolean
  /** Told are these, and those that come only later with these ids. Gives the letters that waited. */
  readonly know: (ids: readonly string[]) => readonly Letter[]
  readonly isKnown: (id: string) => boolean
}

export function createMailbox(): Mailbox {
  const waiting = new Map<string, Letter>()
  /** False: the letter itself did not come yet. */
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
