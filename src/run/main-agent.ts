import { join } from 'node:path'
import { BatonError, isBatonError } from '../base/error.ts'
import { differsOnlyInOwnTexts } from '../base/model-text.ts'
import { finishInTurns } from '../base/concurrency.ts'
import { defined } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import type { AgentSession, ModelAgent, ModelResult, ToolUse } from '../event/agent.ts'
import { below, narrow, type RunContext } from '../event/context.ts'
import type { Rights } from '../event/permission.ts'
import { type Message, textOf } from '../event/message.ts'
import { addSpent, nothingSpent, type Spent } from '../event/meter.ts'
import { part, type Segment } from '../event/place.ts'
import type { PromptChoice } from '../event/prompt.ts'
import { requestedModel, resolveAlias } from '../model/alias.ts'
import { changesInstruction } from '../tool/changes/instruction.ts'
import { type ChatShell, shellFrom, type ShellSession } from '../tool/shell/session.ts'
import { isWriter, rowOf, type ToolName } from '../tool/toolbox/rows.ts'
import { WrittenCall } from '../agent/modes/written-call.ts'
import { type FailedAnswer, keepAnswer, responseOf, type TaskAnswer, unusableAnswer } from './answer.ts'
import { applyAnswer, warnOfUnusedCode } from './apply-answer.ts'
import { allowanceOf, checkSize, type FileRef, type FileSet, readSteps, shownFile } from './files.ts'
import { refuseLimit } from '../agent/limit-error.ts'
import { type TeamToolOptions, giveTools, withTeam } from '../team/tools.ts'
import { chosenTools } from '../tool/toolbox/choose-tools.ts'
import { buildMessages, type Material, type PromptParts, showFiles, showMessages } from './messages.ts'
import type { OutputSchema } from '../load/output-schema.ts'
import type { TaskPlan } from './plan.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { showResources } from './resources.ts'
import { repairAnswer } from './structured-answer.ts'
import { limitsOfWriting } from '../load/limits.ts'

export interface Question {
  readonly plan: TaskPlan
  readonly settings: Settings
  readonly instruction: string
  /** The message of the user to an agent definition, which `instruction` then describes. */
  readonly asked?: string | undefined
  readonly files: FileSet
  /** The message of the caller, for a file that is run as an agent; else empty. */
  readonly inputText: string
  /** The schema of `[output]`, which the answer must match. */
  readonly output: OutputSchema | undefined
  /** Standard input, which is also context. */
  readonly stdin: string | undefined
  /** Whether the chain changed `model_aliases`, which then take precedence over the aliases of the run. */
  readonly usesOwnAliases: boolean
  /** Earlier messages of the chat; default: none. */
  readonly said?: readonly Message[] | undefined
  /** The shell of the chat; default: the conversation has its own. */
  readonly shell?: ChatShell | undefined
  /** The roles of its team, if `[collab]` lets it lead one. */
  readonly roles: PromptTarget['roles']
}

/** A conversation of the main agent. */
export interface Conversation {
  /** Sends further messages: one more model call. */
  readonly ask: (messages: readonly Message[]) => Promise<ModelResult>
  /** Whether the answer to further messages is recorded, in which case the reason for them was reported before. */
  readonly wasAnswered: () => boolean
  readonly spent: () => Spent
  /** All tool calls so far, in order. */
  readonly calls: () => readonly ToolUse[]
  readonly last: () => FailedAnswer
}

/**
 * The built-in main agent: builds the messages, calls the model, and processes the answer as the file says: checks it
 * against `[output]`, or applies its file changes.
 * @throws BatonError of the model call, LIMIT for files that are too large, CHANGES_FAILED
 */
export async function askMain(question: Question, around: RunContext): Promise<TaskAnswer> {
  const { settings, output } = question
  const context = await withTeam(settings, question.roles, around)
  const names = toolsOf(settings, context)
  const leads = context.services.seat?.inbox !== undefined
  const { messages, shown } = await promptOf(question, names, context)
  if (context.scope.dry === 'req') {
    return { text: showMessages(messages), response: {}, fileChanges: [], spent: nothingSpent }
  }

  const { allow = [], max_bytes: maxBytes } = settings.changes
  const shell = shellOf(question, context)
  const given = await giveTools(
    names,
    { named: settings, baseDir: settings.base_dir, shown, limits: { allow, maxBytes }, ...defined({ shell }) },
    context,
  )
  const at = narrow(below(context, part('ask')), limitsOfWriting(settings))
  const session = await context.services.agents.open(
    {
      ...mainAgent(question, given),
      ...(question.said === undefined ? {} : { said: question.said, isChat: true }),
      // the user of a chat waits for its answer
      ...(settings.batch === true && question.said === undefined ? { isBatched: true } : {}),
    },
    at,
  )
  try {
    const conversation = conversationOf(session, context)
    const result = await firstAnswer(conversation, messages)
    return await keepAnswer(conversation.last, () =>
      useAnswer(
        result,
        {
          settings,
          output,
          box: given.box,
          changesByTools: leads || editsFiles(names),
          // in a chat, code is often only shown
          warnsOfCode:
            question.said === undefined && !leads && editsFiles(names) && writesFiles(settings, context.scope.rights),
          conversation,
        },
        context,
      ),
    )
  } finally {
    await session.close()
  }
}

/**
 * The shell of the chat, with what it had when the message was sent: a resume and a replay start with the same. Only the
 * one conversation that the next message continues has it.
 */
function shellOf({ shell, plan, settings }: Question, { scope, services }: RunContext): ShellSession | undefined {
  const { effects } = services
  const at = [...scope.at, part('shell')]
  const kept = plan.count === 1 && !scope.at.some(({ kind }) => othersAnswer.has(kind)) ? shell : undefined
  const { base_dir: baseDir } = settings
  const now = kept?.start(baseDir)
  const isRecorded = effects.answers(at) && effects.lacks?.(at) !== true
  if (now === undefined && !isRecorded) return kept?.open(baseDir, undefined)
  const start = effects.observe(at, { name: 'shell', args: [] }, () => now ?? { directory: baseDir, jobs: [] })
  return kept?.open(baseDir, start) ?? shellFrom(baseDir, start)
}

/** Below these, one of several conversations answers. */
const othersAnswer: ReadonlySet<Segment['kind']> = new Set(['iteration', 'member', 'workflow_step', 'workflow_item'])

/** The first answer. The text of a model that writes its calls as text is kept; a resumed run does not use it again. */
async function firstAnswer(conversation: Conversation, messages: readonly Message[]): Promise<ModelResult> {
  try {
    return await conversation.ask(messages)
  } catch (error) {
    if (!isBatonError(error) || !(error.cause instanceof WrittenCall)) throw error
    const { text } = error.cause
    return keepAnswer(
      () => ({ text, spent: conversation.spent() }),
      () => {
        throw unusableAnswer(error)
      },
    )
  }
}

/** The messages of the request, and which files they show. Does not keep the file contents, which may be large. */
async function promptOf(question: Question, tools: readonly ToolName[], context: RunContext): Promise<Prompt> {
  const keepsShown = tools.length > 0 || appliesChanges(question, context)
  const { shown, ...material } = await readFiles(question, keepsShown, context)
  await warnBefore(question, [...shown.keys()], context)
  const built = buildMessages({
    ...material,
    structure: question.files.structure,
    stdin: question.stdin,
    input: question.inputText,
    instruction: question.instruction,
    asked: question.asked,
    rules: rulesOf(question, tools, context),
    isRepeated: question.plan.count > 1,
  })
  return { messages: withoutRepeated(built, question.said), shown }
}

/** Before the model is paid: warns of shown files that cannot be changed. All tasks have the same context files. */
async function warnBefore(
  { settings, plan }: Pick<Question, 'settings' | 'plan'>,
  shown: readonly string[],
  context: RunContext,
): Promise<void> {
  const { scope, services } = context
  const isReplayed = services.effects.lacks !== undefined
  if (isReplayed || scope.dry !== undefined || !writesFiles(settings, scope.rights)) return
  const files = plan.index === 0 ? shown : pathsOf(plan.working).map((path) => join(settings.base_dir, path))
  if (files.length > 0) (await import('./check-writable.ts')).warnOfUnwritable(files, scope.folders.workspace, context)
}

/** Removes material that an earlier message contains word for word. */
function withoutRepeated(messages: readonly Message[], said: readonly Message[] = []): readonly Message[] {
  if (said.length === 0) return messages
  const texts = new Set(said.flatMap((message) => (message.role === 'user' ? [textOf(message)] : [])))
  const wasSaid = (text: string): boolean =>
    texts.has(text) || [...texts].some((other) => differsOnlyInOwnTexts(text, other))
  return messages.filter(
    (message, index) => message.role === 'system' || index === messages.length - 1 || !wasSaid(textOf(message)),
  )
}

/** Whether answers are searched for file changes. */
function appliesChanges({ settings, output }: Pick<Question, 'settings' | 'output'>, context: RunContext): boolean {
  const { dry } = context.scope
  return (dry === undefined || dry === 'changes') && output === undefined && writesFiles(settings, context.scope.rights)
}

interface Prompt {
  readonly messages: readonly Message[]
  /** What file changes are compared with; empty if neither changes nor tools are possible. */
  readonly shown: ReadonlyMap<string, string>
}

interface Use extends Pick<Question, 'settings' | 'output'>, Pick<TeamToolOptions, 'box'> {
  readonly conversation: Conversation
  /** Whether tools make the file changes, so that the answer is not searched for any. */
  readonly changesByTools: boolean
  /** The model itself is to make changes by tools. */
  readonly warnsOfCode: boolean
}

/** Whether a call may have changed files other than by the tools for it: by a program, or by another agent. */
function mayChange({ name }: ToolUse): boolean {
  const touches = rowOf(name)?.touches
  return touches !== 'reads' && touches !== 'writes' && name !== 'todo'
}

/** The tools that the model of a task is given. */
function toolsOf(settings: Settings, context: RunContext): readonly ToolName[] {
  return settings.tools === undefined ? [] : chosenTools(settings, context)
}

function editsFiles(names: readonly ToolName[]): boolean {
  return names.some(isWriter)
}

async function useAnswer(
  result: ModelResult,
  { settings, output, box, changesByTools, warnsOfCode, conversation }: Use,
  context: RunContext,
): Promise<TaskAnswer> {
  const { dry } = context.scope
  const isUsed = dry === undefined || dry === 'changes'
  if (isUsed && output !== undefined) return repairAnswer(result, { output, conversation }, context)
  if (!changesByTools && appliesChanges({ settings, output }, context)) {
    return applyAnswer(result, { settings, shown: box.seen.whole(), conversation }, context)
  }
  const spent = conversation.spent()
  if (isUsed && warnsOfCode && box.work.changes().length === 0 && !conversation.calls().some(mayChange)) {
    warnOfUnusedCode(result.text, settings, context)
  }
  // the answer of a dry run is the diff of its changes
  const text = box.work.diff() || result.text
  return { text, response: responseOf({ ...result, text }, spent), fileChanges: box.work.changes(), spent }
}

/** Whether the file changes of an answer are applied: the file and all its callers allow it. */
export function writesFiles({ write_mode: writes }: Pick<Settings, 'write_mode'>, { write }: Rights): boolean {
  return writes !== false && write
}

function rulesOf({ settings, output }: Question, tools: readonly ToolName[], context: RunContext): readonly string[] {
  // the wire format adds the schema of `[output]` to the messages if the server does not enforce it
  if (output !== undefined) return []
  const leads = context.services.seat?.inbox !== undefined
  if (leads || !writesFiles(settings, context.scope.rights) || editsFiles(tools)) return []
  return [changesInstruction(settings.file_content_mode)]
}

/** Working files are not shown again as context. */
async function readFiles(
  { plan, settings, files, stdin }: Question,
  keepsShown: boolean,
  context: RunContext,
): Promise<Material & Pick<PromptParts, 'attached' | 'resources'> & Pick<Prompt, 'shown'>> {
  const worked = new Set(plan.working.map(({ path }) => path))
  const contextRefs = files.context.filter(({ path }) => !worked.has(path))
  const piped = stdin === undefined ? [] : [{ path: 'stdin', size: Buffer.byteLength(stdin) }]
  const { resources = [] } = files
  checkSize([...files.knowledge, ...contextRefs, ...resources, ...plan.working, ...piped], settings)
  const allowance = allowanceOf(settings)
  for (const { path, size } of [...piped, ...resources]) allowance.take(path, size)
  const at = below(context, part('ask'))
  const shown = new Map<string, string>()

  async function show(kind: keyof Material, refs: readonly FileRef[]): Promise<string> {
    const showing = showFiles(kind, refs)
    const steps = readSteps(pathsOf(refs), { settings, context: below(at, part(kind)), allowance }, (file) => {
      if (keepsShown) shown.set(...shownFile(file, settings))
      showing.add(file)
    })
    await finishInTurns(steps, at.services.signal)
    return showing.text()
  }

  const working = await show('working', plan.working)
  if (plan.working.length > 0 && working === '') {
    const paths = pathsOf(plan.working).join(', ')
    throw new BatonError('FILE_FAILED', `nothing is left to work on: ${paths} cannot be shown`, {
      hint: 'Another task may have removed it; narrow working_globs.',
    })
  }
  return {
    knowledge: await show('knowledge', files.knowledge),
    context: await show('context', contextRefs),
    ...showResources(resources),
    working,
    shown,
  }
}

function pathsOf(refs: readonly FileRef[]): readonly string[] {
  return refs.map(({ path }) => path)
}

/** The built-in main agent as the settings describe it. */
export function mainAgent(
  { settings, output, usesOwnAliases }: Pick<Question, 'settings' | 'output' | 'usesOwnAliases'>,
  { tools, inbox }: Pick<TeamToolOptions, 'tools' | 'inbox'>,
): ModelAgent {
  const { model, model_aliases: aliases, fallback_models: fallbacks } = settings
  const { temperature, top_p, max_tokens, reasoning_effort, reasoning_summary, seed } = settings
  const { max_turns: maxTurns, max_rounds: maxRounds, mode, mode_options: modeOptions } = settings
  const named = usesOwnAliases && model !== undefined ? requestedModel(model, aliases) : undefined
  return {
    kind: 'llm',
    name: 'main',
    settings: {
      ...defined({ model, temperature, top_p, max_tokens, reasoning_effort, reasoning_summary, seed }),
      ...defined({ model: named?.model, reasoning_effort: named?.reasoningEffort }),
    },
    fallbackModels: usesOwnAliases ? fallbacks.map((name) => resolveAlias(name, aliases)) : fallbacks,
    ...(output === undefined ? {} : { output: { name: 'answer', schema: output.schema } }),
    ...(tools.length === 0 ? {} : { tools }),
    ...defined({ maxTurns, maxRounds, mode, modeOptions, inbox }),
  }
}

function conversationOf(session: AgentSession, context: RunContext): Conversation {
  let spent = nothingSpent
  let text = ''
  let calls: readonly ToolUse[] = []
  let choice: PromptChoice = {}
  return {
    wasAnswered: () => session.wasAnswered(),
    spent: () => spent,
    calls: () => calls,
    last: () => ({ text, spent }),
    async ask(messages) {
      const result = refuseLimit(await session.answer(await session.send(messages, choice)), 'main', context)
      choice = { isFeedback: true }
      spent = addSpent(spent, result.spent)
      text = result.text
      calls = [...calls, ...result.calls]
      return result
    },
  }
}
