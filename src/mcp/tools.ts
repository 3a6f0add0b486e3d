import { BatonError, isBatonError, messageOf, stopsRun } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, defined } from '../base/json.ts'
import { modelText } from '../base/model-text.ts'
import { nearest } from '../base/suggest.ts'
import type { Tool } from '../event/agent.ts'
import { type ContextWith, emitOnce, type RunContext, type Servers } from '../event/context.ts'
import type { McpServer, McpTool } from '../event/mcp.ts'
import type { ToolFilter, ToolRule } from '../event/permission.ts'
import { callPlace, part, type Place } from '../event/place.ts'
import { passesFilters, ruledTools, toolPattern } from '../tool/tool-filter.ts'
import { verdictOnAny } from '../tool/tool-rules.ts'
import { bindTool } from '../tool/toolbox/bind.ts'
import { isCallOfModel, type Toolbox, type ToolKind, type ToolOutput } from '../tool/toolbox/kind.ts'
import { toolInputSchema, schemaForModel, toolDescription } from './tool-description.ts'
import { fullName, mayPass, mayMatch, matchesAll, type NamedTool, nameTools, serverNamed } from './names.ts'
import { callTool, listPlace, listTools, refuseUse } from './recorded-calls.ts'
import { toolOutput } from './results.ts'

/** Where lists are recorded, and for which context. */
interface Giving {
  /** The place of a conversation, or of a script call. */
  readonly at: Place
  readonly context: RunContext
}

/**
 * The tools of servers for a model or a program: those that are named, not disallowed, and within the rights of the
 * agent. The servers are queried concurrently. A server that fails is left out with one warning per run if only a
 * pattern over all servers selects it.
 * @throws BatonError of a server that is named explicitly, CONFIG_INVALID for a tool that a server does not have,
 * UNTRUSTED for a server that a pack may not use
 */
export async function mcpTools(named: ToolFilter, box: Toolbox, giving: Giving): Promise<readonly Tool[]> {
  const servers = neededServers(named, giving.context)
  if (servers.length === 0) return []
  const lists = await Promise.all(servers.map((server) => listed(server, named, giving)))
  return lists.flatMap(({ server, tools }) => {
    const known = nameTools(server.name, tools)
    refuseMissing(server, known, named)
    return known.filter(({ name }) => isOffered(name, named, giving.context)).map((one) => bound(server, one, box))
  })
}

/**
 * Checks that servers that are named explicitly answer and have the named tools, which would otherwise end the run
 * later. Nothing is recorded.
 * @throws BatonError as `mcpTools` does
 */
export async function checkServers(named: ToolFilter, context: RunContext): Promise<void> {
  const { mcp, signal } = context.services
  const servers = neededServers(named, context).filter(({ name }) => isByName(name, named, context.services))
  await Promise.all(
    servers.map(async (server) => {
      refuseUse(server, { caller: 'tools', context })
      const tools = (await mcp?.tools(server.name, signal)) ?? []
      refuseMissing(server, nameTools(server.name, tools), named)
    }),
  )
}

/** The servers whose tools a filter may pass, within the rights of the agent; no server is contacted. */
export function neededServers(
  { tools = [], disallowed_tools }: ToolFilter,
  { scope: { rights }, services: { mcp } }: ContextWith<'rights', Servers>,
): readonly McpServer[] {
  if (mcp === undefined || !tools.some((pattern) => pattern.includes('*') || pattern.includes('__'))) return []
  const filters = [{ tools, disallowed_tools }, ...(rights.tools ?? [])]
  return mcp.servers.filter(
    ({ name }) =>
      filters.every((filter) => mayPass(filter, name)) && !rights.rules.some((rules) => isAllDenied(rules, name)),
  )
}

/** Whether rules deny every tool of a server, whatever its name. */
function isAllDenied(rules: readonly ToolRule[], server: string): boolean {
  const last = rules.findLast((rule) => {
    const { tool, pattern } = ruledTools(rule)
    return rule.effect === 'deny' ? pattern === undefined && matchesAll(tool, server) : mayMatch(tool, server)
  })
  return last?.effect === 'deny'
}

/** Whether a tool of a server may be offered, by the name that models see. */
function isOffered(
  name: string,
  { tools = [], disallowed_tools }: ToolFilter,
  { scope }: Pick<RunContext, 'scope'>,
): boolean {
  const filters = [{ tools, disallowed_tools }, ...(scope.rights.tools ?? [])]
  return passesFilters(name, filters) && verdictOnAny(name, scope).kind !== 'deny'
}

/** Whether a filter names this server explicitly. */
function isByName(server: string, { tools = [] }: ToolFilter, { mcp }: Servers): boolean {
  const names = mcp?.servers.map(({ name }) => name) ?? []
  return tools.some((pattern) => serverNamed(pattern, names) === server)
}

interface Listed {
  readonly server: McpServer
  readonly tools: readonly McpTool[]
}

async function listed(server: McpServer, named: ToolFilter, { at, context }: Giving): Promise<Listed> {
  const { effects, signal } = context.services
  const place = listPlace(at, server.name)
  const isTold = effects.answers(place)
  try {
    refuseUse(server, { caller: 'tools', context })
    return { server, tools: await listTools(server, place, context.services) }
  } catch (error) {
    signal.throwIfAborted()
    if (stopsRun(error) || isByName(server.name, named, context.services)) throw error
    // a pack that may not use it did not ask for it
    if (!isTold && !(isBatonError(error) && error.code === 'UNTRUSTED')) {
      const message = `no model gets the tools of ${fullName(server)}: ${messageOf(error)}`
      const hint = isBatonError(error) ? error.hint : undefined
      emitOnce(context, `tools of ${fullName(server)}`, { type: 'warning', message, ...defined({ hint }) })
    }
    return { server, tools: [] }
  }
}

/** @throws BatonError CONFIG_INVALID for a tool that is named without `*` and does not exist */
function refuseMissing(of: McpServer, known: readonly NamedTool[], { tools = [] }: ToolFilter): void {
  const { name: server } = of
  const names = known.map(({ name }) => name)
  const missing = tools.find(
    (text) => !text.includes('*') && serverNamed(text, [server]) === server && !names.some(toolPattern(text)),
  )
  if (missing === undefined) return
  const plain = missing.replace(/^mcp__(?=.*__)/, '')
  const near = nearest(plain, names)
  throw new BatonError(
    'CONFIG_INVALID',
    `the MCP server ${fullName(of)} has no tool "${plain.slice(server.length + 2)}"`,
    {
      hint: near === undefined ? `baton mcp tools ${fullName(of)} lists its tools.` : `Did you mean "${near}"?`,
    },
  )
}

/** By the server's description of a tool, so that a schema is compiled once for all conversations. */
const kinds = new WeakMap<McpTool, { readonly server: McpServer; readonly kind: ToolKind }>()

function bound(server: McpServer, named: NamedTool, box: Toolbox): Tool {
  const { tool, name } = named
  const known = kinds.get(tool)
  const kind = known?.server === server && known.kind.name === name ? known.kind : kindOf(server, named)
  kinds.set(tool, { server, kind })
  return bindTool(kind, box)
}

/** A call is one effect of the kind `mcp`, at its own place. */
function kindOf(server: McpServer, { name, tool }: NamedTool): ToolKind {
  const { readOnly = false, output } = tool
  const isReader = server.isTrusted && readOnly
  return {
    name,
    server: server.name,
    description: toolDescription(server.name, tool),
    parameters: toolInputSchema(tool),
    ...defined({ output: output && schemaForModel(output) }),
    ...(isReader ? { reads: true } : {}),
    version: async ({ context, at }) =>
      sha256(canonicalJson((await currentTool(server, tool, { context, at })) ?? tool)),
    preview: async (_, { context }) => (context.scope.dry === 'changes' && !isReader ? notInDryRun(name) : undefined),
    async run(input, { at, context, permit, onProgress }) {
      const { taken = { image: true, document: true } } = context.scope
      if (context.scope.dry === 'changes' && !isReader) return notInDryRun(name)
      const asking = { at: callPlace(at, 0), caller: name, context, ...defined({ onProgress }) }
      const result = await callTool({ server, tool: tool.name, input, readOnly }, asking, permit)
      const output = toolOutput(result, { name, taken })
      if (result.isAfterLoss !== true || !isCallOfModel(at)) return output
      return { ...output, text: `${lossText(server)}\n${output.text}` }
    },
  }
}

/** What a model is told with the first result of a server that was started again. */
function lossText(server: McpServer): string {
  return modelText`[the MCP server ${fullName(server)} was started again before this call: what it had kept in memory is gone]`
}

/**
 * The tool as its server describes it now, which may be another one than this conversation was offered; undefined for a
 * call that the record answers, and if the server does not answer.
 */
async function currentTool(
  server: McpServer,
  { name }: McpTool,
  { context, at }: Giving,
): Promise<McpTool | undefined> {
  const { effects, mcp, signal } = context.services
  if (effects.answers([...at, part('approval')])) return undefined
  const tools = await mcp?.tools(server.name, signal).catch(() => undefined)
  signal.throwIfAborted()
  return tools?.find((tool) => tool.name === name)
}

function notInDryRun(name: string): ToolOutput {
  return { text: `not called, because this is a dry run: ${name}`, isError: true }
}
