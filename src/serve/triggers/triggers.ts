import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/error.ts'
import { defined, type Json } from '../../base/json.ts'
import type { Trigger } from '../../config/triggers.ts'
import type { Owner } from '../../journal/owner.ts'
import { readRunState } from '../../journal/run-state.ts'
import { Refusal } from '../refusal.ts'
import type { ActiveRuns } from '../http/active-runs.ts'
import type { RunActions } from '../http/change-runs.ts'
import type { ServedWorkspace } from '../http/served-workspace.ts'
import { followFiles } from './file-changes.ts'
import { closedHooks, createHooks, type Hooks } from './hooks.ts'
import { type LastStart, openTriggerMemory, type TriggerEvent, type TriggerMemory } from './memory.ts'
import { createStarts, type Fired, type Starts } from './starts.ts'
import { dealtWith, followTimes } from './times.ts'

/** A trigger with its state, for people and programs. */
interface TriggerView {
  readonly name: string
  readonly file: string
  readonly kind: 'cron' | 'files' | 'webhook'
  /** The expression with its time zone, the globs, or the path of the hook. */
  readonly when: string
  readonly overlap: Trigger['overlap']
  /**
   * `off`: it is not enabled. `invalid`: it cannot start anything, see `problem`. `elsewhere`: another process follows the
   * triggers of this workspace.
   */
  readonly state: 'ready' | 'running' | 'off' | 'invalid' | 'elsewhere'
  readonly problem: string | null
  /** ISO 8601, UTC; null: not known ahead, or never. */
  readonly next: string | null
  readonly last:
    | (Omit<LastStart, 'at' | 'run' | 'message'> & {
        /** ISO 8601, UTC. */
        readonly at: string
        readonly run: string | null
        readonly message: string | null
      })
    | null
  /** Its runs in progress. */
  readonly running: readonly string[]
  /** How many more starts wait. */
  readonly waiting: number
  /** Where it is written: `config.toml:12`. */
  readonly origin: string
}

/** The triggers of a served workspace. */
export interface Triggers {
  readonly list: () => readonly TriggerView[]
  /** Starts one by hand. @throws Refusal 404 if there is none of this name, 409 if it cannot start anything */
  readonly startByHand: (name: string) => Promise<Fired>
  /** Resolves when nothing of this trigger runs or waits. */
  readonly over: (name: string) => Promise<void>
  readonly hooks: Hooks
  /** Stops following. Runs go on. */
  readonly close: () => void
}

export interface TriggersOptions {
  readonly served: ServedWorkspace
  readonly held: ActiveRuns
  readonly actions: RunActions
  readonly clock: Clock
  /** False: nothing is followed, triggers are only started by hand. */
  readonly follows: boolean
  /** What a person should know, in one line. */
  readonly onProblem: (message: string) => void
}

/** Milliseconds between looks whether the process that follows the triggers has ended. */
const lookMs = 2_000

/** Opens the triggers of a workspace, and follows them if no other process does. */
export async function openTriggers(options: TriggersOptions): Promise<Triggers> {
  const { served, held, actions, clock, follows, onProblem } = options
  const { triggers, workspace } = served
  if (triggers.length === 0) return noTriggers
  const stop = new AbortController()
  const { signal } = stop
  const memory = openTriggerMemory(workspace, served)
  const starts = createStarts({
    begin: (trigger, event) => actions.start(asked(trigger, event)),
    isQueued: held.isQueued,
    isRunning: async (run) => held.isHeld(run) || (await readRunState(join(served.runs, run)))?.isRunning === true,
    memory,
    clock,
    signal,
  })
  const elsewhere = closedHooks(new Refusal(503, 'another server follows the triggers of this workspace'))
  const usable = triggers.filter(({ enabled, problems }) => enabled && problems.length === 0)
  let other: Owner | undefined
  let hooks = elsewhere

  /** Becomes the one that follows them, if no other process does. */
  async function tryToFollow(): Promise<void> {
    other = await memory.claim()
    if (other !== undefined) return
    hooks = createHooks({
      triggers,
      env: served.triggerSecrets,
      memory,
      fire: starts.fire,
      now: () => clock.now(),
    })
    await follow({ usable, triggers, starts, memory, served, clock, signal, onProblem })
  }

  if (follows) await tryToFollow()
  if (other !== undefined) {
    onProblem(`${ownerText(other)} follows the triggers of this workspace; this one does when that has ended`)
    void takeOver()
  }

  /** Tries until it follows them. Never rejects. */
  async function takeOver(): Promise<void> {
    let told = ''
    while (other !== undefined) {
      await clock.sleep(lookMs, signal).catch(() => undefined)
      if (signal.aborted) return
      try {
        await tryToFollow()
      } catch (error) {
        const message = `the triggers of this workspace cannot be followed: ${messageOf(error)}`
        if (message !== told) onProblem(message)
        told = message
      }
    }
  }

  function named(name: string): Trigger {
    const trigger = triggers.find((one) => one.name === name)
    if (trigger !== undefined) return trigger
    const known = triggers.map((one) => one.name).join(', ')
    throw new Refusal(404, `this workspace has no trigger "${name}"`, { hint: `Its triggers: ${known}.` })
  }

  return {
    list: () => triggers.map((trigger) => viewOf(trigger, { memory, starts, other, now: clock.now() })),
    async startByHand(name) {
      const trigger = named(name)
      const [problem] = trigger.problems.filter(({ code }) => code !== 'KEY_MISSING')
      if (problem !== undefined) throw new Refusal(409, problem.message, { hint: problem.hint })
      return starts.fire(trigger, { cause: 'hand', about: '' })
    },
    over: (name) => starts.over(name),
    hooks: { admit: (name, head) => hooks.admit(name, head), answer: (request) => hooks.answer(request) },
    close() {
      stop.abort()
      memory.release()
    },
  }
}

interface Following extends Omit<TriggersOptions, 'held' | 'actions' | 'follows'> {
  readonly triggers: readonly Trigger[]
  /** Those of them that may start something. */
  readonly usable: readonly Trigger[]
  readonly starts: Starts
  readonly memory: TriggerMemory
  readonly signal: AbortSignal
}

/** Resolves when changes of files are noticed. */
async function follow(following: Following): Promise<void> {
  const { triggers, usable, starts, memory, served, clock, signal, onProblem } = following
  // a trigger that is switched on again has missed nothing
  for (const { name, source } of triggers)
    if (source.kind === 'cron' && usable.every((one) => one.name !== name)) memory.remember(name, { schedule: '' })
  starts.takeLeft(usable)
  void followTimes({
    triggers: usable,
    memory,
    clock,
    signal,
    fire: (trigger, event) => void starts.fire(trigger, event),
  })
  await Promise.all(
    usable.map(async (trigger) => {
      const { name, source } = trigger
      if (source.kind !== 'files') return
      const told = new Set<string>()
      await new Promise<void>((resolve) => {
        const following = followFiles({
          trigger,
          globs: source.globs,
          workspace: served.workspace,
          around: served,
          fire: (event) => starts.fire(trigger, event),
          over: () => starts.over(name),
          onReady: resolve,
          onProblem(error) {
            const message = `trigger "${name}" may miss changes: ${messageOf(error)}`
            if (!told.has(message)) onProblem(message)
            told.add(message)
          },
          signal,
        })
        void following.finally(resolve)
      })
    }),
  )
}

/** What a trigger starts: what a webhook has sent is an input, and nothing else. */
function asked({ target, input, vars, model, maxCost, onAsk }: Trigger, { payload }: TriggerEvent): Asked {
  const given: Json | undefined = payload === undefined ? input : payload
  const inputs = given === undefined ? undefined : [given]
  // JSON, by another name of its type
  return { file: target, on_ask: onAsk, ...defined({ vars, model, max_cost: maxCost, inputs }) } as Asked
}

type Asked = Parameters<RunActions['start']>[0]

interface Known {
  readonly memory: TriggerMemory
  readonly starts: Starts
  readonly other: Owner | undefined
  readonly now: number
}

function viewOf(trigger: Trigger, { memory, starts, other, now }: Known): TriggerView {
  const { name, file, source, overlap, enabled, origin, problems } = trigger
  const { last } = memory.of(name)
  const running = starts.running(name)
  const [problem] = problems
  const state = ((): TriggerView['state'] => {
    if (problem !== undefined) return 'invalid'
    if (!enabled) return 'off'
    if (running.length > 0) return 'running'
    return other === undefined ? 'ready' : 'elsewhere'
  })()
  const next =
    source.kind === 'cron' && (state === 'ready' || state === 'running')
      ? source.schedule?.after(Math.max(now, dealtWith(source, name, memory, now)))
      : undefined
  return {
    name,
    file,
    kind: source.kind,
    when: whenText(trigger),
    overlap,
    state,
    problem: problem === undefined ? null : `${problem.message}. ${problem.hint}`,
    next: next === undefined ? null : new Date(next).toISOString(),
    last:
      last === undefined
        ? null
        : { ...last, at: new Date(last.at).toISOString(), run: last.run ?? null, message: last.message ?? null },
    running,
    waiting: starts.waiting(name),
    origin,
  }
}

function whenText({ name, source }: Trigger): string {
  switch (source.kind) {
    case 'cron':
      return source.timeZone === undefined ? source.cron : `${source.cron} (${source.timeZone})`
    case 'files':
      return source.globs.join(', ')
    case 'webhook':
      return `POST /hooks/${name}`
  }
}

function ownerText({ pid, host }: Owner): string {
  return `process ${pid} on ${host}`
}

const noTriggers: Triggers = {
  list: () => [],
  startByHand: async (name) => {
    throw new Refusal(404, `this workspace has no trigger "${name}"`, {
      hint: 'Add a [[trigger]] to your config file: docs/triggers.md.',
    })
  },
  over: async () => undefined,
  hooks: closedHooks(new Refusal(404, 'no such hook')),
  close: () => undefined,
}
