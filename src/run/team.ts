import { defined } from '../base/json.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import type { Settings } from '../config/settings.ts'
import type { CollabSettings } from '../event/collab.ts'
import { emit, type RunContext } from '../event/context.ts'
import { passesFilters } from '../tool/tool-filter.ts'

type LedBy = Pick<Settings, 'collab' | 'budget'>
type Roles = ReadonlyMap<string, AgentDefinition>

/** What a team is led by: `[collab]` in force, with its roles; undefined: the model starts no agents. */
export function teamSettings({ collab, budget: ofRun }: LedBy, roles: Roles): CollabSettings | undefined {
  if (collab === undefined) return undefined
  const { roles: _, budget, ...limits } = collab
  const { unpriced } = ofRun
  return { ...limits, ...defined({ budget: budget && { ...budget, unpriced } }), roles }
}

/**
 * The context of a conversation whose model leads a team of its own, where `[collab]` says so; what it says is given by the tools
 * of the conversation, and ends with them. Most files have no team, and load nothing for it.
 */
export async function withTeam(settings: LedBy, roles: Roles, context: RunContext): Promise<RunContext> {
  const led = teamSettings(settings, roles)
  if (led === undefined) return context
  if (!passesFilters('spawn_agent', context.scope.rights.tools)) {
    const message = '[collab] has no effect here: whoever runs this file lets it start no agents'
    const hint = 'An agent that a model has started leads a team only where max_depth of [collab] there is larger.'
    emit(context, { type: 'warning', message, hint })
    return context
  }
  const { openCollab } = await import('../agent/collab/open.ts')
  return openCollab(led, context)
}
