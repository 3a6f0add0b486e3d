import { modelText } from '../../../base/model-text.ts'
import type { JsonObject } from '../../../base/json.ts'
import { isOffered, type ModelEnd, type Tool, type ToolResult } from '../../../event/agent.ts'
import type { Message } from '../../../event/message.ts'
import { type JavaScriptBox, sharedBox } from '../../../script/javascript/box.ts'
import { toolFunctions, type ToolFunctions } from '../../../script/javascript/tool-functions.ts'
import { createRepeats } from '../../repeats.ts'
import type { PromptWork } from '../mode.ts'
import { type BuiltInHost, createProgramState, type ProgramState, takenNames } from './built-ins.ts'
import { errorText, feedbackText } from './feedback.ts'
import { instructionsOf } from './instructions.ts'
import { evalTypeOf, limitsOf } from './limits.ts'
import { interpreterName } from './names.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'
import { type Ran, runModelProgram } from './program.ts'
import { type Fence, fenceOf } from '../../../script/javascript/fence.ts'

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

/** The program in an answer; `nothing` if it has none; `unclear`, with the reason, if it is ambiguous. */
export type AnswerProgram =
  | { readonly kind: 'program'; readonly code: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unclear'; readonly problem: string }

const languages: ReadonlySet<string> = new Set(['', 'js', 'javascript', 'mjs', 'jsx', 'ts', 'typescript', 'mts', 'tsx'])

/**
 * Finds the program in a model's answer: the whole answer, or the only block between Markdown fences, whatever text is
 * around it. Blocks in other languages do not count.
 */
export function programIn(answer: string): AnswerProgram {
  const lines = answer.replaceAll('\r\n', '\n').split('\n')
  const blocks: string[] = []
  let others = 0
  let opened: (Fence & { readonly line: number }) | undefined
  for (const [index, line] of lines.entries()) {
    const fence = fenceOf(line)
    if (fence === undefined) continue
    if (opened === undefined) opened = { ...fence, line: index }
    else if (closes(fence, opened)) {
      if (languages.has(languageOf(opened))) blocks.push(lines.slice(opened.line + 1, index).join('\n'))
      else others += 1
      opened = undefined
    }
  }
  // an unclosed block extends to the end, as in Markdown
  if (opened !== undefined && languages.has(languageOf(opened))) blocks.push(lines.slice(opened.line + 1).join('\n'))
  else if (opened !== undefined) others += 1

  const [only = '', ...more] = blocks
  if (more.length > 0) {
    return {
      kind: 'unclear',
      problem: `the answer has ${blocks.length} fenced blocks: it must be one program, in one block`,
    }
  }
  if (blocks.length === 0 && others > 0) {
    return { kind: 'unclear', problem: 'the answer has a fenced block that is not JavaScript: it must be one program' }
  }
  const code = blocks.length === 0 ? answer : only
  return code.trim() === '' ? { kind: 'nothing' } : { kind: 'program', code }
}

/** The first word after the marks, in lower case. */
function languageOf({ info }: Fence): string {
  return info.split(/[\s{,]/, 1)[0]?.toLowerCase() ?? ''
}

function closes(fence: Fence, opened: Fence): boolean {
  return languageOf(fence) === '' && fence.marks.startsWith(opened.marks)
}
