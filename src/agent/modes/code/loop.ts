import { modelText } from '../../../base/model-text.ts'
import type { JsonObject } from '../../../base/json.ts'
import { isOffered, type ModelEnd, type Tool, type ToolResult } from '../../../event/agent.ts'
import type { Message } from '../../../event/message.ts'
import { type JavaScriptBox, sharedBox } from '../../../script/javascript/box.ts'
import { toolFunctions, type ToolFunctions } from '../../../script/javascript/tool-functions.ts'
import { createRepeats } from '../../repeats.ts'
import type { PromptWork } from '../mode.ts'
import { type AnswerProgram, programIn } from './answer.ts'
import { type BuiltInHost, createProgramState, type ProgramState, takenNames } from './built-ins.ts'
import { errorText, feedbackText } from './feedback.ts'
import { instructionsOf } from './instructions.ts'
import { evalTypeOf, limitsOf } from './limits.ts'
import { interpreterName } from './names.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'
import { type Ran, runModelProgram } from './program.ts'

interface CodeOptions {
  readonly maxRounds: number
  /** The limit that the model is told. */
  readonly toldRounds: number
  /** The table `[code]`. */
  readonly options: JsonObject
  readonly added: readonly PluginFunction[]
}

/** What the programs of one prompt share. */
interface Programs extends CodeOptions {
  readonly work: PromptWork
  readonly tools: ToolFunctions<Tool>
  readonly box: JavaScriptBox
  readonly state: ProgramState
}

/**
 * The model answers with programs until one calls `done()`; each is run, and the model gets its result (R174 to R178).
 * Errors of a program are reported to the model.
 */
export async function converseInPrograms(work: PromptWork, options: CodeOptions): Promise<ModelEnd> {
  const { maxRounds, toldRounds, added } = options
  const offered = work.tools.filter((tool) => isOffered(tool) && tool.name !== interpreterName)
  const tools = toolFunctions(offered, takenNames(added))
  const box = sharedBox()
  const programs: Programs = { ...options, work, tools, box, state: createProgramState() }
  const repeats = createRepeats()
  await work.prepare({ instructions: instructionsOf({ tools, added, output: work.output, rounds: toldRounds }) })
  for (let round = 1; ; round += 1) {
    const { text, end, isLast } = await work.ask({ tools: false, output: false, acceptsEmpty: true })
    const found = programIn(text)
    if (found.kind === 'nothing') {
      work.timeline.addText('(No response from model)')
      return end === 'done' ? 'incomplete' : end
    }
    const told = await runAnswer(found, end, programs)
    // after an error done() does not count: the model may not have meant it
    if (told.isError === true) programs.state.isDone = false
    repeats.add([{ call: { type: 'tool_call', id: '', name: 'code.execute', input: text }, result: told }], work.warn)
    const held = limitReached({ isLast, round, maxRounds }, repeats.isEndless())
    // agents may still work for the model
    if (programs.state.isDone && held === undefined && (await work.hasMail())) programs.state.isDone = false
    const limit = programs.state.isDone ? 'done' : held
    if (limit === 'max_rounds') {
      // R206
      work.timeline.addNote('(Reached maximum iterations without done() being called)')
    }
    // the next prompt of the conversation should know what was output
    if (limit === undefined || work.timeline.all().some(({ type }) => type === 'text')) {
      work.addMessages([feedbackMessage(told)])
    }
    if (limit !== undefined) return limit
  }
}

interface Rounds {
  readonly isLast: boolean
  readonly round: number
  readonly maxRounds: number
}

function limitReached({ isLast, round, maxRounds }: Rounds, isEndless: boolean): ModelEnd | undefined {
  if (isLast) return 'max_turns'
  if (round >= maxRounds) return 'max_rounds'
  return isEndless ? 'repeated_calls' : undefined
}

function feedbackMessage({ text, files = [] }: ToolResult): Message {
  return { role: 'user', parts: [{ type: 'text', text }, ...files] }
}

/** Runs the program of an answer as an output `code.execute` (R168, R172) and returns the feedback for the model. */
async function runAnswer(
  found: Exclude<AnswerProgram, { readonly kind: 'nothing' }>,
  end: ModelEnd,
  { work, tools, added, box, state, options }: Programs,
): Promise<ToolResult> {
  const problem = problemOf(found, end)
  const code = found.kind === 'program' ? found.code : ''
  const logs: string[] = []
  let ran: Ran | undefined
  const result = await work.program({ function: 'code.execute', input: { code } }, async (program) => {
    if (problem !== undefined) return { text: problem, isError: true }
    const host: BuiltInHost = {
      state,
      tools: tools.functions.flatMap(({ name }) => tools.toolOf(name) ?? []),
      onOutput: (text) => text !== '' && work.say(text, { streams: options['stream'] !== false }),
      onLog: (text) => void logs.push(text),
    }
    const given = { code, tools, added, host, limits: limitsOf(options), ...evalTypeOf(options) }
    ran = await runModelProgram(given, { box, work: program, signal: work.signal })
    return ran.end.kind === 'error'
      ? { text: errorText(ran.end), isError: true }
      : { text: feedbackText(logs, ran.end) }
  })
  const { files, end: programEnd } = ran ?? { files: [], end: { kind: 'error', message: result.text } as const }
  return { text: feedbackText(logs, programEnd), files, ...(result.isError === true ? { isError: true } : {}) }
}

/** Why an answer is not run. */
function problemOf(found: AnswerProgram, end: ModelEnd): string | undefined {
  if (found.kind === 'unclear') return modelText`${found.problem}. Nothing was run.`
  if (end === 'done') return undefined
  return modelText`the program was cut off in the middle, so nothing was run. Write a shorter one: you can split the work into several programs, one after the other.`
}
