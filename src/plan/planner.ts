import { dirname } from 'node:path'
import type { RunContext } from '../event/context.ts'
import type { PromptFile, ScriptFile } from '../pack/resolve.ts'
import { type AipDocument, parseAip } from '../prompt/aip.ts'
import { childTargetOptions } from '../run/child-target.ts'
import { loadPromptTarget, type PromptTarget } from '../run/prompt-target.ts'
import type { TargetOptions } from '../run/target.ts'
import { asLua } from '../script/host/require.ts'
import type { PlannedPrompt, PromptCall } from './prompt.ts'
import { createLooking } from './looking.ts'
import { type LuaReach, reachOf } from './lua-reach.ts'
import type { ModelPlanner } from './models.ts'

/** An agent as its text shows it. */
interface ScriptFacts {
  /** Undefined for a `.lua` file. */
  readonly document: AipDocument | undefined
  readonly reach: LuaReach
}

/** What all parts of one plan share. */
export interface Planner {
  readonly models: ModelPlanner
  /** Tries of one request. */
  readonly tries: number
  readonly signal: AbortSignal
  readonly onNote: (note: string) => void
  /** Plans a prompt file that an agent is: the call that goes up, handed down. */
  readonly planPrompt: (call: PromptCall, planner: Planner, context: RunContext) => Promise<PlannedPrompt>
  /** Loads a prompt file that is named as an agent; each once. */
  readonly loadChild: (agent: Pick<PromptFile, 'file'>) => Promise<PromptTarget>
  readonly factsOf: (agent: Pick<ScriptFile, 'kind' | 'file' | 'text' | 'pack'>) => ScriptFacts
  readonly look: (workspace: string) => ReturnType<typeof createLooking>
}

export interface PlannerOptions extends Pick<Planner, 'planPrompt' | 'models' | 'tries' | 'signal' | 'onNote'> {
  readonly options: TargetOptions
}

export function createPlanner({ options, ...shared }: PlannerOptions): Planner {
  const { text: _, ...around } = options
  const children = new Map<string, Promise<PromptTarget>>()
  const facts = new Map<string, ScriptFacts>()
  return {
    ...shared,
    loadChild({ file }) {
      const loaded = children.get(file) ?? loadPromptTarget(childTargetOptions(file, around))
      children.set(file, loaded)
      return loaded
    },
    factsOf(agent) {
      const known = facts.get(agent.file) ?? readFacts(agent)
      facts.set(agent.file, known)
      return known
    },
    look: (workspace) => createLooking({ workspace, signal: shared.signal, onNote: shared.onNote }),
  }
}

function readFacts({ kind, file, text, pack }: Parameters<Planner['factsOf']>[0]): ScriptFacts {
  const folders = [dirname(file), ...(pack === undefined ? [] : [pack.dir])]
  if (kind === 'lua') return { document: undefined, reach: reachOf(asLua(text), folders) }
  const document = parseAip(file, text)
  const { beforeAll, data, output, afterAll } = document
  const code = [beforeAll, data, output, afterAll].flatMap((block) => (block === undefined ? [] : [block.text]))
  return { document, reach: reachOf(code.join('\n'), folders) }
}
