import type { DataPath } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { unknownDisallowed, unknownTools } from '../agent/tool-names.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import { type Issue, suggestionHint, placeFindings, wrongValue } from '../settings/issue.ts'
import { placeOrigins } from '../config/layers.ts'
import { aboutServer, unusedServerCode, unusedServerHint, ownerOf, unusedReasonText } from '../config/unused-servers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { placeOf } from '../prompt/document.ts'
import { externalToolsOf, serversOfFile } from './external-tools.ts'
import type { StrategyLoader } from './strategy.ts'
import { splitResource } from '../mcp/context-resources.ts'

type ToolSpec = Pick<RunSpec, 'settings' | 'origins' | 'agents' | 'document' | 'leftOut' | 'ofPack' | 'isRecordedTool'>

type Strategies = readonly Pick<StrategyLoader, 'givenOptions'>[]

/** The invalid tool names of a prompt file and its config, each at its place. */
export async function toolIssues(spec: ToolSpec, strategies: Strategies): Promise<readonly Issue[]> {
  const { settings, origins, document, isRecordedTool } = spec
  const { tools = [], disallowed_tools: disallowed = [] } = settings
  const { leftOut, ...own } = await externalToolsOf(spec)
  // unused servers get a more specific message
  const unread = leftOut.filter(({ names }) => names.length === 0)
  const servers = [...own.servers, ...leftOut.flatMap(({ names }) => names)]
  const others = { ...own, servers, leftOut: unread, isRecordedTool }
  const findings = [
    ...unknownTools(tools, ['tools'], others),
    ...unknownDisallowed(disallowed, ['disallowed_tools'], others),
  ]
  const lists = toolLists(spec, strategies)
  const given = lists.flatMap(({ names, path }) => unknownTools(names, path, others))
  const { file, text, meta } = document
  return [
    ...leftOutIssues([...tools, ...lists.flatMap(({ names }) => names)], leftOut),
    ...(await placeOrigins(findings, origins)),
    ...(await placeFindings(given, { file, text, locate: meta.locate })),
  ]
}

/** Tools of servers whose file is not trusted, placed in that file, because it is the one to review. */
function leftOutIssues(named: readonly string[], leftOut: ToolSpec['leftOut']): readonly Issue[] {
  return leftOut.flatMap(({ names, ...why }) =>
    names
      .filter((server) => named.some((tool) => aboutServer(tool, server) === 'named'))
      .map((server): Issue => {
        const message = `tools names the server "${server}" of ${ownerOf(why)}, and ${unusedReasonText(why)}`
        return { code: unusedServerCode(why), message, hint: unusedServerHint(why), place: { file: why.file } }
      }),
  )
}

/** The tools that entries of `sub_agents` and the table of a strategy give to agents. */
export function toolLists(
  { agents, settings }: Pick<ToolSpec, 'agents' | 'settings'>,
  strategies: Strategies,
): readonly { readonly names: readonly string[]; readonly path: DataPath }[] {
  const entries = agents.flatMap(({ enabled, index, options }) =>
    enabled ? [{ options, path: ['sub_agents', index] }] : [],
  )
  const given = strategies.flatMap(({ givenOptions }) => givenOptions?.(settings) ?? [])
  return [...entries, ...given].flatMap(({ options: { tools }, path }) =>
    // a value that is not a list of texts is reported when the options are checked
    Array.isArray(tools) && tools.every((name) => typeof name === 'string')
      ? [{ names: tools, path: [...path, 'options', 'tools'] }]
      : [],
  )
}

/**
 * An agent of another program as it is run here: without the tools that do not exist, which is a warning. Other files
 * are returned as they are.
 */
export async function withoutMissingTools(spec: RunSpec): Promise<RunSpec> {
  const { foreignTools, layers, settings, document } = spec
  if (foreignTools === undefined) return spec
  const named = textsOf(layers.own.values['tools'])
  const missing = await missingTools(named, spec)
  const left = [...foreignTools, ...missing]
  if (left.length === 0) return spec
  const tools = named.filter((name) => !missing.includes(name))
  const isOwn = spec.origins.some(
    ({ path, layer }) => path[0] === 'tools' && layer.origin.kind === layers.own.origin.kind,
  )
  return {
    ...spec,
    layers: { ...layers, own: { ...layers.own, values: { ...layers.own.values, tools } } },
    params: spec.params['tools'] === undefined ? spec.params : { ...spec.params, tools },
    settings: isOwn ? { ...settings, tools } : settings,
    toolNotes: [leftOutNote(left, await placeOf(document, ['tools'], 'key'))],
  }
}

/** The same warning for each agent of another program that a model may start. */
export async function missingToolsOf(
  agents: Iterable<Pick<AgentDefinition, 'agent' | 'tools'>>,
  spec: ToolSpec,
): Promise<readonly Issue[]> {
  const notes: Issue[] = []
  for (const { agent, tools = [] } of agents) {
    const { foreignTools } = agent.defined ?? {}
    if (foreignTools === undefined || agent.kind !== 'prompt') continue
    const left = [...foreignTools, ...(await missingTools(tools, spec))]
    if (left.length === 0) continue
    const { definitionDocument } = await import('../config/definition-document.ts')
    notes.push(leftOutNote(left, await placeOf(await definitionDocument(agent), ['tools'], 'key')))
  }
  return notes
}

/** Tools of a server that is configured and not used are not among them: that has its own error, which says why. */
async function missingTools(names: readonly string[], spec: ToolSpec): Promise<readonly string[]> {
  const { leftOut, servers, ...own } = await externalToolsOf(spec)
  const others = { ...own, servers: [...servers, ...leftOut.flatMap((file) => file.names)] }
  return unknownTools(names, [], others).map(({ path: [index] }) => names[Number(index)] ?? '')
}

function leftOutNote(names: readonly string[], place: SourcePlace): Issue {
  const written = names.map((name) => (name.includes('__') ? `mcp__${name.replace(/__\*$/, '')}` : name))
  return {
    code: 'CONFIG_INVALID',
    message: `left out tools that Baton does not have: ${written.join(', ')}`,
    hint: 'The agent works without them. Servers of tools (mcp__SERVER) are configured in [mcp_servers].',
    place,
  }
}

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

type ResourceSpec = Pick<RunSpec, 'settings' | 'origins' | 'leftOut' | 'ofPack'>

/** Finds servers in `context_resources` that are unknown or whose file is not trusted, without calling any server. */
export async function resourceIssues(spec: ResourceSpec): Promise<readonly Issue[]> {
  const { settings, origins } = spec
  const { names: servers, leftOut } = serversOfFile(spec)
  const issues = (settings.context_resources ?? []).map(async (entry, index): Promise<readonly Issue[]> => {
    const name = splitResource(entry)?.server ?? ''
    if (servers.includes(name)) return []
    const untrusted = leftOut.find(({ names }) => names.includes(name))
    if (untrusted !== undefined) {
      const message = `context_resources names the server "${name}" of ${ownerOf(untrusted)}, and ${unusedReasonText(untrusted)}`
      return [
        {
          code: unusedServerCode(untrusted),
          message,
          hint: unusedServerHint(untrusted),
          place: { file: untrusted.file },
        },
      ]
    }
    const message = `context_resources[${index}]: there is no MCP server "${name}"`
    const hint = suggestionHint(
      name,
      servers,
      `Write "SERVER:URI", and name the server in [mcp_servers] of your config file.`,
    )
    return placeOrigins([wrongValue(['context_resources', index], { message, hint })], origins)
  })
  return (await Promise.all(issues)).flat()
}
