import { emptyResult } from '../agent/result.ts'
import type { AgentRequest } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import { type Effects, placeText } from '../event/effects.ts'
import { createMeter } from '../event/meter.ts'
import { createPathPolicy } from '../tool/policy.ts'

export interface LookingOptions {
  /** Absolute. */
  readonly workspace: string
  readonly signal: AbortSignal
  /** Told what a run would warn of. */
  readonly onNote: (note: string) => void
}

export interface Looking {
  readonly context: RunContext
  /** What agents were asked to do since the last call; none of them was run. */
  readonly taken: () => readonly AgentRequest[]
}

/**
 * A context in which the code of real runs can look and nothing else: files are listed and read, agents are noted and
 * not run, and whatever would have a consequence is refused. Made for one prompt file: paths are read once.
 */
export function createLooking({ workspace, signal, onNote }: LookingOptions): Looking {
  let asked: AgentRequest[] = []
  const context: RunContext = {
    runId: 'plan',
    at: [],
    signal,
    workspace,
    effects: lookingEffects(),
    policy: createPathPolicy({ workspace }),
    agents: {
      async run(request) {
        asked.push(request)
        return emptyResult
      },
    },
    ancestors: [],
    options: {},
    meter: createMeter().add,
    events: (_, event) => {
      if (event.type === 'warning') onNote(event.message)
    },
    now: () => new Date(),
    // answers are neither read nor carried out
    dry: 'res',
  }
  return {
    context,
    taken() {
      const all = asked
      asked = []
      return all
    },
  }
}

function lookingEffects(): Effects {
  const read = new Map<string, unknown>()
  const refuse = (what: string): never => {
    throw new Error(`a plan has no consequences, but ${what} was asked for`)
  }
  return {
    observe<T>(
      at: readonly string[],
      { name, args }: { readonly name: string; readonly args: unknown },
      look: () => T,
    ) {
      // each task reads the same files
      const key = JSON.stringify([name === 'file.read' ? '' : placeText(at), name, args])
      if (!read.has(key)) read.set(key, look())
      return read.get(key) as T
    },
    changeFile: (_, { op }) => refuse(op),
    perform: (_, { kind }) => refuse(kind),
    boundary: (_, work) => work(),
    call: (_, { name }) => refuse(name),
  }
}
