import { sha256 } from '../../base/hash.ts'
import type { KeptTexts } from '../../event/context.ts'

/** The full texts of truncated outputs of one conversation. Models refer to them by short ids. */
export interface Outputs {
  /** Keeps a text: with the run if possible, otherwise in memory. */
  readonly keep: (text: string, texts: KeptTexts | undefined) => KeptOutput
  /** Registers a text that was kept by this process or an earlier one of the run. */
  readonly know: (kept: KeptOutput) => void
  /** The text for an id; undefined if the id is unknown or the text is no longer kept. */
  readonly find: (id: string, texts: KeptTexts | undefined) => string | undefined
}

export interface KeptOutput {
  readonly id: string
  /** SHA-256 of the text. */
  readonly hash: string
}

/** Most characters of outputs that one conversation holds in memory if the run keeps no texts. */
const mostInMemory = 16 * 1024 * 1024
const idLength = 12

export function createOutputs(): Outputs {
  const hashes = new Map<string, string>()
  /** Oldest first. */
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
