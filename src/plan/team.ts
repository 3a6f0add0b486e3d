import type { AgentDefinition } from '../config/agent-definitions.ts'
import { keptTools } from '../load/roles.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { type Ask, type Range, joinAsks } from './ask.ts'
import type { RolePlan, TeamPlan } from './plan.ts'
import type { Planner } from './planner.ts'

/**
 * The agents that the model of a prompt file may start. How many, and what they do, is its choice: their models may be
 * called any number of times, or not at all, within the budgets.
 */
export async function planTeam(
  { settings, roles }: Pick<PromptTarget, 'settings' | 'roles'>,
  { models, onNote }: Pick<Planner, 'models' | 'onNote'>,
): Promise<TeamPlan | undefined> {
  const { collab } = settings
  if (collab === undefined) return undefined
  const planned: RolePlan[] = []
  const asks: Ask[] = []
  for (const [name, role] of roles) {
    const kept = keptTools(role, settings)
    if (kept.length > 0)
      onNote(
        `the role ${name} is not given ${kept.join(', ')}: the tools of the file do not include ${kept.length === 1 ? 'it' : 'them'}`,
      )
    const { model } = role.settings
    const own = typeof model === 'string' ? await models.chooseOrNote(model) : undefined
    if (own !== undefined) asks.push(perhaps(own))
    planned.push({
      name,
      agent: agentOf(role, collab.roles[name]),
      model: own?.label ?? null,
      tools: role.tools ?? null,
    })
  }
  const { maxAgents, maxDepth, budget = null } = collab
  return { max_agents: maxAgents, max_depth: maxDepth, budget, roles: planned, asks: joinAsks(asks) }
}

function agentOf({ agent }: AgentDefinition, written: { readonly agent?: unknown } | undefined): string | null {
  return typeof written?.agent === 'string' ? agent.name : null
}

const any: Range = { at_least: 0, as_written: 0, at_most: null }

function perhaps({ label, kind, priced }: Awaited<ReturnType<Planner['models']['choose']>>): Ask {
  const isFree = priced?.isFree === true
  const usd = isFree ? { at_least: 0, as_written: 0, at_most: 0 } : priced === undefined ? null : any
  return {
    model: label,
    model_kind: kind,
    requests: any,
    input_tokens: any,
    output_tokens: any,
    usd,
    output_assumed: true,
  }
}
