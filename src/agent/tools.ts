import { BatonError } from '../base/error.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isOffered, type ModelAgent, type ModelResult, type ScriptAgent, type Tool } from '../event/agent.ts'
import { type ContextWith, type Events, emit, type RunContext } from '../event/context.ts'
import { roundLimit } from '../event/limits.ts'
import type { ToolFilter } from '../event/permission.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import { chosenTools } from '../tool/toolbox/choose-tools.ts'
import { teamToolNames, type ToolName } from '../tool/toolbox/rows.ts'
import { verdictOnAny } from '../tool/tool-rules.ts'
import type { Toolbox } from '../tool/toolbox/kind.ts'
import { createToolbox, openTools, type ToolboxOptions } from '../tool/toolbox/toolbox.ts'
import { pluginTools } from './plugins/tools.ts'
import type { TaskSurroundings, TaskTools } from './subagents/tools.ts'
import { boxableTools } from '../tool/sandbox/needs-box.ts'
import { otherToolsIn, refuseUnknownTools } from './tool-names.ts'

/** Warns about explicitly named tools that an agent does not get because the file that runs it does not have them. */
export function tellKeptTools(
  { tools = [] }: ToolFilter,
  name: string,
  context: ContextWith<'at' | 'rights', Events>,
): void {
  const kept = tools.filter((tool) => !tool.includes('*') && !passesFilters(tool, context.scope.rights.tools))
  if (kept.length === 0) return
  const message = `${name} is not given ${kept.length === 1 ? 'the tool' : 'the tools'} ${kept.join(', ')}: the file that runs it does not have ${kept.length === 1 ? 'it' : 'them'}`
  emit(context, { type: 'warning', message, hint: 'Add it to tools of that file, or remove it from disallowed_tools.' })
}

/**
 * Returns the answer unless a limit stopped the agent.
 * @throws BatonError LIMIT if one did: then its last text is not an answer
 */
export function refuseLimit(result: ModelResult, name: string, { scope }: Pick<RunContext, 'scope'>): ModelResult {
  switch (result.end) {
    case 'max_turns':
      throw new BatonError('LIMIT', `agent ${name} has reached its limit of model requests (max_turns)`, {
        hint: 'Raise max_turns, for example with -c max_turns=1000: a resumed run continues where this one stopped.',
        cause: roundLimit,
      })
    case 'repeated_calls':
      throw new BatonError('LIMIT', `agent ${name} kept calling the same tool with the same input`, {
        hint: 'Say in the instruction what it should do instead, or name another model.',
      })
    case 'max_rounds':
      if (scope.hasFormerRounds === true) return result
      throw new BatonError(
        'LIMIT',
        `agent ${name} has reached its limit of model requests for one message (max_rounds)`,
        {
          hint: 'Raise max_rounds, for example with -c max_rounds=1000: a resumed run continues where this one stopped.',
          cause: roundLimit,
        },
      )
    case 'done':
    case 'max_tokens':
    case 'incomplete':
      return result
  }
}

export interface GivenTools extends Pick<ModelAgent, 'inbox'> {
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
): Promise<GivenTools> {
  const { seat } = context.services
  // the leader of a team with a task list does none of the work itself
  if (seat?.inbox !== undefined) return { tools: seat.tools, inbox: seat.inbox, box: createToolbox(options) }
  const names = await boxableTools(chosen, named, context)
  const box = createToolbox(options)
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
  const { interpreterTool } = await import('./modes/code/interpreter.ts')
  return { tools: [...tools, interpreterTool(tools.filter(isOffered), box, context)], ...given }
}

/** The tools with which a model starts agents, if there is one it may use. */
async function agentTools(names: readonly ToolName[], around: TaskSurroundings): Promise<TaskTools | undefined> {
  if (!names.includes('task')) return undefined
  const { taskTools, usableAgents } = await import('./subagents/tools.ts')
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
  const { joinInboxes, recordedInbox } = await import('./inboxes.ts')
  return recordedInbox(agents === undefined ? team.inbox : joinInboxes([agents.inbox, team.inbox]), context)
}

/** Runs without servers load no code for them. */
async function serverTools(named: ToolFilter, box: Toolbox, context: RunContext): Promise<readonly Tool[]> {
  if (context.services.mcp === undefined) return []
  const { mcpTools } = await import('../mcp/tools.ts')
  return mcpTools(named, box, { at: context.scope.at, context })
}

/**
 * The tools and the mode in the options of a script agent, and the context of its conversation, which includes its
 * team.
 */
export async function equip(
  { tools: named, mode, max_rounds: rounds, collab }: JsonObject,
  agent: Pick<ScriptAgent, 'name' | 'file'>,
  around: RunContext,
): Promise<{
  readonly equipped: Pick<ModelAgent, 'tools' | 'inbox' | 'mode' | 'maxRounds'>
  readonly context: RunContext
}> {
  const { name } = agent
  const given: ToolFilter = { tools: Array.isArray(named) ? named.map(String) : [] }
  refuseUnknownTools(given.tools ?? [], `"${name}"`, otherToolsIn(around.services))
  tellKeptTools(given, name, around)
  const context = leadsTeam(collab) ? await teamContext(collab, agent, around) : around
  const { folders, openedChanges: allow = [] } = context.scope
  const options = { named: given, baseDir: folders.workspace, limits: { allow } }
  const { tools, inbox } = await giveTools(chosenTools(given, context), options, context)
  const maxRounds = typeof rounds === 'number' ? rounds : undefined
  const equipped = { ...(tools.length === 0 ? {} : { tools }), ...defined({ inbox, maxRounds }) }
  return { equipped: { ...equipped, ...(typeof mode === 'string' ? { mode } : {}) }, context }
}

/** Whether the option `collab` of a script agent lets its model lead a team. */
export function leadsTeam(collab: Json | undefined): collab is JsonObject {
  return isJsonObject(collab ?? null) && (collab as JsonObject)['enabled'] !== false
}

async function teamContext(table: JsonObject, agent: Pick<ScriptAgent, 'name' | 'file'>, context: RunContext) {
  const [{ teamOfOptions }, { openCollab }] = await Promise.all([
    import('./collab/options.ts'),
    import('./collab/open.ts'),
  ])
  return openCollab(await teamOfOptions(table, agent, context), context)
}
