import type { ModelEvent } from './provider.ts'
import type { Emit } from './wire/format.ts'

/** Events on their way to whoever reads them. */
export interface ThinkingFilter {
  readonly add: Emit
  /** Hands on what was held back; nothing comes after it. */
  readonly end: () => void
}

type TextEvent = Extract<ModelEvent, { readonly type: 'text' }>

const possibleOpening = /^\s*(?:<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?$/i
const opening = /^\s*<(think|thinking)>/i

/**
 * Turns the reasoning that servers leave in the text of an answer into reasoning: what the first text begins with
 * between `<think>` or `<thinking>` and its end, or up to the end of the answer. It becomes a block right before
 * that of the text, and white space around it goes. At most a tag is held back while it comes in pieces.
 */
export function separateThinking(emit: Emit): ThinkingFilter {
  let state: 'before' | 'inside' | 'behind' | 'passing' = 'before'
  let block: number | undefined
  let held = ''
  let hasReasoned = false
  let closing = ''

  function add(event: ModelEvent): void {
    if (state === 'passing' || event.type !== 'text') return emit(event)
    block ??= event.block
    if (event.block === block) return read(event)
    end()
    emit(event)
  }

  function read({ text }: TextEvent): void {
    held += text
    if (state === 'before') begin()
    if (state === 'inside') reason()
    if (state === 'behind') answer()
  }

  function begin(): void {
    const found = opening.exec(held)
    if (found !== null) {
      state = 'inside'
      closing = `</${found[1]?.toLowerCase()}>`
      held = held.slice(found[0].length)
    } else if (!possibleOpening.test(held)) {
      end()
    }
  }

  function reason(): void {
    if (!hasReasoned) held = held.trimStart()
    hasReasoned ||= held !== ''
    const at = held.toLowerCase().indexOf(closing)
    if (at === -1) return give('reasoning', withoutEnd(held, closing))
    const behind = held.slice(at + closing.length)
    give('reasoning', held.slice(0, at).trimEnd())
    held = behind
    state = 'behind'
  }

  function answer(): void {
    held = held.trimStart()
    if (held !== '') end()
  }

  /** Hands on the beginning of what is held. */
  function give(type: 'text' | 'reasoning', text: string): void {
    if (text !== '' && block !== undefined) emit({ type, block: type === 'text' ? block : block - 0.5, text })
    held = held.slice(text.length)
  }

  function end(): void {
    if (state !== 'passing') give(state === 'inside' ? 'reasoning' : 'text', held)
    state = 'passing'
  }

  return { add, end }
}

/** The text without an end that white space or the tag may begin with, which the next piece decides. */
function withoutEnd(text: string, tag: string): string {
  const at = text.lastIndexOf('<')
  const rest = at !== -1 && tag.startsWith(text.slice(at).toLowerCase()) ? text.slice(0, at) : text
  return rest.trimEnd()
}
