import { messageOf, stopsRun } from '../../../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import type { Tool } from '../../../event/agent.ts'
import type { FilePart } from '../../../event/message.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'
import type { JavaScriptBox } from '../../../script/javascript/box.ts'
import type {
  BoxAnswer,
  BoxFunction,
  ProgramEnd,
  ProgramHost,
  ProgramLimits,
} from '../../../script/javascript/program.ts'
import type { ToolFunctions } from '../../../script/javascript/tool-functions.ts'
import type { ProgramWork } from '../../program-work.ts'
import { type BuiltInHost, builtIns } from './built-ins.ts'
import { resultOf } from './results.ts'

/** A program that a model wrote, and what it may do. */
export interface ModelProgram {
  readonly code: string
  readonly input?: Json
  readonly evalType?: 'auto' | 'global' | 'module'
  readonly tools: ToolFunctions<Tool>
  readonly limits: ProgramLimits
  readonly host: BuiltInHost
  /** Functions that plug-ins add. */
  readonly added?: readonly PluginFunction[]
}

/** How a program ended, and the files that its calls gave. */
export interface Ran {
  readonly end: ProgramEnd
  readonly files: readonly FilePart[]
}

/** What is recorded of a program that has ended. Its calls are made again by a resumed run, which has their answers. */
interface Recorded {
  readonly end: ProgramEnd
  readonly calls: readonly RecordedCall[]
}

interface RecordedCall {
  readonly name: string
  readonly args: readonly Json[]
}

/**
 * Runs a program in the box. What it asks for is recorded call by call, and the whole of it when it has ended: a program
 * that was interrupted runs again from its first line, with its calls answered from the record; one that has ended is not
 * run again, only its calls are made once more, for what the tools and the timeline know by them.
 * @throws what ends the run
 */
export async function runModelProgram(
  program: ModelProgram,
  { box, work, signal }: { readonly box: JavaScriptBox; readonly work: ProgramWork; readonly signal: AbortSignal },
): Promise<Ran> {
  const { code, input, evalType, limits } = program
  const files: FilePart[] = []
  const functions = functionsOf(program, { work, onFile: (file) => void files.push(file) })
  const calls: RecordedCall[] = []
  let isLive = false
  const host: ProgramHost = {
    functions: functions.map(({ name, id, waits }) => ({ name, waits, ...(id === undefined ? {} : { id }) })),
    call({ name, args }) {
      calls.push({ name, args })
      return callOf(functions, name, args)
    },
  }
  const asked: JsonObject = { code, ...(input === undefined ? {} : { input }) }
  const { end, calls: made } = await work.once<Recorded>(asked, async () => {
    isLive = true
    const given = { code, ...(input === undefined ? {} : { input }), ...(evalType === undefined ? {} : { evalType }) }
    const ended = await box.run(given, host, { limits, seed: work.seed(), now: work.begun(), signal })
    return { end: ended, calls }
  })
  if (!isLive) for (const { name, args } of made) await callOf(functions, name, args)
  return { end, files }
}

interface HostFunction extends BoxFunction {
  /** What it throws the program is told, unless it ends the run. */
  readonly run: (args: readonly Json[]) => Promise<BoxAnswer>
}

function callOf(functions: readonly HostFunction[], name: string, args: readonly Json[]): Promise<BoxAnswer> {
  const found = functions.find((one) => one.name === name)
  return found === undefined ? Promise.resolve({ error: `there is no function ${name}` }) : found.run(args)
}

function functionsOf(
  { tools, host, added = [] }: ModelProgram,
  { work, onFile }: { readonly work: ProgramWork; readonly onFile: (file: FilePart) => void },
): readonly HostFunction[] {
  return [
    ...builtIns.map(({ name, waits, call }): HostFunction => ({
      name,
      waits,
      run: async (args) => answerOf(() => call(args, host)),
    })),
    ...added.map((one): HostFunction => ({
      name: one.name,
      waits: true,
      run: async (args) => answerOf(() => work.observe(one.name, args, async () => (await one.run(...args)) ?? null)),
    })),
    ...tools.functions.map((one): HostFunction => ({
      ...one,
      run: async (args) => callToolOf(tools.toolOf(one.name)?.name ?? one.name, args, { work, onFile }),
    })),
  ]
}

async function answerOf(work: () => Json | Promise<Json>): Promise<BoxAnswer> {
  try {
    return { value: await work() }
  } catch (error) {
    if (stopsRun(error)) throw error
    return { error: messageOf(error) }
  }
}

/** A tool takes one argument, its input. Its failure is one of the program, which may catch it (R204). */
async function callToolOf(
  name: string,
  [input = {}]: readonly Json[],
  { work, onFile }: { readonly work: ProgramWork; readonly onFile: (file: FilePart) => void },
): Promise<BoxAnswer> {
  if (!isJsonObject(input)) return { error: `Tool "${name}" failed: its input must be an object` }
  const { text, files = [], isError = false, now } = await work.call(name, input)
  for (const file of files) onFile(file)
  return isError ? { error: `Tool "${name}" failed: ${text}`, now } : { value: resultOf(name, text), now }
}
