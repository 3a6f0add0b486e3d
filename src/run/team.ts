import { defined } from '../base/json.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import type { Settings } from '../config/settings.ts'
import type { CollabSettings } from '../event/collab.ts'

/** What a team is led by: `[collab]` in force, with its roles; undefined: the model starts no agents. */
export function teamSettings(
  { collab, budget: ofRun }: Pick<Settings, 'collab' | 'budget'>,
  roles: ReadonlyMap<string, AgentDefinition>,
): CollabSettings | undefined {
  if (collab === undefined) return undefined
  const { roles: _, budget, ...limits } = collab
  const { unpriced } = ofRun
  return { ...limits, ...defined({ budget: budget && { ...budget, unpriced } }), roles }
}
