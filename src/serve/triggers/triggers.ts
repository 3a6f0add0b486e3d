import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/error.ts'
import { defined, type Json } from '../../base/json.ts'
import type { Trigger, TriggersFound } from '../../config/triggers.ts'
import { readRunSummary } from '../../history/run-list.ts'
import type { Owner } from '../../journal/owner.ts'
import { readRunState } from '../../journal/run-state.ts'
import type { ShownStatus } from '../../journal/summary.ts'
import { issueText } from '../../settings/issue.ts'
import { problemText, Refusal } from '../refusal.ts'
import type { ActiveRuns } from '../http/active-runs.ts'
import type { RunActions } from '../http/change-runs.ts'
import { whyNotResumed } from '../http/read-runs.ts'
import type { ServedWorkspace } from '../http/served-workspace.ts'
import { asShown } from '../http/shown-run.ts'
import { followConfig } from './config-changes.ts'
import { followFiles } from './file-changes.ts'
import { closedHooks, createHooks, type Hooks } from './hooks.ts'
import { type LastStart, openTriggerMemory, type TriggerEvent, type TriggerMemory } from './memory.ts'
import { createStarts, type Fired, mayStart, type RunProgress, type Starts } from './starts.ts'
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
   * `waiting`: a run of it waits for a person. `off`: it is not enabled. `invalid`: it cannot start anything, see
   * `problem`. `elsewhere`: another process follows the triggers of this workspace.
   */
  readonly state: 'ready' | 'running' | 'waiting' | 'off' | 'invalid' | 'elsewhere'
  readonly problem: string | null
  /** ISO 8601, UTC; null: not known ahead, or never. */
  readonly next: string | null
  readonly last:
    | (Omit<LastStart, 'at' | 'run' | 'message'> & {
        /** ISO 8601, UTC. */
        readonly at: string
        readonly run: string | null
        /** How far that run is; null: there is none any more. */
        readonly status: ShownStatus | null
        readonly message: string | null
      })
    | null
  /** Its runs in progress, also those that wait for a person. */
  readonly running: readonly string[]
  /** How many more starts wait. */
  readonly waiting: number
  /** Where it is written: `~/.config/baton/config.toml:12`. */
  readonly origin: string
}

/** The triggers of a served workspace. */
export interface Triggers {
  readonly list: () => Promise<{
    readonly triggers: readonly TriggerView[]
    /** Why the config files as they are now cannot be used; null: they can. */
    readonly problem: string | null
  }>
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
  /** False: nothing is followed, triggers are only started by hand, and nobody answers what a run waits for. */
  readonly follows: boolean
  /** What a person should know, in one line. */
  readonly onProblem: (message: string) => void
}

/** Milliseconds between looks whether the process that follows the triggers has ended. */
const lookMs = 2_000

/** What is needed once a workspace has triggers. */
interface Opened {
  readonly memory: TriggerMemory
  readonly starts: Starts
  readonly hooks: Hooks
}

/** Opens the triggers of a workspace, and follows them and the config if no other process does. */
export async function openTriggers(options: TriggersOptions): Promise<Triggers> {
  const { served, held, actions, clock, follows, onProblem } = options
  const stop = new AbortController()
  const { signal } = stop
  let { triggers } = served.found
  let configProblem: string | null = null
  let opened: Opened | undefined
  let other: Owner | undefined
  /** Undefined: another process follows them, or there have been none. */
  let following: Following | undefined
  let isTakingOver = false
  const told = new Set(served.found.problems.map(issueText))

  const current = (name: string): Trigger | undefined => triggers.find((one) => one.name === name)

  function open(): Opened {
    const memory = openTriggerMemory(served.workspace, served)
    const starts = createStarts({
      begin: (trigger, event) => actions.start(asked(trigger, event)),
      isQueued: held.isQueued,
      stateOf: (run) => progressOf(run, { served, held }),
      staysForAnswers: follows,
      current,
      memory,
      clock,
      signal,
    })
    const env = served.triggerSecrets
    const hooks = createHooks({ current, env, memory, fire: starts.fire, now: () => clock.now() })
    return (opened = { memory, starts, hooks })
  }

  /** Becomes the one that follows them, if no other process does. */
  async function tryToFollow(): Promise<void> {
    const { memory, starts } = opened ?? open()
    other = await memory.claim()
    if (other !== undefined) return
    following = createFollowing({ ...options, starts, memory, current, signal })
    await following.follow([], triggers)
    starts.takeLeft(triggers)
  }

  /** Tries until it follows them. Never rejects. */
  async function takeOver(): Promise<void> {
    if (isTakingOver) return
    isTakingOver = true
    let said = ''
    while (following === undefined) {
      await clock.sleep(lookMs, signal).catch(() => undefined)
      if (signal.aborted) return
      try {
        await tryToFollow()
      } catch (error) {
        const message = `the triggers of this workspace cannot be followed: ${messageOf(error)}`
        if (message !== said) onProblem(message)
        said = message
      }
    }
  }

  async function begin(): Promise<void> {
    await tryToFollow()
    if (other === undefined) return
    onProblem(`${ownerText(other)} follows the triggers of this workspace; this one does when that has ended`)
    void takeOver()
  }

  /** Takes over what the config says now. What has not changed is followed on. */
  async function replace({ triggers: found, problems }: TriggersFound): Promise<void> {
    const before = triggers
    triggers = found
    configProblem = null
    for (const text of problems.map(issueText)) if (!told.has(text)) onProblem(text)
    told.clear()
    for (const problem of problems) told.add(issueText(problem))
    if (following !== undefined) await following.follow(before, found)
    else if (found.length > 0 && !isTakingOver) {
      await begin().catch((error: unknown) => {
        onProblem(`the triggers of this workspace cannot be followed: ${messageOf(error)}`)
        void takeOver()
      })
    }
  }

  if (follows) {
    if (triggers.length > 0) await begin()
    void followConfig({
      log: served.configLog,
      read: served.readTriggers,
      onFound: replace,
      onProblem(error) {
        configProblem = `The config files cannot be used, so the triggers are those of before: ${problemText(error)}`
        onProblem(configProblem)
      },
      clock,
      signal,
    })
  } else if (triggers.length > 0) open()

  function named(name: string): Trigger {
    const trigger = current(name)
    if (trigger !== undefined) return trigger
    const known = triggers.map((one) => one.name).join(', ')
    throw new Refusal(404, `this workspace has no trigger "${name}"`, {
      hint: known === '' ? 'Add a [[trigger]] to your config file: docs/triggers.md.' : `Its triggers: ${known}.`,
    })
  }

  function door(): Hooks {
    if (opened === undefined || triggers.length === 0) return noHooks
    return following === undefined ? elsewhere : opened.hooks
  }

  return {
    async list() {
      const { memory, starts } = opened ?? {}
      if (memory === undefined || starts === undefined) return { triggers: [], problem: configProblem }
      const known = { memory, starts, isElsewhere: following === undefined, now: clock.now(), served, held }
      return { triggers: await Promise.all(triggers.map((trigger) => viewOf(trigger, known))), problem: configProblem }
    },
    async startByHand(name) {
      const trigger = named(name)
      const [problem] = trigger.problems.filter(({ code }) => code !== 'KEY_MISSING')
      if (problem !== undefined) throw new Refusal(409, problem.message, { hint: problem.hint })
      const { starts } = opened ?? open()
      return starts.fire(trigger, { cause: 'hand', about: '' })
    },
    over: async (name) => opened?.starts.over(name),
    hooks: { admit: (name, head) => door().admit(name, head), answer: (request) => door().answer(request) },
    close() {
      stop.abort()
      opened?.memory.release()
    },
  }
}

const noHooks = closedHooks(new Refusal(404, 'no such hook'))
const elsewhere = closedHooks(new Refusal(503, 'another server follows the triggers of this workspace'))

interface Around {
  readonly served: ServedWorkspace
  readonly held: ActiveRuns
}

/** How far a run is that was started here or elsewhere, now or by an earlier server. */
async function progressOf(run: string, { served, held }: Around): Promise<RunProgress> {
  const folder = join(served.runs, run)
  if (held.isHeld(run) || (await readRunState(folder))?.isRunning === true) return 'running'
  const summary = await readRunSummary(folder, { totals: served.totals })
  if (summary?.status !== 'waiting_for_approval' && summary?.status !== 'suspended') return 'over'
  return whyNotResumed(summary, folder) === undefined ? 'waiting' : 'over'
}

/** The sources of triggers that are followed: times and files. */
interface Following {
  /** Follows these triggers instead of those before. Resolves when changes of files are noticed. */
  readonly follow: (before: readonly Trigger[], now: readonly Trigger[]) => Promise<void>
}

interface FollowingOptions extends Pick<TriggersOptions, 'served' | 'clock' | 'onProblem'> {
  readonly starts: Starts
  readonly memory: TriggerMemory
  readonly current: (name: string) => Trigger | undefined
  readonly signal: AbortSignal
}

function createFollowing(options: FollowingOptions): Following {
  const { starts, memory, current, served, clock, signal, onProblem } = options
  let times = new AbortController()
  /** By what is followed for which trigger. */
  const files = new Map<string, AbortController>()

  const until = (stop: AbortController): AbortSignal => AbortSignal.any([signal, stop.signal])

  function fire(name: string, event: TriggerEvent): Promise<Fired> {
    const trigger = current(name)
    return trigger === undefined
      ? Promise.resolve({ kind: 'skipped', message: 'it is gone' })
      : starts.fire(trigger, event)
  }

  /** Resolves when changes are noticed. */
  function followGlobs(trigger: Trigger, globs: readonly string[], stop: AbortController): Promise<void> {
    const { name } = trigger
    const told = new Set<string>()
    return new Promise<void>((resolve) => {
      const ended = followFiles({
        trigger,
        globs,
        workspace: served.workspace,
        around: served,
        fire: (event) => fire(name, event),
        over: () => starts.over(name),
        onReady: resolve,
        onProblem(error) {
          const message = `trigger "${name}" may miss changes: ${messageOf(error)}`
          if (!told.has(message)) onProblem(message)
          told.add(message)
        },
        signal: until(stop),
      })
      void ended.finally(resolve)
    })
  }

  return {
    async follow(before, now) {
      const usable = now.filter(mayStart)
      // a trigger that is added or switched on again has missed nothing
      for (const { name, source } of [...before, ...now])
        if (source.kind === 'cron' && usable.every((one) => one.name !== name)) memory.remember(name, { schedule: '' })
      times.abort()
      times = new AbortController()
      void followTimes({
        triggers: usable,
        memory,
        clock,
        signal: until(times),
        fire: ({ name }, event) => void fire(name, event),
      })
      const wanted = new Map(
        usable.flatMap((trigger) => {
          const { name, source, overlap } = trigger
          return source.kind === 'files'
            ? [[JSON.stringify([name, overlap, source.globs]), { trigger, globs: source.globs }] as const]
            : []
        }),
      )
      for (const [key, stop] of files) {
        if (wanted.has(key)) continue
        stop.abort()
        files.delete(key)
      }
      await Promise.all(
        [...wanted].map(async ([key, { trigger, globs }]) => {
          if (files.has(key)) return
          const stop = new AbortController()
          files.set(key, stop)
          await followGlobs(trigger, globs, stop)
        }),
      )
    },
  }
}

/** What a trigger starts: what a webhook has sent is an input, and nothing else. */
function asked({ target, input, vars, model, maxCost, onAsk }: Trigger, { payload }: TriggerEvent): Asked {
  const given: Json | undefined = payload === undefined ? input : payload
  const inputs = given === undefined ? undefined : [given]
  // JSON, by another name of its type
  return { file: target, on_ask: onAsk, ...defined({ vars, model, max_cost: maxCost, inputs }) } as Asked
}

type Asked = Parameters<RunActions['start']>[0]

interface Known extends Around {
  readonly memory: TriggerMemory
  readonly starts: Starts
  readonly isElsewhere: boolean
  readonly now: number
}

async function viewOf(trigger: Trigger, known: Known): Promise<TriggerView> {
  const { memory, starts, isElsewhere, now } = known
  const { name, file, source, overlap, enabled, origin, problems } = trigger
  const { last, run: lastRun } = memory.of(name)
  // also of an earlier server, or of baton serve --once
  const ids = [...new Set([...starts.running(name), ...(lastRun === undefined ? [] : [lastRun])])]
  const isWorking = starts.isWorking(name)
  const progress = await Promise.all(ids.map(async (id) => [id, await progressOf(id, known)] as const))
  const running = progress.filter(([, one]) => one !== 'over')
  const [problem] = problems
  const state = ((): TriggerView['state'] => {
    if (problem !== undefined) return 'invalid'
    if (!enabled) return 'off'
    if (running.some(([, one]) => one === 'waiting')) return 'waiting'
    if (running.length > 0 || isWorking) return 'running'
    return isElsewhere ? 'elsewhere' : 'ready'
  })()
  const next =
    source.kind === 'cron' && problem === undefined && enabled && !isElsewhere
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
    last: last === undefined ? null : await lastOf(last, known),
    running: running.map(([id]) => id),
    waiting: starts.waiting(name),
    origin: belowHome(origin, known.served.home),
  }
}

/** A path in the home folder as people write it. */
function belowHome(path: string, home: string): string {
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

async function lastOf(last: LastStart, { served, held }: Around): Promise<NonNullable<TriggerView['last']>> {
  const { run = null, message = null } = last
  const summary = run === null ? undefined : await readRunSummary(join(served.runs, run), { totals: served.totals })
  return {
    ...last,
    at: new Date(last.at).toISOString(),
    run,
    message,
    status: summary === undefined ? null : asShown(summary, held).status,
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
