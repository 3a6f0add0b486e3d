import { sha256 } from '../../base/hash.ts'
import type { KeptTexts } from '../../event/context.ts'

/** The whole texts of outputs that were cut, for one conversation. A model names them by short ids. */
export interface Outputs {
  /** Keeps a text: with the run, or else in memory. */
  readonly keep: (text: string, texts: KeptTexts | undefined) => KeptOutput
  /** One that was kept, by this process or an older one of the run. */
  readonly know: (kept: KeptOutput) => void
  /** The text of an id; undefined when there is none, or it is no longer kept. */
  readonly find: (id: string, texts: KeptTexts | undefined) => string | undefined
}

export interface KeptOutput {
  readonly id: string
  /** SHA-256 of the text. */
  readonly hash: string
}

/** Characters of outputs that one conversation holds in memory where nothing is kept with the run. */
const mostInMemory = 16 * 1024 * 1024
const idLength = 12

export function createOutputs(): Outputs {
  const hashes = new Map<string, string>()
  /** The oldest first. */
  const held = new Map<string, string>()
  let size = 0

  function hold(hash: string, text: string): void {
    if (held.has(hash)) return
    held.set(hash, text)
    size += text.length
    for (const [oldest, { length }] of held) {
      if (size <= mostInMemory || oldest === hash) return
      held.delete(oldest)
      size -= length
    }
  }

  return {
    keep(text, texts) {
      const hash = sha256(text)
      const id = hash.slice(0, idLength)
      hashes.set(id, hash)
      if (texts === undefined) hold(hash, text)
      else texts.keep(text)
      return { id, hash }
    },
    know: ({ id, hash }) => void hashes.set(id, hash),
    find(id, texts) {
      const hash = hashes.get(id)
      return hash === undefined ? undefined : (held.get(hash) ?? texts?.find(hash))
    },
  }
}
