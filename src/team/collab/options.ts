import { BatonError } from '../../base/error.ts'
import { defined, isJsonObject, type JsonObject } from '../../base/json.ts'
import { joinParts } from '../../config/agent-definitions.ts'
import { builtInRoles } from '../../config/builtin-roles.ts'
import { collabFindings } from '../../config/check-settings.ts'
import { readCollab } from '../../settings/collab.ts'
import type { AgentDefinition, ScriptAgent } from '../../event/agent.ts'
import type { CollabSettings } from '../../event/collab.ts'
import type { RunContext } from '../../event/context.ts'

/**
 * Reads the team settings in the option `collab` of a script agent.
 * @throws BatonError CONFIG_INVALID for an invalid table, AGENT_NOT_FOUND for the agent of a role
 */
export async function teamOfOptions(
  table: JsonObject,
  agent: Pick<ScriptAgent, 'name' | 'file'>,
  { services }: RunContext,
): Promise<CollabSettings> {
  const [finding] = collabFindings(table)
  if (finding !== undefined) {
    const { code, message, hint } = finding
    throw new BatonError(code, `options of "${agent.name}": ${message}`, { hint, place: { file: agent.file } })
  }
  const { roles: written, budget, ...limits } = readCollab(table)
  const named = (await services.definitions?.()) ?? new Map<string, AgentDefinition>()
  const roles = new Map<string, AgentDefinition>()
  for (const name of new Set([...Object.keys(builtInRoles), ...Object.keys(written)])) {
    roles.set(name, roleOf(name, { role: written[name] ?? {}, named, agent }))
  }
  return { ...limits, ...defined({ budget: budget && { ...budget, unpriced: 'deny' as const } }), roles }
}

interface Role {
  readonly role: JsonObject
  readonly named: ReadonlyMap<string, AgentDefinition>
  readonly agent: Pick<ScriptAgent, 'name' | 'file'>
}

function roleOf(name: string, { role, named, agent }: Role): AgentDefinition {
  const builtIn = { from: 'built-in', isTrusted: true, values: builtInRoles[name] ?? {} } as const
  const { agent: meant } = role
  if (typeof meant !== 'string') {
    const part = { from: 'workspace', isTrusted: false, values: role } as const
    return joinParts(name, isEmpty(role) ? [builtIn] : [builtIn, part], agent.file)
  }
  const found = named.get(meant)
  if (found === undefined) {
    throw new BatonError(
      'AGENT_NOT_FOUND',
      `the role "${name}" of "${agent.name}" names the agent ${meant}, which does not exist`,
      {
        place: { file: agent.file },
        hint: 'Name an agent of [agents] or of an agents/ folder.',
      },
    )
  }
  const { description = found.description } = role
  return { ...found, name, description: typeof description === 'string' ? description : undefined }
}

function isEmpty(role: JsonObject): boolean {
  return isJsonObject(role) && Object.keys(role).length === 0
}
