import { createModeRegistry, modeNamed } from '../agent/modes/registry.ts'
import type { OpenMode } from '../agent/modes/mode.ts'
import { defined } from '../base/json.ts'
import { isOffered, type ModelAgent } from '../event/agent.ts'
import { defaultRounds } from '../event/limits.ts'
import { textMessage } from '../event/message.ts'
import type { ModelAsk } from './ask.ts'
import type { ToolPlan } from './plan.ts'
import type { Planner } from './planner.ts'

/** A request as the mode of its model sends it. */
interface AskInMode {
  readonly request: ModelAsk
  /** Whether the model is given tools. If not, they are functions of the programs that it answers with, any number of them. */
  readonly offersTools: boolean
}

/** How a mode sends a request. A mode of a plug-in decides that in its run; until then, it is as without one. */
export async function inMode(request: ModelAsk, planner: Pick<Planner, 'plugins' | 'signal'>): Promise<AskInMode> {
  const open = await openMode(request.agent, planner)
  const { instructions, offer = {} } = open ?? {}
  const { tools, output, ...agent } = request.agent
  const offersTools = offer.tools !== false
  return {
    offersTools,
    request: {
      ...request,
      agent: {
        ...agent,
        ...(offersTools ? defined({ tools }) : {}),
        ...(offer.output === false ? {} : defined({ output })),
      },
      messages:
        instructions === undefined ? request.messages : [textMessage('system', instructions), ...request.messages],
    },
  }
}

/** Whether a mode gives a model tools, as far as that is known. */
export async function givesTools(mode: string, planner: Pick<Planner, 'plugins' | 'signal'>): Promise<boolean> {
  const open = await openMode({ mode }, planner)
  return open?.offer?.tools !== false
}

async function openMode(
  { mode: id = 'classic', tools = [], output, modeOptions = {}, maxRounds }: Partial<ModelAgent>,
  { plugins, signal }: Pick<Planner, 'plugins' | 'signal'>,
): Promise<OpenMode | undefined> {
  const mode = modeNamed(id, createModeRegistry(plugins.modes, plugins.functions))
  if (!('open' in mode)) return undefined
  const offered = tools.filter(isOffered).map(({ name }) => name)
  const rounds = maxRounds ?? mode.rounds ?? defaultRounds
  return mode.open({ signal, tools, offered, ...defined({ output }), say: () => {}, rounds, options: modeOptions })
}

/** What a model gets of its tools. */
export interface OfferedToolPlan {
  readonly tools: readonly ToolPlan[]
  /** The tools that its programs can call; omitted: its mode has no programs. */
  readonly functions?: readonly ToolPlan[]
}

export function offeredTools(tools: readonly ToolPlan[], offersTools: boolean): OfferedToolPlan {
  return offersTools || tools.length === 0 ? { tools } : { tools: [], functions: tools }
}
