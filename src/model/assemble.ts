import {
  addUsage,
  cutArguments,
  mostArguments,
  noUsage,
  type MessagePart,
  type ProviderData,
  type Usage,
} from '../event/message.ts'
import type { FinishReason, ModelEvent } from './provider.ts'

/** A model's answer, assembled from the events of its stream. */
export interface ModelAnswer {
  /** The parts of the assistant's message, in the order of their blocks. */
  readonly parts: readonly MessagePart[]
  readonly usage: Usage
  /** `other` if the stream had none. */
  readonly finish: FinishReason
  /** As reported by the provider, if it did. */
  readonly costUsd?: number
}

/** An answer that is being received. */
export interface Assembly {
  add(event: ModelEvent): void
  /** Characters received, whether kept or not. */
  size(): number
  /** Whether the arguments of a call are too long to be kept. */
  hasCut(): boolean
  answer(): ModelAnswer
}

interface Draft {
  readonly type: 'text' | 'reasoning' | 'tool_call'
  id: string
  name: string
  text: string
  /** Characters of arguments that were received but not kept. */
  left: number
  provider: ProviderData | undefined
}

/** Assembles an answer. Blocks without text and without data to send back are omitted. */
export function assembleAnswer(): Assembly {
  const drafts = new Map<number, Draft>()
  let size = 0
  let usage = noUsage
  let finish: FinishReason = 'other'
  let costUsd: number | undefined

  function draftOf(block: number, type: Draft['type']): Draft {
    const known = drafts.get(block)
    if (known !== undefined) return known
    const draft: Draft = { type, id: '', name: '', text: '', left: 0, provider: undefined }
    drafts.set(block, draft)
    return draft
  }

  function write(draft: Draft, text: string): void {
    size += text.length
    if (draft.type !== 'tool_call' || (draft.left === 0 && draft.text.length + text.length <= mostArguments)) {
      draft.text += text
      return
    }
    draft.left += draft.text.length + text.length
    draft.text = ''
  }

  function add(event: ModelEvent): void {
    switch (event.type) {
      case 'start':
        return
      case 'text':
      case 'reasoning':
        return write(draftOf(event.block, event.type), event.text)
      case 'tool_call': {
        const draft = draftOf(event.block, event.type)
        draft.id = event.id ?? draft.id
        draft.name = event.name ?? draft.name
        return write(draft, event.input)
      }
      case 'provider':
        draftOf(event.block, event.part).provider = event.provider
        return
      case 'discard':
        drafts.delete(event.block)
        return
      case 'usage':
        usage = addUsage(usage, event.usage)
        costUsd = event.costUsd
        return
      case 'finish':
        finish = event.reason
    }
  }

  function answer(): ModelAnswer {
    const inOrder = [...drafts].toSorted(([left], [right]) => left - right)
    const parts = inOrder.flatMap(([, draft]) => partOf(draft))
    return { parts, usage, finish, ...(costUsd === undefined ? {} : { costUsd }) }
  }

  return { add, size: () => size, hasCut: () => [...drafts.values()].some(({ left }) => left > 0), answer }
}

function partOf({ type, id, name, text, left, provider }: Draft): readonly MessagePart[] {
  const given = provider === undefined ? {} : { provider }
  // without the provider data, because that contains the arguments as well
  if (type === 'tool_call' && left > 0) return [{ type, id, name, input: cutArguments(left) }]
  if (type === 'tool_call') return [{ type, id, name, input: text, ...given }]
  return text === '' && provider === undefined ? [] : [{ type, text, ...given }]
}
