import { repeatsTold, type Stall, stallOfRepeats } from './supervisor.ts'

/** Detects that a member keeps calling a tool with the same input and result. */
export interface Repeats {
  /** `call` is equal for calls with equal input and result. */
  readonly called: (id: string, tool: string, call: string) => void
}

interface RepeatsOptions {
  readonly nameOf: (id: string) => string
  /** A call that differs from the last one, or has not been repeated too often yet. */
  readonly onProgress: () => void
  /** Called once for each series of equal calls. */
  readonly onStall: (stall: Stall) => void
}

export function createRepeats({ nameOf, onProgress, onStall }: RepeatsOptions): Repeats {
  const lastCalls = new Map<string, { readonly tool: string; readonly call: string; readonly times: number }>()
  return {
    called(id, tool, call) {
      // polling for the end of an agent is what wait is for
      if (tool === 'wait') return
      const last = lastCalls.get(id)
      const times = last?.call === call && last.tool === tool ? last.times + 1 : 1
      lastCalls.set(id, { tool, call, times })
      if (times < repeatsTold) onProgress()
      else if (times === repeatsTold) onStall(stallOfRepeats(id, tool, nameOf(id)))
    },
  }
}
