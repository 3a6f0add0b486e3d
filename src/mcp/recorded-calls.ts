import { withEitherSignal } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { canonicalJson, defined, type JsonObject } from '../base/json.ts'
import { harmlessName } from '../base/terminal-text.ts'
import { unusedServerCode, unusedServerHint, ownerOf, unusedReasonText } from '../config/unused-servers.ts'
import { emit, type Gate, type RunContext, type Servers, type Surroundings } from '../event/context.ts'
import type {
  McpCall,
  McpResource,
  McpResourceContent,
  McpResult,
  McpServer,
  McpServers,
  McpTool,
} from '../event/mcp.ts'
import type { Action, Permit } from '../event/permission.ts'
import { item, part, type Place } from '../event/place.ts'
import { createProgressThrottle } from './progress.ts'
import { fullName } from './names.ts'
import { withQuestions } from './questions.ts'

/** @throws BatonError MCP_FAILED if there is no server of that name, UNTRUSTED if its file is not trusted */
export function findServer(name: string, { mcp }: Servers): McpServer {
  const found = mcp?.servers.find((server) => server.name === name)
  if (found !== undefined) return found
  const why = mcp?.leftOut?.get(name)
  if (why !== undefined) {
    const message = `the MCP server "${name}" of ${ownerOf(why)} cannot be used: ${unusedReasonText(why)}`
    throw new BatonError(unusedServerCode(why), message, { hint: unusedServerHint(why), place: { file: why.file } })
  }
  throw new BatonError('MCP_FAILED', `there is no MCP server "${name}"`, {
    hint: `Configure it in [mcp_servers.${name}] of your config file.`,
  })
}

/**
 * How the record identifies a server: one of a pack is distinct from one of the run, even if both have the same name.
 */
export function recordedName({ name: server, pack }: McpServer): JsonObject {
  return { server, ...defined({ pack }) }
}

/** The place at which the server's list is recorded for a conversation, or a script call, at `at`. */
export function listPlace(at: Place, server: string): Place {
  return [...at, part('mcp'), item(server)]
}

type ListPorts = Gate & Servers & Pick<Surroundings, 'signal'>

/** The tools of a server at this place (`listPlace`): a resumed run and a replay take them from the record. */
export async function listTools(server: McpServer, at: Place, ports: ListPorts): Promise<readonly McpTool[]> {
  const { name } = server
  const { effects, signal } = ports
  const isRecorded = effects.answers(at)
  const asked = { name: 'mcp.tools', args: recordedName(server) }
  const tools = await effects.observeAsync(at, asked, () => live(ports).tools(name, signal))
  if (isRecorded) knownOf(ports)?.set(name, tools)
  return tools
}

/** Its resources, including templates, recorded at a separate place. */
export function listResources(server: McpServer, at: Place, ports: ListPorts): Promise<readonly McpResource[]> {
  const asked = { name: 'mcp.resources', args: recordedName(server) }
  const { effects, signal } = ports
  return effects.observeAsync(at, asked, () => live(ports).resources(server.name, signal))
}

/** Who makes a request, and the place at which it is recorded. */
export interface Requester {
  readonly at: Place
  /** For messages. */
  readonly caller: string
  readonly context: RunContext
}

export interface RequestedTool {
  readonly server: McpServer
  /** The name that the server gives it. */
  readonly tool: string
  readonly input: JsonObject
  /** By the server's word, it changes nothing. */
  readonly readOnly?: boolean
}

/** The result of a call whose outcome is unknown, once the user says that it was made. */
const assumed: McpResult = {
  content: [{ type: 'text', text: 'The call was made. Its result is unknown: the run was interrupted.' }],
}

/**
 * Calls a tool, as one effect. It is repeated after a crash only if the server is trusted and says that the tool only
 * reads. Progress is reported as by `createProgressThrottle`, except for a call that is answered from the record.
 * @throws BatonError MCP_FAILED, UNTRUSTED if a pack may not use the server
 */
export function callTool(
  { server, tool, input, readOnly = false }: RequestedTool,
  { at, caller, context, onProgress }: Requester & Pick<McpCall, 'onProgress'>,
  permit?: Permit,
): Promise<McpResult> {
  const { effects, signal } = context.services
  const request = { ...recordedName(server), tool, input }
  const repeat = server.isTrusted && readOnly ? 'safe' : 'unsafe'
  const action = useOf(server, tool, caller)
  return effects.perform<McpResult>(
    at,
    { kind: 'mcp', request, action, repeat, assumed },
    async (stop) => {
      await tellDifference(server, context)
      const progress = onProgress && createProgressThrottle(onProgress)
      try {
        return await withEitherSignal(stop, signal, (either) =>
          withQuestions({ server, at, context }, either, (call) =>
            live(context.services).call(server.name, tool, input, {
              ...call,
              ...(progress && { onProgress: progress.tell }),
            }),
          ),
        )
      } finally {
        progress?.end()
      }
    },
    permit,
  )
}

/** Reads a resource, as one effect that may be repeated. @throws BatonError MCP_FAILED, UNTRUSTED */
export function readResource(
  { server, uri }: { readonly server: McpServer; readonly uri: string },
  { at, caller, context }: Requester,
): Promise<readonly McpResourceContent[]> {
  const action = useOf(server, uri, caller)
  return reading({ ...recordedName(server), resource: uri }, { at, action, context }, (signal) =>
    withQuestions({ server, at, context }, signal, (call) => live(context.services).read(server.name, uri, call)),
  )
}

/** The use of a server as an action for the permission check. */
function useOf({ name }: McpServer, what: string, caller: string): Action {
  return { kind: 'mcp', server: name, what, caller }
}

/** @throws BatonError UNTRUSTED if the capabilities of a pack do not name the server */
export function refuseUse(server: McpServer, { caller, context }: Omit<Requester, 'at'>): void {
  const verdict = context.services.permission.check(useOf(server, 'tools', caller))
  if (verdict.kind === 'deny') throw new BatonError(verdict.code, verdict.reason, { hint: verdict.hint })
}

function reading<T>(
  request: JsonObject,
  { at, action, context }: Omit<Requester, 'caller'> & { readonly action: Action },
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { effects, signal } = context.services
  return effects.perform<T>(at, { kind: 'mcp', request, action, repeat: 'safe' }, (stop) =>
    withEitherSignal(stop, signal, read),
  )
}

function live({ mcp }: Servers): McpServers {
  if (mcp !== undefined) return mcp
  throw new BatonError('MCP_FAILED', 'MCP servers are not available here')
}

/** The lists that a resumed run took from its record, by server, until they are compared with the live ones. */
const recorded = new WeakMap<McpServers, Map<string, readonly McpTool[]>>()

function knownOf({ mcp }: Servers): Map<string, readonly McpTool[]> | undefined {
  if (mcp === undefined) return undefined
  const known = recorded.get(mcp) ?? new Map<string, readonly McpTool[]>()
  recorded.set(mcp, known)
  return known
}

/** Before the first call of a resumed run: warns once if the server offers other tools than recorded. */
async function tellDifference(server: McpServer, context: RunContext): Promise<void> {
  const { name } = server
  const known = knownOf(context.services)
  const before = known?.get(name)
  if (known === undefined || before === undefined) return
  known.delete(name)
  let now: readonly McpTool[]
  try {
    now = await live(context.services).tools(name, context.services.signal)
  } catch {
    // the call that follows reports the error
    return
  }
  const words = difference(before, now)
  if (words === '') return
  emit(context, {
    type: 'warning',
    message: `the MCP server ${fullName(server)} offers different tools than when the run was interrupted: ${words}`,
    hint: 'Conversations that had already started keep their tools.',
  })
}

/** `added: a, b; removed: c; changed: d`. */
function difference(before: readonly McpTool[], now: readonly McpTool[]): string {
  const old = new Map(before.map((tool) => [tool.name, canonicalJson(tool)]))
  const current = new Map(now.map((tool) => [tool.name, canonicalJson(tool)]))
  const words = {
    added: [...current.keys()].filter((tool) => !old.has(tool)),
    removed: [...old.keys()].filter((tool) => !current.has(tool)),
    changed: [...current].flatMap(([tool, text]) => (old.has(tool) && old.get(tool) !== text ? [tool] : [])),
  }
  return Object.entries(words)
    .flatMap(([what, tools]) => (tools.length === 0 ? [] : [`${what}: ${shownNames(tools)}`]))
    .join('; ')
}

/** Names that are listed in one warning. */
const mostNames = 10

function shownNames(names: readonly string[]): string {
  const more = names.length - mostNames
  const shown = names.slice(0, mostNames).map(harmlessName)
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
