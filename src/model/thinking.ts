import type { FinishReason, ModelEvent } from './provider.ts'
import type { Emit } from './wire/format.ts'

/** Filters events on their way to the reader. */
export interface ThinkingFilter {
  readonly add: Emit
  /** Emits the text held back; call it last. `finish`: why the model stopped, if that is known. */
  readonly end: (finish: FinishReason | undefined) => void
}

type TextEvent = Extract<ModelEvent, { readonly type: 'text' }>

const tag = /<(\/?)(think|thinking)>/gi
const possibleTag = /<\/?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?$/i

/** After so many tags that are quoted, the text is about them. */
const mostQuoted = 32

/** Endings after which a thought that was not closed is one nevertheless, and was cut off. */
const cutOff: ReadonlySet<FinishReason | undefined> = new Set<FinishReason>(['length', 'incomplete', 'content_filter'])

/**
 * Extracts reasoning that servers leave in the text of an answer: what is between the first `<think>` or `<thinking>`
 * and its closing tag, or before a closing tag without an opening one. It becomes a block right before that of the
 * text, without the white space around it. Tags in code, in quotes and in file changes do not count. Without its
 * closing tag, everything stays text, unless the answer was cut off. At most a tag that arrives in pieces is held back:
 * what turns out to be another kind of part than it seemed is discarded and sent again.
 */
export function separateThinking(emit: Emit): ThinkingFilter {
  let state: 'text' | 'inside' | 'behind' | 'passing' = 'text'
  let block: number | undefined
  /** What came and was not emitted yet. */
  let held = ''
  /** The text of the block so far; inside a thought, everything from its tag on. */
  let said = ''
  let isSaid = false
  let hasReasoned = false
  let quoted = 0
  let closing = ''

  function add(event: ModelEvent): void {
    if (state === 'passing' || event.type !== 'text') return emit(event)
    block ??= event.block
    if (event.block === block) return read(event)
    end(undefined)
    emit(event)
  }

  function read(event: TextEvent): void {
    const { text } = event
    // fast path: nearly every piece
    if (state === 'text' && isSaid && held === '' && !text.includes('<')) {
      said += text
      return emit(event)
    }
    held += text
    if (state === 'text') find()
    else if (state === 'inside') reason(text)
    else answer()
  }

  /** Looks for the first tag. */
  function find(): void {
    tag.lastIndex = 0
    for (let found = tag.exec(held); found !== null; found = tag.exec(held)) {
      const before = held.slice(0, found.index)
      const behind = held.slice(found.index + found[0].length)
      const isAfterQuote = /["'“‘«]$/.test(before || said)
      if (isAfterQuote && behind === '') return say(before)
      if ((isAfterQuote && /^["'”’»]/.test(behind)) || isInCode(said + before)) {
        quoted += 1
        continue
      }
      if (found[1] === '') open(before, found[0], behind)
      else retract(before, behind)
      return
    }
    if (quoted > mostQuoted) return end(undefined)
    const possible = possibleTag.exec(held)?.index ?? held.length
    say(held.slice(0, possible))
  }

  /** Emits the start of what is held back as text. White space waits for the text behind it, or for a tag. */
  function say(text: string): void {
    isSaid ||= text.trim() !== ''
    if (!isSaid) return
    said += text
    give('text', text)
  }

  function open(before: string, opened: string, behind: string): void {
    if (isSaid || before.trim() !== '') say(before)
    state = 'inside'
    closing = opened.replace('<', '</').toLowerCase()
    said = (isSaid ? '' : before) + opened
    held = behind
    reason(behind)
  }

  /** Everything before a closing tag without an opening one was reasoning. */
  function retract(before: string, behind: string): void {
    const thought = (said + before).trim()
    if (isSaid && block !== undefined) emit({ type: 'discard', block })
    held = thought
    give('reasoning', thought)
    held = behind
    state = 'behind'
    answer()
  }

  function reason(text: string): void {
    said += text
    if (!hasReasoned) held = held.trimStart()
    const at = held.toLowerCase().indexOf(closing)
    if (at === -1) {
      const thought = withoutEnd(held, closing)
      hasReasoned ||= thought !== ''
      return give('reasoning', thought)
    }
    const behind = held.slice(at + closing.length)
    give('reasoning', held.slice(0, at).trimEnd())
    held = behind
    state = 'behind'
    answer()
  }

  function answer(): void {
    held = held.trimStart()
    if (held !== '') end(undefined)
  }

  /** Emits the start of what is held back. */
  function give(type: 'text' | 'reasoning', text: string): void {
    if (text !== '' && block !== undefined) emit({ type, block: type === 'text' ? block : block - 0.5, text })
    held = held.slice(text.length)
  }

  function end(finish: FinishReason | undefined): void {
    if (state === 'inside' && !cutOff.has(finish)) {
      if (hasReasoned && block !== undefined) emit({ type: 'discard', block: block - 0.5 })
      held = said
      give('text', held)
    } else if (state !== 'passing') {
      give(state === 'inside' ? 'reasoning' : 'text', held)
    }
    state = 'passing'
  }

  return { add, end }
}

/** Whether the text before a tag opens code or a file change that is not closed. */
function isInCode(before: string): boolean {
  if (before.lastIndexOf('<FILE_CHANGES') > before.lastIndexOf('</FILE_CHANGES')) return true
  const lines = before.split('\n')
  const line = lines.pop() ?? ''
  let fence: string | undefined
  for (const [, marks = '', info = ''] of lines.map((one) => /^\s*(`{3,}|~{3,})(.*)$/.exec(one) ?? [])) {
    if (marks === '') continue
    if (fence === undefined) fence = info.includes('`') ? undefined : marks
    else if (info.trim() === '' && marks.startsWith(fence)) fence = undefined
  }
  return fence !== undefined || line.split('`').length % 2 === 0
}

/** The text without trailing white space or a partial tag, which must wait for the next piece. */
function withoutEnd(text: string, end: string): string {
  const at = text.lastIndexOf('<')
  const rest = at !== -1 && end.startsWith(text.slice(at).toLowerCase()) ? text.slice(0, at) : text
  return rest.trimEnd()
}
