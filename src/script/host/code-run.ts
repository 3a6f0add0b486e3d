import { defined } from '../../base/json.ts'
import { type RunContext, withScope } from '../../event/context.ts'
import type { Tool } from '../../event/agent.ts'
import { isServerTool, passesFilters } from '../../tool/tool-filter.ts'
import { chosenTools } from '../../tool/toolbox/choose-tools.ts'
import { toolNames } from '../../tool/toolbox/rows.ts'
import type { Toolbox } from '../../tool/toolbox/kind.ts'
import { createToolbox, openTools } from '../../tool/toolbox/toolbox.ts'
import type { LuaValue } from '../engine.ts'
import { type ProgramError, type ProgramHost, defaultLimits } from '../javascript/program.ts'
import { createRecordedCalls, type RecordedCalls } from '../javascript/recorded-calls.ts'
import { sharedBox } from '../javascript/box.ts'
import { toolAnswer, toolFunctions } from '../javascript/tool-functions.ts'
import { luaToJson } from '../values.ts'
import { type ActCall, textList } from './call.ts'
import { withProgress } from './call-progress.ts'

/**
 * `aip.code.run`: runs a program with the tools that the call names. Its seed and start time are observed and each tool
 * call is recorded below the call, so that an interrupted program does the same when it runs again.
 * @throws BatonError SCRIPT_FAILED with the message and line of the program's own error
 */
export async function runCode(call: ActCall): Promise<LuaValue> {
  const options = call.options(1)
  const program = { code: call.text(0, 'the program'), input: luaToJson(options.get('input'), 'the option input') }
  const limits = { ...defaultLimits, ...defined({ timeMs: options.milliseconds('timeout_ms') }) }
  const { context, name, at } = call
  const calls = createRecordedCalls(withScope(context, { at }), (what) => ({ name: `${name}.${what}`, args: [] }))
  const tools = await namedTools(call)
  try {
    const given = { limits, seed: calls.seed(), now: calls.begun(), signal: context.services.signal }
    const end = await sharedBox().run(program, hostOf(tools, calls, context), given)
    if (end.kind === 'value') return end.value
    throw call.error(shownError(end))
  } finally {
    await calls.ended()
    for (const tool of tools) await tool.close?.(context)
  }
}

/** The tools as functions. Each call has its own place below the place of the script's call. */
function hostOf(tools: readonly Tool[], calls: RecordedCalls, script: RunContext): ProgramHost {
  const { functions, toolOf } = toolFunctions(tools)
  return {
    functions,
    async call({ name, args: [given = {}] }) {
      const tool = toolOf(name)
      if (tool === undefined) return { error: `there is no function ${name}` }
      return calls.call(tool.name, async ({ context }) => {
        const called = { name: tool.name, server: tool.server, at: context.scope.at }
        const result = await withProgress(called, script, (onProgress) =>
          tool.run(JSON.stringify(given), context, onProgress),
        )
        return toolAnswer(tool.name, result)
      })
    },
  }
}

function shownError({ message, line, column }: ProgramError): string {
  if (line === undefined) return message
  return `${message} (line ${line}${column === undefined ? '' : `, column ${column}`} of the program)`
}

/**
 * The tools that the option `tools` names. @throws BatonError for an unknown tool, or one that the agent may not use
 */
async function namedTools(call: ActCall): Promise<readonly Tool[]> {
  const { context } = call
  const { folders, openedChanges: allow = [] } = context.scope
  const given = call.options(1).get('tools')
  const names = given === undefined ? [] : textList(given, call.name, 'the option tools')
  const chosen = chosenTools({ tools: names }, context)
  for (const name of names.filter((one) => !one.includes('*') && !isServerTool(one))) {
    if (!toolNames.some((known) => passesFilters(known, [{ tools: [name] }]))) {
      throw call.error(`there is no tool "${name}"; the tools are: ${toolNames.join(', ')}`)
    }
    if (!chosen.some((tool) => passesFilters(tool, [{ tools: [name] }]))) {
      throw call.error(`the tool "${name}" may not be used here: the agent does not have the rights for it`)
    }
  }
  const toolbox = createToolbox({ baseDir: folders.workspace, limits: { allow } })
  return [...(await openTools(chosen, toolbox)), ...(await serverTools(names, toolbox, call))]
}

/** The tools of MCP servers. Their code is loaded only if MCP servers are configured. */
async function serverTools(names: readonly string[], toolbox: Toolbox, call: ActCall): Promise<readonly Tool[]> {
  const { context, at } = call
  const servers = context.services.mcp?.servers.map(({ name }) => name) ?? []
  const { serverNamed } = await import('../../mcp/names.ts')
  const unknown = names.find(
    (name) => isServerTool(name) && !name.includes('*') && serverNamed(name, servers) === undefined,
  )
  if (unknown !== undefined) throw call.error(`there is no MCP server with a tool "${unknown}"`)
  if (servers.length === 0) return []
  const { mcpTools } = await import('../../mcp/tools.ts')
  return mcpTools({ tools: names }, toolbox, { at, context })
}
