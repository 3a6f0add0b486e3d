import { repeatsTold, type Stall, stallOfRepeats } from './supervisor.ts'

/** Sees that a member calls a tool again and again with the same input and result. */
export interface Repeats {
  /** `call` is the same text for the same input and result. */
  readonly called: (id: string, tool: string, call: string) => void
}

interface RepeatsOptions {
  readonly nameOf: (id: string) => string
  /** A call that is another one, or not yet too often the same. */
  readonly onProgress: () => void
  /** Once for each series of equal calls. */
  readonly onStall: (stall: Stall) => void
}

export function createRepeats({ nameOf, onProgress, onStall }: RepeatsOptions): Repeats {
  const lastCalls = new Map<string, { readonly tool: string; readonly call: string; readonly times: number }>()
  return {
    called(id, tool, call) {
      // asking again and again whether somebody has ended is what it is for
      if (tool === 'wait') return
      const last = lastCalls.get(id)
      const times = last?.call === call && last.tool === tool ? last.times + 1 : 1
      lastCalls.set(id, { tool, call, times })
      if (times < repeatsTold) onProgress()
      else if (times === repeatsTold) onStall(stallOfRepeats(id, tool, nameOf(id)))
    },
  }
}
