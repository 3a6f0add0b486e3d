import { defined } from '../base/json.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import type { Settings } from '../config/settings.ts'
import type { CollabSettings } from '../event/collab.ts'
import { emit, type RunContext } from '../event/context.ts'
import { passesFilters } from '../tool/tool-filter.ts'

type LedBy = Pick<Settings, 'collab' | 'budget'>
type Roles = ReadonlyMap<string, AgentDefinition>

/** The effective `[collab]` with its roles; undefined: the model starts no agents. */
export function teamSettings({ collab, budget: ofRun }: LedBy, roles: Roles): CollabSettings | undefined {
  if (collab === undefined) return undefined
  const { roles: _, budget, ...limits } = collab
  const { unpriced } = ofRun
  return { ...limits, ...defined({ budget: budget && { ...budget, unpriced } }), roles }
}

/**
 * The context of a conversation whose model leads its own team, if `[collab]` says so; the tools of the conversation
 * carry the team, which ends with them. Most files have no team, and load no code for it.
 */
export async function withTeam(settings: LedBy, roles: Roles, context: RunContext): Promise<RunContext> {
  const led = teamSettings(settings, roles)
  if (led === undefined) return context
  if (!passesFilters('spawn_agent', context.scope.rights.tools)) {
    const message = '[collab] has no effect here: the caller of this file does not allow it to start agents'
    const hint =
      'An agent started by a model can lead a team only if max_depth in [collab] of the starting file is larger.'
    emit(context, { type: 'warning', message, hint })
    return context
  }
  const { openCollab } = await import('../agent/collab/open.ts')
  return openCollab(led, context)
}
