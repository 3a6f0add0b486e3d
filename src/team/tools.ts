import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isOffered, type ModelAgent, type ScriptAgent, type Tool } from '../event/agent.ts'
import { emit, type EquippedAgent, type RunContext } from '../event/context.ts'
import type { ToolFilter } from '../event/permission.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import { chosenTools } from '../tool/toolbox/choose-tools.ts'
import { isSearchTool, teamToolNames, type ToolName } from '../tool/toolbox/rows.ts'
import { verdictOnAny } from '../tool/tool-rules.ts'
import type { Toolbox, ToolKind } from '../tool/toolbox/kind.ts'
import { createToolbox, openTools, type ToolboxOptions } from '../tool/toolbox/toolbox.ts'
import type { TaskSurroundings, TaskTools } from './task/tools.ts'
import { boxableTools } from '../tool/sandbox/needs-box.ts'
import { externalToolsIn, refuseUnknownTools, warnOfWithheldTools } from '../agent/tool-names.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import type { Settings } from '../config/settings.ts'
import type { CollabSettings } from '../event/collab.ts'
import { callPlace } from '../event/place.ts'
import type { PluginTool } from '../event/plugin-tool.ts'
import { bindTool } from '../tool/toolbox/bind.ts'

export interface TeamToolOptions extends Pick<ModelAgent, 'inbox'> {
  readonly tools: readonly Tool[]
  readonly box: Toolbox
}

interface Giving extends ToolboxOptions {
  /** Which tools of plug-ins and MCP servers are included. */
  readonly named: ToolFilter
}

/**
 * Opens the tools of a conversation, including those of plug-ins and MCP servers. They share what was read, changed and
 * truncated. The tool lists of servers are recorded at the place of the context, which no other conversation uses for
 * that.
 * @throws BatonError SANDBOX if they need a sandbox and there is none, and errors of `mcpTools`
 */
export async function giveTools(
  chosen: readonly ToolName[],
  { named, ...options }: Giving,
  context: RunContext,
): Promise<TeamToolOptions> {
  const { seat } = context.services
  // the leader of a team with a task list does none of the work itself
  if (seat?.inbox !== undefined) return { tools: seat.tools, inbox: seat.inbox, box: createToolbox(options) }
  const names = await boxableTools(chosen, named, context)
  const box = createToolbox({ ...options, hasRead: names.includes('read') })
  const agents = await agentTools(names, { named, box, context })
  const team = await teamOf({ named, box, context })
  const tools = [
    ...(await openTools(names, box)),
    ...(agents?.tools ?? []),
    ...(team?.tools ?? []),
    ...(seat?.tools ?? []),
    ...pluginTools(named, box, context),
    ...(await serverTools(named, box, context)),
  ]
  const given = { box, ...defined({ inbox: await inboxOf(agents, team, context) }) }
  if (!names.includes('interpreter_run')) return { tools, ...given }
  const { interpreterTool } = await import('../agent/modes/code/interpreter.ts')
  const callable = tools.filter((tool) => isOffered(tool) && !isSearchTool(tool.name))
  return { tools: [...tools, interpreterTool(callable, box, context)], ...given }
}

/** The tools with which a model starts agents, if there is one it may use. */
async function agentTools(names: readonly ToolName[], around: TaskSurroundings): Promise<TaskTools | undefined> {
  if (!names.includes('task')) return undefined
  const { taskTools, usableAgents } = await import('./task/tools.ts')
  const offered = await usableAgents(around.context)
  return offered.length === 0 ? undefined : taskTools(names, offered, around)
}

/** The tools with which a member of a team leads others, and the team's messages for the leader. */
async function teamOf({ named, box, context }: TaskSurroundings): Promise<Partial<TaskTools> | undefined> {
  const { collab } = context.services
  if (collab === undefined) return undefined
  const names = teamToolNames.collab.filter((name) => isUsable(name, named, context))
  if (names.length === 0) return undefined
  const { teamTools } = await import('./collab/tools.ts')
  const tools = teamTools(names, { collab, named, box })
  return collab.self.depth > 0 ? { tools } : { tools, inbox: collab.team.inboxOf(collab.self.id) }
}

function isUsable(name: string, named: ToolFilter, { scope }: RunContext): boolean {
  return passesFilters(name, [named, ...(scope.rights.tools ?? [])]) && verdictOnAny(name, scope).kind !== 'deny'
}

/** A team sends messages at any time, so the decision to continue for them is recorded. */
async function inboxOf(
  agents: TaskTools | undefined,
  team: Partial<TaskTools> | undefined,
  context: RunContext,
): Promise<ModelAgent['inbox']> {
  if (team?.inbox === undefined) return agents?.inbox
  const { joinInboxes, recordedInbox } = await import('./core/inboxes.ts')
  return recordedInbox(agents === undefined ? team.inbox : joinInboxes([agents.inbox, team.inbox]), context)
}

/** Runs without servers load no code for them. */
async function serverTools(named: ToolFilter, box: Toolbox, context: RunContext): Promise<readonly Tool[]> {
  if (context.services.mcp === undefined) return []
  const { mcpTools } = await import('../mcp/tools.ts')
  const tools = await mcpTools(named, box, { at: context.scope.at, context })
  if (tools.length === 0) return tools
  const { deferTools } = await import('../mcp/deferred-tools.ts')
  return deferTools(tools, { named, box, context })
}

/**
 * The tools and the mode in the options of a script agent, and the context of its conversation, which includes its
 * team.
 */
export async function equip(
  { tools: named, mode, max_rounds: rounds, collab }: JsonObject,
  agent: Pick<ScriptAgent, 'name' | 'file'>,
  around: RunContext,
): Promise<EquippedAgent> {
  const { name } = agent
  const given: ToolFilter = { tools: Array.isArray(named) ? named.map(String) : [] }
  refuseUnknownTools(given.tools ?? [], `"${name}"`, externalToolsIn(around.services))
  warnOfWithheldTools(given, name, around)
  const context = leadsTeam(collab) ? await teamContext(collab, agent, around) : around
  const { folders, openedChanges: allow = [] } = context.scope
  const options = { named: given, baseDir: folders.workspace, limits: { allow } }
  const { tools, inbox } = await giveTools(chosenTools(given, context), options, context)
  const maxRounds = typeof rounds === 'number' ? rounds : undefined
  const equipped = { ...(tools.length === 0 ? {} : { tools }), ...defined({ inbox, maxRounds }) }
  return { equipped: { ...equipped, ...(typeof mode === 'string' ? { mode } : {}) }, context }
}

/** Whether the option `collab` of a script agent lets its model lead a team. */
function leadsTeam(collab: Json | undefined): collab is JsonObject {
  return isJsonObject(collab ?? null) && (collab as JsonObject)['enabled'] !== false
}

async function teamContext(table: JsonObject, agent: Pick<ScriptAgent, 'name' | 'file'>, context: RunContext) {
  const [{ teamOfOptions }, { openCollab }] = await Promise.all([
    import('./collab/options.ts'),
    import('./collab/open.ts'),
  ])
  return openCollab(await teamOfOptions(table, agent, context), context)
}

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
  const { openCollab } = await import('./collab/open.ts')
  return openCollab(led, context)
}

/** The plug-in tools of a model: those that its agent names, within its rights. */
export function pluginTools(
  { tools: named = [], disallowed_tools }: ToolFilter,
  box: Toolbox,
  { scope, services: { broughtTools: tools = [] } }: RunContext,
): readonly Tool[] {
  if (tools.length === 0) return []
  const { rights } = scope
  return tools
    .filter(({ name }) => passesFilters(name, [{ tools: named, disallowed_tools }, ...(rights.tools ?? [])]))
    .filter(({ name }) => verdictOnAny(name, scope).kind !== 'deny')
    .map((tool) => bindTool(kindOf(tool), box))
}

/** A call is one effect: what the plug-in does in it is not recorded separately. */
function kindOf(tool: PluginTool): ToolKind {
  const { name, description, parameters, readOnly = false } = tool
  return {
    name,
    description,
    parameters,
    async run(input, { at, context, permit }) {
      const { services, scope } = context
      const text = await services.effects.perform(
        callPlace(at, 0),
        {
          kind: 'tool',
          request: { tool: name, input },
          action: { kind: 'tool', tool: name, input },
          repeat: readOnly ? 'safe' : 'unsafe',
        },
        async (stop) => {
          const signal = AbortSignal.any([stop, services.signal])
          return String(await tool.run(input, { workspace: scope.folders.workspace, signal }))
        },
        permit,
      )
      return { text }
    },
  }
}
