import { BatonError } from '../base/error.ts'
import type { Settings } from '../config/settings.ts'
import type { AgentResult, ModelSettings } from '../event/agent.ts'
import { below, type RunContext } from '../event/context.ts'
import type { Message } from '../event/message.ts'
import { changesInstruction } from '../tool/changes/answer-changes.ts'
import { addSpent, nothingSpent, responseOf, type Spent, type TaskAnswer } from './answer.ts'
import { applyAnswer, shownFiles } from './apply-answer.ts'
import { checkSize, type FileRef, type FileSet, loadFiles } from './files.ts'
import { type GivenAnswer, keepAnswer } from './given-answer.ts'
import { buildMessages, type LoadedFile, showMessages } from './messages.ts'
import type { OutputSchema } from './output-schema.ts'
import type { TaskPlan } from './plan.ts'
import { repairAnswer } from './repair.ts'

export interface Question {
  readonly plan: TaskPlan
  readonly settings: Settings
  readonly instruction: string
  readonly files: FileSet
  /** What a caller gives a file that is run as an agent; empty without one. */
  readonly inputText: string
  /** What `[output]` says the answer must be. */
  readonly output: OutputSchema | undefined
}

/** A conversation of the main agent: each further message is one more model call. */
export interface Conversation {
  readonly ask: (messages: readonly Message[]) => Promise<AgentResult>
  readonly spent: () => Spent
  /** The last answer. */
  readonly last: () => GivenAnswer
}

/**
 * The built-in main agent (DESIGN 4): builds the messages, asks the model, and does with the answer what the file wants:
 * checks it against `[output]`, or carries out its file changes.
 * @throws BatonError of the model call, LIMIT for files that are too large, CHANGES_FAILED
 */
export async function askMain(question: Question, context: RunContext): Promise<TaskAnswer> {
  const { settings, output } = question
  const files = readFiles(question, below(context, 'ask'))
  const messages = buildMessages({
    ...files,
    structure: question.files.structure,
    input: question.inputText,
    instruction: question.instruction,
    rules: rulesOf(question),
    isRepeated: question.plan.count > 1,
  })
  if (context.dry === 'req') {
    return { text: showMessages(messages), response: {}, fileChanges: [], spent: nothingSpent }
  }

  const conversation = openConversation(question, context)
  const result = await conversation.ask(messages)
  return keepAnswer(conversation.last, () => {
    const shown = shownFiles([...files.knowledge, ...files.context, ...files.working], settings)
    return useAnswer(result, { settings, output, shown, conversation }, context)
  })
}

interface Use {
  readonly settings: Settings
  readonly output: OutputSchema | undefined
  readonly shown: ReadonlyMap<string, string>
  readonly conversation: Conversation
}

async function useAnswer(
  result: AgentResult,
  { settings, output, shown, conversation }: Use,
  context: RunContext,
): Promise<TaskAnswer> {
  if (context.dry === undefined) {
    if (output !== undefined) return repairAnswer(result, { output, conversation }, context)
    if (settings.write_mode) return applyAnswer(result, { settings, shown, conversation }, context)
  }
  const spent = conversation.spent()
  return { text: result.text, response: responseOf(result.text, spent), fileChanges: [], spent }
}

function rulesOf({ settings, output }: Question): readonly string[] {
  // what `[output]` wants is said by the wire format where a server does not enforce it
  if (output !== undefined) return []
  return settings.write_mode ? [changesInstruction(settings.file_content_mode)] : []
}

interface Material {
  readonly knowledge: readonly LoadedFile[]
  readonly context: readonly LoadedFile[]
  readonly working: readonly LoadedFile[]
}

/** A file that is worked on is not shown a second time as context. */
function readFiles({ plan, settings, files }: Question, at: RunContext): Material {
  const working = pathsOf(plan.working)
  const contextRefs = files.context.filter(({ path }) => !working.includes(path))
  checkSize([...files.knowledge, ...contextRefs, ...plan.working], settings)
  const load = (kind: keyof Material, paths: readonly string[]): readonly LoadedFile[] =>
    loadFiles(paths, settings, below(at, kind))
  const shown = load('working', working)
  if (working.length > 0 && shown.length === 0) {
    throw new BatonError('FILE_FAILED', `nothing is left to work on: ${working.join(', ')} cannot be shown`, {
      hint: 'Another task may have removed it; narrow working_globs.',
    })
  }
  return {
    knowledge: load('knowledge', pathsOf(files.knowledge)),
    context: load('context', pathsOf(contextRefs)),
    working: shown,
  }
}

function pathsOf(refs: readonly FileRef[]): readonly string[] {
  return refs.map(({ path }) => path)
}

function openConversation({ settings, output }: Question, context: RunContext): Conversation {
  const agent = {
    kind: 'llm',
    name: 'main',
    settings: modelSettings(settings),
    fallbackModels: settings.fallback_models,
    ...(output === undefined ? {} : { output: { name: 'answer', schema: output.schema } }),
  } as const
  let calls = 0
  let spent = nothingSpent
  let text = ''
  return {
    spent: () => spent,
    last: () => ({ text, spent }),
    async ask(messages) {
      calls += 1
      const at = below(context, calls === 1 ? 'ask' : `ask-${calls}`)
      const result = await at.agents.run({ agent, messages }, at)
      spent = addSpent(spent, result)
      text = result.text
      return result
    },
  }
}

function modelSettings(settings: Settings): ModelSettings {
  const { model, temperature, top_p, max_tokens, reasoning_effort, reasoning_summary, seed } = settings
  const given = { model, temperature, top_p, max_tokens, reasoning_effort, reasoning_summary, seed }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}
