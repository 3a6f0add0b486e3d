import type { Json, JsonObject } from '../base/json.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { ModelSettings } from '../event/agent.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import type { Settings } from '../config/settings.ts'
import { type ChainServices, runChain } from '../stage/chain.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import { checkSize, type FileSet, loadFiles } from './files.ts'
import { buildMessages, showMessages } from './messages.ts'
import type { TaskPlan } from './plan.ts'
import type { PromptTarget } from './prompt-target.ts'

/** How a task ended. Plain JSON: it is recorded as the task's boundary. */
export type TaskOutcome = {
  readonly index: number
  readonly label: string
  readonly agentResult: Json
} & (
  | { readonly status: 'done'; readonly content: string }
  | { readonly status: 'skipped'; readonly reason: string }
  | { readonly status: 'failed'; readonly error: ErrorInfo }
)

/** What all tasks of one round share. */
export interface Round {
  readonly target: PromptTarget
  readonly state: ChainState
  readonly redoCount: number
  readonly services: ChainServices
  /** Lists the files of settings; equal settings are listed once. */
  readonly filesOf: (settings: Settings) => FileSet
}

/** One task: `pre_task` chain, ask, `post_task` chain (DESIGN 2). Throws when any of them fails. */
export async function runTask(plan: TaskPlan, round: Round, context: RunContext): Promise<TaskOutcome> {
  const { index, label } = plan
  const call = { agents: round.target.spec.agents, promptDir: round.target.spec.promptDir, redoCount: round.redoCount }
  const task = { input: plan.input, task: { index, count: plan.count, label } }

  const before = await runChain(
    { ...call, stage: 'pre_task', state: round.state, extra: task },
    round.services,
    context,
  )
  if (instructionOf(before.state).trim() === '') {
    return { status: 'skipped', index, label, reason: emptyInstruction, agentResult: null }
  }

  const settings = round.target.settingsFor(before.state.params)
  const answer = await ask(
    plan,
    { settings, instruction: instructionOf(before.state), files: round.filesOf(settings) },
    context,
  )
  if (context.dry !== undefined) return { status: 'done', index, label, content: answer.text, agentResult: null }
  const extra = { ...task, ai_response: answer.response, file_changes: [] }
  const after = await runChain(
    { ...call, stage: 'post_task', state: before.state, content: answer.text, extra },
    round.services,
    context,
  )
  return { status: 'done', index, label, content: after.content ?? answer.text, agentResult: after.agentResult ?? null }
}

/** Why a run or task without an instruction does nothing (R255, TV31). */
export const emptyInstruction = 'the instruction is empty'

interface Question {
  readonly settings: Settings
  readonly instruction: string
  readonly files: FileSet
}

interface TaskAnswer {
  readonly text: string
  /** `ai_response` of `post_task` agents. */
  readonly response: JsonObject
}

async function ask(
  plan: TaskPlan,
  { settings, instruction, files }: Question,
  context: RunContext,
): Promise<TaskAnswer> {
  const workingPaths = plan.working.map(({ path }) => path)
  const working = new Set(workingPaths)
  const contextRefs = files.context.filter(({ path }) => !working.has(path))
  checkSize([...files.knowledge, ...contextRefs, ...plan.working], settings)
  const at = below(context, 'ask')
  const messages = buildMessages({
    knowledge: loadFiles(
      files.knowledge.map(({ path }) => path),
      settings,
      below(at, 'knowledge'),
    ),
    structure: files.structure,
    context: loadFiles(
      contextRefs.map(({ path }) => path),
      settings,
      below(at, 'context'),
    ),
    working: loadFiles(workingPaths, settings, below(at, 'working')),
    instruction,
  })
  if (context.dry === 'req') return { text: showMessages(messages), response: {} }
  const result = await context.agents.run(
    { agent: { kind: 'llm', name: 'main', settings: modelSettings(settings) }, messages },
    at,
  )
  if (result.stopReason === 'max_tokens') {
    emit(at, { type: 'warning', message: 'the answer was cut at its output limit', hint: 'Raise max_tokens.' })
  }
  const { input, output, cached, reasoning } = result.usage
  return {
    text: result.text,
    response: {
      content: result.text,
      usage: { prompt_tokens: input, completion_tokens: output, cached_tokens: cached, reasoning_tokens: reasoning },
    },
  }
}

function modelSettings(settings: Settings): ModelSettings {
  const { model, temperature, top_p, max_tokens, reasoning_effort, seed } = settings
  const given = { model, temperature, top_p, max_tokens, reasoning_effort, seed }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}
