import type { JsonObject } from '../../../base/json.ts'
import type { Tool, ToolResult } from '../../../event/agent.ts'
import type { Program } from '../../../script/javascript/program.ts'
import { toolFunctions } from '../../../script/javascript/tool-functions.ts'
import type { ProgramWork } from '../../program-work.ts'
import { createProgramState, reservedNames } from './built-ins.ts'
import { evalTypeOf, feedbackText, limitsOf, runModelProgram } from './program.ts'
import { sharedBox } from '../../../script/javascript/box.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'

interface Interpreting {
  readonly tools: readonly Tool[]
  readonly added: readonly PluginFunction[]
  readonly options: JsonObject
  readonly work: ProgramWork
  readonly signal: AbortSignal
}

/** Runs one program with its own store. */
export async function interpret(
  asked: Pick<Program, 'code' | 'input'>,
  { tools, added, options, work, signal }: Interpreting,
): Promise<ToolResult> {
  const outputs: string[] = []
  const logs: string[] = []
  const host = {
    state: createProgramState(),
    tools,
    onOutput: (text: string) => void outputs.push(text),
    onLog: (text: string) => void logs.push(text),
  }
  const functions = toolFunctions(tools, reservedNames(added))
  const program = { ...asked, tools: functions, added, host, limits: limitsOf(options), ...evalTypeOf(options) }
  const { end, files } = await runModelProgram(program, { box: sharedBox(), work, signal })
  const text = [...outputs, feedbackText(logs, end)].join('\n\n')
  return { text, ...(files.length === 0 ? {} : { files }), ...(end.kind === 'error' ? { isError: true } : {}) }
}
