import { isJsonObject, type JsonObject } from '../../base/json.ts'
import type { McpServer, McpTool } from '../../event/mcp.ts'
import { nameTools } from '../../mcp/names.ts'
import {
  callTool,
  findServer,
  listPlace,
  recordedName,
  refuseUse,
  listTools as toolsOf,
} from '../../mcp/recorded-calls.ts'
import type { LuaValue } from '../engine.ts'
import { luaToJson } from '../values.ts'
import type { ActCall } from './call.ts'
import { withProgress } from './call-progress.ts'

/**
 * `aip.mcp.call`: one effect, which is repeated after a crash only if the server is trusted and marks the tool as
 * read-only.
 * @throws BatonError MCP_FAILED, UNTRUSTED for a pack that may not use the server
 */
export async function callServer(call: ActCall): Promise<LuaValue> {
  const { at, name: caller, context } = call
  const server = findServer(call.text(0, 'the server'), context.services)
  const tool = call.text(1, 'the tool')
  const asked = { server, tool, input: inputOf(call), readOnly: await onlyReads(server, tool, call) }
  const name = nameTools(server.name, [{ name: tool, input: {} }])[0]?.name ?? tool
  const {
    content,
    structured,
    isError = false,
  } = await withProgress({ name, server: server.name, at }, context, (onProgress) =>
    callTool(asked, { at, caller, context, onProgress }),
  )
  const texts = content.flatMap((one) => (one.type === 'text' ? [one.text] : []))
  return { text: texts.join('\n'), content, structured, is_error: isError }
}

/** Whether a trusted server marks the tool as read-only; other servers are not asked. */
async function onlyReads(server: McpServer, tool: string, { at, context }: ActCall): Promise<boolean> {
  if (!server.isTrusted) return false
  const { effects, mcp, signal } = context.services
  const asked = { name: 'mcp.reads', args: { ...recordedName(server), tool } }
  return effects.observeAsync(listPlace(at, server.name), asked, async () => {
    const tools = (await mcp?.tools(server.name, signal)) ?? []
    return tools.some(({ name, readOnly }) => name === tool && readOnly === true)
  })
}

/** In Lua, an empty table is also an empty list. */
function inputOf(call: ActCall): JsonObject {
  const [, , given] = call.args
  const input = luaToJson(given, 'the arguments')
  if (input === null || (Array.isArray(input) && input.length === 0)) return {}
  if (isJsonObject(input)) return input
  throw call.error('the arguments must be a table with keys')
}

/** `aip.mcp.list`: queries several servers at the same time. @throws as `callServer` does */
export async function listTools(call: ActCall): Promise<LuaValue> {
  const { at, name: caller, context } = call
  const { mcp } = context.services
  const servers = call.has(0) ? [findServer(call.text(0, 'the server'), context.services)] : (mcp?.servers ?? [])
  const lists = await Promise.all(
    servers.map(async (server) => {
      refuseUse(server, { caller, context })
      return rowsOf(server, await toolsOf(server, listPlace(at, server.name), context.services))
    }),
  )
  return lists.flat()
}

function rowsOf({ name: server }: McpServer, tools: readonly McpTool[]): readonly LuaValue[] {
  return nameTools(server, tools).map(({ name, tool: { name: tool, description, input, output, readOnly } }) => {
    return { server, name, tool, description, input, output, read_only: readOnly }
  })
}
