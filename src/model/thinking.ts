import type { ModelEvent } from './provider.ts'
import type { Emit } from './wire/format.ts'

/** Filters events on their way to the reader. */
export interface ThinkingFilter {
  readonly add: Emit
  /** Emits the text held back; call it last. */
  readonly end: () => void
}

type TextEvent = Extract<ModelEvent, { readonly type: 'text' }>

const possibleOpening = /^\s*(?:<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?$/i
const opening = /^\s*<(think|thinking)>/i

/**
 * Extracts reasoning that servers leave in the text of an answer: text between `<think>` or `<thinking>` at the start
 * of the first text and the closing tag, or the end of the answer. It becomes a block right before that of the text,
 * without the white space around it. At most a tag that arrives in pieces is held back.
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

  /** Emits the start of the text held back. */
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

/** The text without trailing white space or a partial tag, which must wait for the next piece. */
function withoutEnd(text: string, tag: string): string {
  const at = text.lastIndexOf('<')
  const rest = at !== -1 && tag.startsWith(text.slice(at).toLowerCase()) ? text.slice(0, at) : text
  return rest.trimEnd()
}
