import type { Json } from '../../base/json.ts'
import type { FilePart } from '../../event/message.ts'
import type { PromptOutput, PromptTool } from '../../event/prompt.ts'

/** How a tool ended. */
type ToolEnd = { readonly output: string } | { readonly error: string }

/** What comes of a prompt, entry by entry, in the order in which they began. */
export interface Timeline {
  readonly all: () => readonly PromptOutput[]
  /** `itemId`: the item it was streamed as, which has the text already. `interim`: it is no part of the answer. */
  readonly addText: (text: string, options?: { readonly itemId?: string; readonly interim?: boolean }) => void
  readonly addFile: (file: FilePart) => void
  /** A call that begins; the function that is returned ends it, in its place (R172). */
  readonly addTool: (call: StartedTool) => (end: ToolEnd) => void
}

interface StartedTool {
  readonly id: string
  readonly function: string
  readonly input: Json
}

/** Told of each entry when it is added (R197). */
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

  function addInstant(entry: { readonly text: string; readonly interim?: true } | FilePart, itemId?: string): void {
    const at = time()
    if ('data' in entry) add({ type: 'file', file: entry, start: at, end: at })
    else add({ type: 'text', ...entry, start: at, end: at }, itemId)
  }

  return {
    all: () => [...outputs],
    addText: (text, { itemId, interim = false } = {}) =>
      addInstant({ text, ...(interim ? { interim: true } : {}) }, itemId),
    addFile: (file) => addInstant(file),
    addTool(call) {
      const started: PromptTool = { type: 'tool', ...call, result: { type: 'pending' }, start: time() }
      const index = add(started)
      return (end) => {
        const result: PromptTool['result'] =
          'error' in end ? { type: 'error', error: end.error } : { type: 'success', output: end.output }
        outputs[index] = { ...started, result, end: time() }
      }
    },
  }
}
