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
import { toolAnswer, type ToolFunctions } from '../../../script/javascript/tool-functions.ts'
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
  const functions = functionsOf(program, work)
  const byName = new Map(functions.map((one) => [one.name, one]))
  /** One list for each call: which of several calls ends first decides nothing. */
  const files: (readonly FilePart[])[] = []
  const calls: RecordedCall[] = []
  let isLive = false

  async function callOf(name: string, args: readonly Json[]): Promise<BoxAnswer> {
    const index = files.push([]) - 1
    const { files: given = [], ...answer } = (await byName.get(name)?.run(args)) ?? noFunction(name)
    files[index] = given
    return answer
  }

  const host: ProgramHost = {
    functions: functions.map(({ name, id, waits }) => ({ name, waits, ...(id === undefined ? {} : { id }) })),
    call({ name, args }) {
      if (byName.get(name)?.acts === true) calls.push({ name, args })
      return callOf(name, args)
    },
  }
  const asked: JsonObject = { code, ...(input === undefined ? {} : { input }) }
  const { end, calls: made } = await work.once<Recorded>(asked, async () => {
    isLive = true
    const given = { ...asked, code, ...(evalType === undefined ? {} : { evalType }) }
    const ran = box.run(given, host, { limits, seed: work.seed(), now: work.begun(), signal })
    return { end: await ended(ran, signal), calls }
  })
  // one after the other: a later call may take back what an earlier one has told the toolbox
  if (!isLive) for (const { name, args } of made) await callOf(name, args)
  return { end, files: files.flat() }
}

/** How a program ended; that the engine has failed is data as well, so that what it did until then is recorded. */
async function ended(run: Promise<ProgramEnd>, signal: AbortSignal): Promise<ProgramEnd> {
  try {
    return await run
  } catch (error) {
    signal.throwIfAborted()
    if (stopsRun(error)) throw error
    return { kind: 'error', message: messageOf(error) }
  }
}

type Answered = BoxAnswer & { readonly files?: readonly FilePart[] }

interface HostFunction extends BoxFunction {
  /** Whether a resumed run calls it again. */
  readonly acts: boolean
  /** What it throws the program is told, unless it ends the run. */
  readonly run: (args: readonly Json[]) => Promise<Answered>
}

function noFunction(name: string): Answered {
  return { error: `there is no function ${name}` }
}

function functionsOf({ tools, host, added = [] }: ModelProgram, work: ProgramWork): readonly HostFunction[] {
  return [
    ...builtIns.map(({ name, waits, acts, call }): HostFunction => ({
      name,
      waits,
      acts,
      run: async (args) => answerOf(() => call(args, host)),
    })),
    ...added.map((one): HostFunction => ({
      name: one.name,
      waits: true,
      acts: true,
      run: async (args) => answerOf(() => work.observe(one.name, args, async () => (await one.run(...args)) ?? null)),
    })),
    ...tools.functions.map((one): HostFunction => ({
      ...one,
      acts: true,
      run: async (args) => callToolOf(tools.toolOf(one.name)?.name ?? one.name, args, work),
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
async function callToolOf(name: string, [input = {}]: readonly Json[], work: ProgramWork): Promise<Answered> {
  if (!isJsonObject(input)) return toolAnswer(name, { text: 'its input must be an object', isError: true })
  const { now, files = [], ...result } = await work.call(name, input)
  return { ...toolAnswer(name, result, resultOf), now, files }
}
