import type { Json } from '../../base/json.ts'
import type { FilePart } from '../../event/message.ts'
import type { PromptOutput, PromptText, PromptTool } from '../../event/prompt.ts'

type ToolEnd = { readonly output: string; readonly value?: Json } | { readonly error: string }

/** The outputs of a prompt, in the order in which they started. */
export interface Timeline {
  readonly all: () => readonly PromptOutput[]
  /** `itemId`: the item that the text was streamed as. `interim`: the text is not part of the answer. */
  readonly addText: (text: string, options?: { readonly itemId?: string; readonly interim?: boolean }) => void
  /** A text for the user that is not one of the messages. */
  readonly addNote: (text: string) => void
  readonly addFile: (file: FilePart) => void
  /** Adds a started call; the returned function ends it, at its position. */
  readonly addTool: (call: StartedTool) => (end: ToolEnd) => void
}

interface StartedTool {
  readonly id: string
  readonly function: string
  readonly input: Json
}

/** Called for each output when it is added. */
export type OnOutput = (output: PromptOutput, index: number, itemId: string | undefined) => void

export function createTimeline(
  { now, onOutput }: { readonly now: () => Date; readonly onOutput: OnOutput },
  before: readonly PromptOutput[] = [],
): Timeline {
  const outputs = [...before]
  const time = (): string => now().toISOString()

  function add(output: PromptOutput, itemId?: string): number {
    const index = outputs.push(output) - 1
    onOutput(output, index, itemId)
    return index
  }

  function addInstant(entry: Pick<PromptText, 'text' | 'interim' | 'note'> | FilePart, itemId?: string): void {
    const at = time()
    if ('data' in entry) add({ type: 'file', file: entry, start: at, end: at })
    else add({ type: 'text', ...entry, start: at, end: at }, itemId)
  }

  return {
    all: () => [...outputs],
    addText: (text, { itemId, interim = false } = {}) =>
      addInstant({ text, ...(interim ? { interim: true } : {}) }, itemId),
    addNote: (text) => addInstant({ text, note: true }),
    addFile: (file) => addInstant(file),
    addTool(call) {
      const reason = call.function === 'code.execute' ? { reason: 'Executing...' } : {}
      const started: PromptTool = { type: 'tool', ...call, result: { type: 'pending', ...reason }, start: time() }
      const index = add(started)
      return (end) => {
        const result: PromptTool['result'] = 'error' in end ? { type: 'error', ...end } : { type: 'success', ...end }
        outputs[index] = { ...started, result, end: time() }
      }
    },
  }
}
