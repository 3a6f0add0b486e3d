import { modelText } from '../../../base/model-text.ts'
import { messageOf, stopsRun } from '../../../base/error.ts'
import { isJsonObject, type Json, type JsonObject, parseSentJson } from '../../../base/json.ts'
import type { Tool } from '../../../event/agent.ts'
import type { FilePart } from '../../../event/message.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'
import type { JavaScriptBox } from '../../../script/javascript/box.ts'
import {
  type BoxAnswer,
  type BoxFunction,
  type Program,
  type ProgramEnd,
  type ProgramHost,
  type ProgramLimits,
  defaultLimits,
} from '../../../script/javascript/program.ts'
import { toolAnswer, type ToolFunctions } from '../../../script/javascript/tool-functions.ts'
import type { ProgramWork } from '../../program-work.ts'
import { type BuiltInHost, builtIns } from './built-ins.ts'
import { toolNames } from '../../../tool/toolbox/rows.ts'
import { cutText } from '../../../base/cut-text.ts'
import { parseDuration } from '../../../base/duration.ts'

/** A program written by a model, with everything it can use. */
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

/** How a program ended, and the files that its calls returned. */
export interface ProgramRun {
  readonly end: ProgramEnd
  readonly files: readonly FilePart[]
}

/** The record of a program that has ended. A resumed run repeats its calls, whose results are recorded. */
interface Recorded {
  readonly end: ProgramEnd
  readonly calls: readonly RecordedCall[]
}

interface RecordedCall {
  readonly name: string
  readonly args: readonly Json[]
}

/**
 * Runs a program in the box. Its calls are recorded one by one, and the program as a whole when it has ended. An
 * interrupted program runs again from its first line, with its calls answered from the record. A program that has ended
 * is not run again; only its calls are repeated, to restore the state of the tools and the timeline.
 * @throws errors that end the run
 */
export async function runModelProgram(
  program: ModelProgram,
  { box, work, signal }: { readonly box: JavaScriptBox; readonly work: ProgramWork; readonly signal: AbortSignal },
): Promise<ProgramRun> {
  const { code, input, evalType, limits } = program
  const functions = functionsOf(program, work)
  const byName = new Map(functions.map((one) => [one.name, one]))
  /** One list per call, so that the order does not depend on which call ends first. */
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
  // in order: a later call may change what an earlier one did to the toolbox
  if (!isLive) for (const { name, args } of made) await callOf(name, args)
  return { end, files: files.flat() }
}

/**
 * How a program ended. A failure of the engine counts as an end, so that what the program did until then is recorded.
 */
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
  /** Errors that it throws go to the program, unless they end the run. */
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

/** A tool takes one argument, its input. Its failure is thrown in the program, which may catch it. */
async function callToolOf(name: string, [input = {}]: readonly Json[], work: ProgramWork): Promise<Answered> {
  if (!isJsonObject(input)) return toolAnswer(name, { text: modelText`its input must be an object`, isError: true })
  const { now, files = [], ...result } = await work.call(name, input)
  return { ...toolAnswer(name, result, resultOf), now, files }
}

/** Whether the tool's result is always text, even if it looks like JSON. */
export function isTextTool(name: string): boolean {
  return (toolNames as readonly string[]).includes(name)
}

/**
 * The result of a tool for a program: text from built-in tools, else the parsed value if the text is a JSON object or
 * list.
 */
function resultOf(name: string, text: string): Json {
  if (isTextTool(name) || !/^\s*[[{]/.test(text)) return text
  try {
    return parseSentJson(text)
  } catch {
    return text
  }
}

/** Characters of each part of the feedback to the model. */
const mostCharacters = 50_000

/** The feedback to the model about its program: the logs and the result. */
export function feedbackText(logs: readonly string[], end: ProgramEnd): string {
  const told = logs.length === 0 ? [] : [cutText(modelText`Logs:\n${logs.join('\n')}`, mostCharacters)]
  return [...told, endText(end)].join('\n\n')
}

/** `Execution error: …` with its position, or `Execution result: …` as JSON. */
function endText(end: ProgramEnd): string {
  if (end.kind === 'error') return modelText`Execution error: ${errorText(end)}`
  return cutText(modelText`Execution result: ${JSON.stringify(end.value)}`, mostCharacters)
}

export function errorText({ message, line, column }: Extract<ProgramEnd, { readonly kind: 'error' }>): string {
  const place =
    line === undefined ? '' : modelText` (line ${line}${column === undefined ? '' : modelText`, column ${column}`})`
  return `${cutText(message, mostCharacters)}${place}`
}

export function limitsOf({ timeout, memory_mb: memoryMb }: JsonObject): ProgramLimits {
  const timeMs = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  return {
    ...defaultLimits,
    ...(timeMs === undefined ? {} : { timeMs }),
    ...(typeof memoryMb === 'number' ? { memoryMb } : {}),
  }
}

/** How programs are parsed, if `[code]` sets it. */
export function evalTypeOf({ eval_type: evalType }: JsonObject): Pick<Program, 'evalType'> {
  return evalType === 'global' || evalType === 'module' ? { evalType } : {}
}
