import type { JsonObject } from '../base/json.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import type { PromptInput } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import type { PromptFile } from '../pack/resolve.ts'
import { asChild } from '../run/child-target.ts'
import { childVariables } from '../run/child-variables.ts'
import type { Drift } from './drift.ts'
import type { Planner } from './planner.ts'
import type { PlannedPrompt } from './prompt.ts'

export interface ChildCall {
  readonly agent: Pick<PromptFile, 'name' | 'file'>
  readonly given: PromptInput
  /** Options of the entry or the call. */
  readonly options: JsonObject
  readonly drift: Drift
}

/** A prompt file that is run as an agent: planned as its caller runs it. */
export async function planChild(
  { agent, given, options, drift }: ChildCall,
  planner: Planner,
  context: RunContext,
): Promise<PlannedPrompt> {
  const loaded = await planner.loadChild(agent)
  const child = asChild(loaded, agent, { options, mayWrite: context.mayWrite !== false, inherited: context.options })
  const target = { ...child, vars: childVariables(loaded, given.variables, agent) }
  const inner = {
    ...context,
    options: inheritedOptions(target.agentSettings, target.configSettings),
    mayWrite: target.settings.write_mode,
  }
  return planner.planPrompt({ target, given, inputs: [], drift }, planner, inner)
}
