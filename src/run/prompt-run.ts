import { displayPath } from '../base/files.ts'
import { defined, type Json, type JsonObject } from '../base/json.ts'
import { emit, narrow, type RunContext } from '../event/context.ts'
import { placeOf } from '../prompt/document.ts'
import { type ChainServices, runChain } from '../stage/chain.ts'
import { type ChainState, variableInput } from '../stage/state.ts'
import { createDelivery, runAllTasks } from './tasks.ts'
import { fileInputs } from './files.ts'
import { targetHere } from './isolation/placed-target.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { maxRedo, type RoundOutcome, runRounds } from './execute.ts'
import { emptyInstruction, isWithoutWork, valueOf, withReducedRights } from './task.ts'
import { createResources, type ResourcesOf } from './resources.ts'
import { limitsOfTools } from '../load/limits.ts'
import type { PromptRun, Repetition, Strategy, TaskOutcome, TasksRunner } from './strategy.ts'
import type { Settings } from '../config/settings.ts'
import { isWriter } from '../tool/toolbox/rows.ts'
import { writesFiles } from './main-agent.ts'

export type PromptOutcome =
  | {
      readonly status: 'done'
      readonly outcomes: readonly TaskOutcome[]
      readonly agentResult: Json
      /** Of tasks that were repeated; `outcomes` are those of the last time. */
      readonly repeated?: Repetition
    }
  | { readonly status: 'skipped'; readonly reason: string; readonly hint: string }
  /** At least one task waits, and all others have ended; `error` is the first suspension. */
  | { readonly status: 'suspended'; readonly outcomes: readonly TaskOutcome[]; readonly error: unknown }

/**
 * Runs a prompt file: `pre` chain, tasks in order with limited concurrency, `post` chain, and again from the front
 * matter if a `post` agent requested another round. Failed tasks are outcomes if the file allows them.
 * With `isolation = "worktree"` the workspace gets all changes or none.
 * @throws BatonError if a chain or (without `allow_run_on_task_fail`) a task fails
 */
export async function runPrompt(run: PromptRun, around: RunContext): Promise<PromptOutcome> {
  // a dry run changes nothing
  if (run.target.settings.isolation !== 'worktree' || around.scope.dry !== undefined) return runHere(run, around)
  const { runPromptIsolated } = await import('./isolation/isolated.ts')
  return runPromptIsolated(run.target, (inside) => runHere(run, inside), around)
}

/** The same in the workspace of the context. */
function runHere(given: PromptRun, around: RunContext): Promise<PromptOutcome> {
  const run = { ...given, target: targetHere(given.target, around.scope.folders) }
  const context = narrow(around, limitsOfTools(run.target.settings))
  const resourcesOf = createResources(context)
  const { strategy } = run.target
  const { repeat } = run.strategies.find(({ key }) => key === strategy?.row.key) ?? {}
  let started: ReturnType<NonNullable<Strategy['repeat']>> | undefined
  async function round(redoCount: number, at: RunContext): Promise<RoundOutcome<PromptOutcome>> {
    if (repeat === undefined) return runRound(run, { redoCount, resourcesOf }, at)
    started ??= repeat(run)
    const work = await (await started)(at)
    return runRound(run, { redoCount, resourcesOf, work }, at)
  }
  return runRounds(round, {
    context,
    cure: 'A post agent keeps returning coder_redo; let it check coder_redo_count.',
  })
}

interface RoundWork {
  readonly redoCount: number
  readonly resourcesOf: ResourcesOf
  /** Repeats the tasks; default: once. */
  readonly work?: TasksRunner
}

async function runRound(
  run: PromptRun,
  { redoCount, resourcesOf, work }: RoundWork,
  around: RunContext,
): Promise<RoundOutcome<PromptOutcome>> {
  const { target } = run
  const { spec } = target
  const services: ChainServices = {
    findAgent: target.findAgent,
    checkParams: target.settingsFor,
    placeOf: async (config) =>
      spec.agents.includes(config) ? placeOf(spec.document, ['sub_agents', config.index, 'name'], 'value') : undefined,
  }
  // unreadable files end the run before agents of the chain are paid for
  await resourcesOf(target.settings)
  const call = { agents: spec.agents, promptDir: spec.promptDir, redoCount }
  const start: ChainState = { params: spec.params, prompts: [spec.document.instruction] }
  const { state } = await runChain(
    { ...call, stage: 'pre', state: start, extra: variableInput(target) },
    services,
    around,
  )
  if (isWithoutWork(state, target)) return skipped('no instruction', spec)

  const settings = target.settingsFor(state.params)
  if (redoCount === 0) warnOfUnoffered(settings, around)
  const before = { params: spec.params, budget: target.settings.budget }
  const context = withReducedRights(around, { before, after: { params: state.params, budget: settings.budget } })
  const tasks = { run, state, redoCount, services, settings, resourcesOf }
  // a post agent may request another round, which replaces the answers, and so does a further iteration
  const hasPost = spec.agents.some(({ enabled, stages }) => enabled && stages.includes('post'))
  const delivery = createDelivery(run.onOutcome, { held: hasPost || work !== undefined })
  try {
    const worked = await (work ?? runAllTasks)(tasks, { delivery, context })
    if (worked.status === 'nothing') return skipped('no working files', spec)
    const { outcomes, suspension, files, repeated } = worked
    if (suspension !== undefined) {
      delivery.release()
      return { outcome: { status: 'suspended', outcomes, error: suspension.error }, redo: false }
    }
    const done = { status: 'done', outcomes, ...defined({ repeated }) } as const
    // later steps would see the files without the changes
    if (context.scope.dry === 'changes') {
      delivery.release()
      return { outcome: { ...done, agentResult: null }, redo: false }
    }
    const post = await runChain(
      {
        ...call,
        stage: 'post',
        state,
        extra: {
          ...variableInput(target),
          coder_responses: outcomes.map(responseOf),
          ...fileInputs(files),
          ...repeated?.postInput,
        },
      },
      services,
      context,
    )
    if (!post.redo || redoCount >= maxRedo) delivery.release()
    return { outcome: { ...done, agentResult: post.agentResult ?? null }, redo: post.redo }
  } catch (error) {
    // deliver the answers despite a later failure, because they are paid for
    delivery.release()
    throw error
  }
}

/** Why a prompt file does nothing, with a hint for its author. */
export function skipOf(
  why: 'no instruction' | 'no working files',
  { file, source, layers, workspace }: PromptTarget['spec'],
): { readonly reason: string; readonly hint: string } {
  const given = layers.above.findLast(({ values }) => values['working_globs'] !== undefined)
  if (why === 'no working files' && given !== undefined) {
    const globs = [given.values['working_globs']].flat(2).map(String).join(', ')
    const hint = 'Globs of -f start in the current folder, and their files must be inside the workspace.'
    return { reason: `no file matches the command line: ${globs}`, hint }
  }
  const reason = why === 'no instruction' ? emptyInstruction : 'working_globs matches no file'
  return { reason, hint: source === 'file' ? `Edit ${displayPath(workspace, file)}.` : `Say more in ${file}.` }
}

function skipped(...given: Parameters<typeof skipOf>): RoundOutcome<PromptOutcome> {
  return { outcome: { status: 'skipped', ...skipOf(...given) }, redo: false }
}

/** A task as `post` agents see it. */
function responseOf(outcome: TaskOutcome): JsonObject {
  const { index, label, agentResult } = outcome
  const base = { index, label, agent_result: agentResult }
  switch (outcome.status) {
    case 'done':
      return { ...base, content: outcome.content, content_extruded: outcome.content, ...valueOf(outcome) }
    case 'skipped':
      return { ...base, skipped: outcome.reason }
    case 'failed':
    case 'suspended':
      return { ...base, error: outcome.error.message }
  }
}

/** Warns about tools that a file names but no model gets, because they change files. */
function warnOfUnoffered(settings: Pick<Settings, 'tools' | 'write_mode'>, context: RunContext): void {
  const { tools = [] } = settings
  const named = tools.filter(isWriter)
  if (named.length === 0 || writesFiles(settings, context.scope.rights)) return
  const message = `${named.join(' and ')} ${named.length === 1 ? 'is' : 'are'} not offered to the model, because the file may not change files`
  emit(context, { type: 'warning', message, hint: 'Set write_mode = true, or write_mode = "ask".' })
}
