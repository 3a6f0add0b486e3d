import { basename, extname } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'
import { newUuid, uuidText } from '../../base/uuid.ts'
import { type Delegation, openDelegation } from '../../team/delegate/delegation.ts'
import { openStore, teamFiles, type TeamStore } from '../../team/delegate/store.ts'
import { itemLine, openItems, type WorkItem } from '../../team/delegate/items.ts'
import { type Progress, progressOf } from '../../team/delegate/tools.ts'
import { listForm } from '../../team/delegate/list-form.ts'
import { conflictText } from '../../team/delegate/merge.ts'
import type { Delegate, DelegateWorker } from '../../settings/strategies/delegate.ts'
import { below, emit, type RunContext, withServices } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import { keepAnswer, type TaskAnswer } from '../../run/answer.ts'
import { ask } from '../../run/ask.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { warnOfSkippedChanges } from '../../run/apply-answer.ts'
import type { TaskCall } from '../../run/strategy.ts'
import { displayPath } from '../../base/files.ts'
import { joinParts } from '../../config/agent-definitions.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import { parsePrompt } from '../../prompt/document.ts'

/** What is known of a team before it starts. */
type Team = { readonly id: string; readonly list: string }

/** The state of a team when its leader is done. */
type Ending = Progress & { readonly open: readonly string[] }

/** For aborting what the leader and the workers wait for. */
const waits = { defaultMs: 30_000, minMs: 10_000, maxMs: 300_000 }

/**
 * Lets a team work on a list of items instead of calling one model: the leader creates the items and
 * starts workers, which claim and complete them. The last answer of the leader is the answer.
 * @throws BatonError AGENT_FAILED, with the answer kept, if items are open that the leader has not left by force
 */
export async function answerByTeam(call: TaskCall, context: RunContext): Promise<TaskAnswer> {
  const { settings, round } = call
  const { delegate } = settings
  const answer =
    delegate === undefined || context.scope.dry === 'req'
      ? await ask(call, round.target, context)
      : await runTeam(delegate, call, context)
  warnOfSkippedChanges(answer, settings, context)
  return answer
}

async function runTeam(delegate: Delegate, call: TaskCall, context: RunContext): Promise<TaskAnswer> {
  const { settings } = call
  const { target } = call.round
  const workers = await workersOf(delegate, target, context)
  const at = below(context, part('team'))
  const files = teamFiles(delegate.list, context)
  const { effects } = context.services
  const asked = { name: 'team', args: { list: delegate.list } }
  const team = effects.observe<Team>(at.scope.at, asked, () => ({ id: uuidText(newUuid(4)), list: files.shown }))
  const name = delegate.team ?? basename(target.spec.file, extname(target.spec.file))
  // delivered as soon as there is a receiver
  let tell = (text: string): void => emit(context, { type: 'warning', message: text })
  let onItem = (): void => {}
  const store = openStore({
    team: team.id,
    name,
    file: files.state,
    list: files.list,
    form: listForm(delegate.format),
    watch: {
      onItem(item) {
        emit(context, itemEvent(item))
        onItem()
      },
      onConflicts: (conflicts) =>
        tell(modelText`the list ${team.list} was edited: ${conflicts.map(conflictText).join('; ')}`),
      onUnreadable: () => tell(modelText`the list ${team.list} cannot be read: it is left unchanged until it can be`),
    },
    pause: () => new Promise((resolve) => setTimeout(resolve, 50)),
  })
  emit(context, { type: 'delegate.entered', team_name: name, task_list_path: team.list })
  const delegation = openDelegation({
    store,
    workers,
    maxWorkers: delegate.maxWorkers,
    waits,
    note: { team: name, list: team.list },
    notifies: delegate.notifies,
    leaseMs: delegate.leaseMs,
    stallAfterMs: delegate.stallAfterMs,
    baseDir: settings.base_dir,
    context,
  })
  onItem = delegation.onItem
  const warn = tell
  tell = (text) => {
    warn(text)
    delegation.tellLeader(text)
  }
  try {
    const answer = await ask(call, target, delegation.watchLeader(withServices(context, { seat: delegation.seat })))
    return await keepAnswer(
      () => answer,
      async () => {
        await finish(target, { store, delegation, name, list: team.list }, at)
        return answer
      },
    )
  } finally {
    delegation.close()
  }
}

interface Finishing {
  readonly store: TeamStore
  readonly delegation: Delegation
  readonly name: string
  readonly list: string
}

/** Reports how the team ended. A resumed run checks the list again: the user may have completed open items. */
async function finish(target: PromptTarget, { store, delegation, name, list }: Finishing, context: RunContext) {
  const left = delegation.left()
  if (left !== undefined) {
    const open = left.total_tasks - left.completed_tasks
    const message = `the leader of team "${name}" has left ${open} of ${left.total_tasks} items open (${list})`
    if (open > 0) emit(context, { type: 'warning', message })
    return
  }
  const { effects } = context.services
  const at = below(context, part('ends')).scope.at
  const look = (): Promise<Ending> =>
    effects.observeAsync(at, { name: 'team.ends', args: null }, () =>
      store.act({ name: 'end', args: {} }, (state) => {
        const result = { ...progressOf(state), open: openItems(state.items).map(itemLine) }
        return { state, result }
      }),
    )
  let { open, ...progress } = await look()
  if (open.length > 0) {
    effects.undo(at)
    if (effects.again(at)) ({ open, ...progress } = await look())
  }
  emit(context, { type: 'delegate.exited', ...progress })
  if (open.length === 0) return
  throw new BatonError(
    'AGENT_FAILED',
    `team "${name}" has ended, and ${open.length} of ${progress.total_tasks} items are open: ${open.join('; ')}`,
    {
      place: await target.placeOf(['delegate'], 'key'),
      hint: `Complete them in ${list} and resume the run, or let the team start over with --from task/0.`,
    },
  )
}

function itemEvent({ id, subject, status, owner }: WorkItem) {
  return { type: 'delegate.item', id, subject, status, ...(owner === undefined ? {} : { owner }) } as const
}

/**
 * The agents that may be workers of a team, by the names that its leader uses.
 * @throws BatonError CONFIG_INVALID, at its place, for a script or a program, which cannot work on a list
 */
async function workersOf(
  { workers }: Delegate,
  target: PromptTarget,
  context: RunContext,
): Promise<ReadonlyMap<string, AgentDefinition>> {
  const found = new Map<string, AgentDefinition>()
  const defined = (await context.services.definitions?.()) ?? new Map<string, AgentDefinition>()
  for (const worker of workers) {
    const known = defined.get(worker.agent)
    const definition = known ?? (await ofFile(worker, target))
    if (definition?.agent.kind !== 'prompt') throw await notForTeams(worker, target)
    found.set(worker.name, definition)
  }
  return found
}

async function ofFile({ name, agent }: DelegateWorker, target: PromptTarget): Promise<AgentDefinition | undefined> {
  const file = await target.findAgent({ name: agent })
  if (file.kind !== 'prompt') return undefined
  const shown = displayPath(target.workspace, file.file)
  const { meta, instruction } = await parsePrompt(shown, file.text)
  const source = { file: file.file, shown, text: file.text, form: 'prompt', at: [] } as const
  const values = { ...meta.data, instructions: instruction }
  return joinParts(name, [{ from: 'workspace', isTrusted: false, values, source }], file.file)
}

async function notForTeams({ name, index }: DelegateWorker, target: PromptTarget): Promise<BatonError> {
  const place = index === undefined ? undefined : await target.placeOf(['delegate', 'workers', index], 'value')
  const message = `the worker "${name}" cannot work on a list: it is a script or a program`
  return new BatonError('CONFIG_INVALID', message, {
    ...(place === undefined ? {} : { place }),
    hint: 'Name a prompt file, or an agent of [agents] that runs on a model.',
  })
}
