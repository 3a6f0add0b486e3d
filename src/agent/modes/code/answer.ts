import { modelText } from '../../../base/model-text.ts'
import { isOffered, type ModelEnd } from '../../../event/agent.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'
import { sharedBox } from '../../../script/javascript/box.ts'
import { type Fence, fenceOf } from '../../../script/javascript/fence.ts'
import { toolFunctions } from '../../../script/javascript/tool-functions.ts'
import { isSearchTool } from '../../../tool/toolbox/rows.ts'
import type { ModeInput, OpenMode, ProgramStep, Reply, Step } from '../mode.ts'
import { type BuiltInHost, createProgramState, reservedNames } from './built-ins.ts'
import { errorText, evalTypeOf, feedbackText, limitsOf, type ProgramRun, runModelProgram } from './program.ts'
import { instructionsOf } from './instructions.ts'
import { interpreterName } from './names.ts'

/**
 * The model answers with programs until one calls `done()`; each is run, and the model gets its result.
 * Errors of a program are reported to the model.
 */
export function openCodeMode(given: ModeInput, added: readonly PluginFunction[]): OpenMode {
  const { options, output, rounds, say, signal } = given
  const offered = given.tools.filter(
    (tool) => isOffered(tool) && tool.name !== interpreterName && !isSearchTool(tool.name),
  )
  const tools = toolFunctions(offered, reservedNames(added))
  const box = sharedBox()
  const state = createProgramState()

  /** The program of an answer, which is an output `code.execute`. */
  function programOf(found: Exclude<AnswerProgram, { readonly kind: 'nothing' }>, end: ModelEnd): ProgramStep {
    const problem = problemOf(found, end)
    const code = found.kind === 'program' ? found.code : ''
    const logs: string[] = []
    let ran: ProgramRun | undefined
    return {
      kind: 'program',
      function: 'code.execute',
      input: { code },
      async run(work) {
        if (problem !== undefined) return { text: problem, isError: true }
        const host: BuiltInHost = {
          state,
          tools: tools.functions.flatMap(({ name }) => tools.toolOf(name) ?? []),
          onOutput: (text) => text !== '' && say(text, { streams: options['stream'] !== false }),
          onLog: (text) => void logs.push(text),
        }
        const program = { code, tools, added, host, limits: limitsOf(options), ...evalTypeOf(options) }
        ran = await runModelProgram(program, { box, work, signal })
        return ran.end.kind === 'error'
          ? { text: errorText(ran.end), isError: true }
          : { text: feedbackText(logs, ran.end), structured: ran.end.value }
      },
      give({ text, isError = false }) {
        const { files, end: programEnd } = ran ?? { files: [], end: { kind: 'error', message: text } as const }
        // after an error done() does not count: the model may not have meant it
        const isDone = state.isDone && !isError
        state.isDone = false
        return { told: { text: feedbackText(logs, programEnd), files, ...(isError ? { isError } : {}) }, isDone }
      },
    }
  }

  return {
    instructions: instructionsOf({ tools, added, output, rounds }),
    offer: { tools: false, output: false, acceptsEmpty: true },
    limitNote: () => '(Reached maximum iterations without done() being called)',
    take({ text, end }: Reply): Step {
      const found = programIn(text)
      if (found.kind !== 'nothing') return programOf(found, end)
      return { kind: 'nothing', end: end === 'done' ? 'incomplete' : end, note: '(No response from model)' }
    },
  }
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
