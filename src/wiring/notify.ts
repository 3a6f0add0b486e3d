import { setTimeout as wait } from 'node:timers/promises'
import { cutMessage } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import {
  deliver,
  type Notice,
  type NoticeKind,
  type NotifySettings,
  type NotifyWorld,
} from '../config/deliver-notice.ts'
import { readConfigFiles } from '../config/config-files.ts'
import { type Bus, withoutPieces } from '../event/bus.ts'
import type { BudgetLimits, Cost } from '../event/effects.ts'
import type { RunEvent } from '../event/event.ts'
import type { LiveMask } from '../journal/secrets.ts'
import type { Target } from '../load/target.ts'
import type { RunPlan, Surroundings } from './conduct.ts'

/** Tells a person about one run. */
export interface Notifier {
  readonly add: (event: RunEvent) => void
  /** The limits of the run and what it has spent so far, once they are known. */
  readonly watch: (budget: { readonly limits: BudgetLimits; readonly spent: () => Required<Cost> }) => void
  /** Resolves once everything is delivered or given up, to warnings that came too late for an event. Never rejects. */
  readonly close: () => Promise<readonly string[]>
}

interface NotifierOptions extends NotifyWorld {
  readonly run: string
  readonly file: string
  readonly workspace: string
  /** Masks secrets. */
  readonly hide: (text: string) => string
  readonly warn: (message: string) => void
  /** A person who sits at a chat is asked for the next message when it ends. */
  readonly isChat: boolean
  /** Whether somebody may answer a question while the run goes on. */
  readonly mayAnswer: boolean
}

/** What `on` is if it is not set. */
const defaultKinds: readonly NoticeKind[] = ['waits', 'ends', 'fails', 'budget']

/** The notifier of a run, which gets its events from now on; undefined if nobody is to be told. */
export async function notifierOf(
  { settings, workspace }: Pick<Target, 'settings' | 'workspace'>,
  {
    plan: { id, invocation, work, isResumed },
    surroundings,
    bus,
    mask,
  }: {
    readonly plan: Pick<RunPlan, 'id' | 'invocation' | 'work' | 'isResumed'>
    readonly surroundings: Surroundings
    readonly bus: Bus
    readonly mask: LiveMask
  },
): Promise<Notifier | undefined> {
  // an undo
  if (work !== undefined && invocation.conversation !== true) return undefined
  const { env, home, isAttended = false, approver } = surroundings
  // who is told belongs to the user and not to the run: a resume does as the user says now
  const notify = isResumed ? await notifyNow({ env, home, cwd: invocation.cwd }) : settings.notify
  if (notify === undefined) return undefined
  for (const name of [notify.secret_env, notify.webhook_env]) {
    const secret = name === undefined ? undefined : env[name]
    if (name !== undefined && secret) mask.add({ values: { [name]: secret } })
  }
  const notifier = openNotifier(notify, {
    env,
    home,
    workspace,
    run: id,
    file: invocation.file,
    hide: (text) => mask.hide(text),
    warn: (message) => bus.send([], { type: 'warning', message }),
    isChat: isAttended && invocation.chat !== undefined && invocation.chat.isBackground !== true,
    mayAnswer: typeof approver === 'function',
  })
  bus.subscribe(withoutPieces(notifier.add))
  return notifier
}

async function notifyNow(around: Parameters<typeof readConfigFiles>[0]): Promise<NotifySettings | undefined> {
  const { own } = await readConfigFiles(around)
  const values = own.flatMap(({ path: [key, inner], value }) =>
    key === 'notify' ? [[String(inner), value] as const] : [],
  )
  return values.length === 0 ? undefined : (Object.fromEntries(values) as NotifySettings)
}

/** A question that is answered within this time needs no notice. */
const answeredMs = 2_000
const budgetShare = 0.8

/** A limit of which 80 % are used. */
function reachedIn({ limits, spent }: Parameters<Notifier['watch']>[0]): Notice['budget'] {
  const now = spent()
  for (const limit of ['usd', 'tokens', 'calls'] as const) {
    const { [limit]: of = 0 } = limits
    if (of > 0 && now[limit] >= of * budgetShare) return { limit, used: now[limit], of }
  }
  return undefined
}

/** Sends what `on` asks for. Nothing that goes wrong here reaches the run: it is a warning. */
export function openNotifier(settings: NotifySettings, options: NotifierOptions): Notifier {
  const { run, workspace, hide, warn, isChat, mayAnswer } = options
  const kinds = settings.on ?? defaultKinds
  const asked = new Map<string, AbortController>()
  const sending = new Set<Promise<void>>()
  const late: string[] = []
  const said = new Set<string>()
  let budget: Parameters<Notifier['watch']>[0] | undefined
  let hasToldBudget = false
  let hasEnded = false

  function tell(problem: string): void {
    if (said.has(problem)) return
    said.add(problem)
    if (hasEnded) late.push(problem)
    else warn(problem)
  }

  function send(event: NoticeKind, about: Omit<Notice, 'v' | 'event' | 'time' | 'run' | 'file' | 'workspace'>): void {
    if (!kinds.includes(event)) return
    const notice = {
      v: 1,
      event,
      ...about,
      time: new Date().toISOString(),
      run,
      file: displayPath(workspace, options.file),
      workspace,
    } as const
    const text = hide(JSON.stringify(notice))
    const delivery = deliver(settings, { event, text, run, about: hide(about.text) }, options).then((problems) =>
      problems.forEach(tell),
    )
    sending.add(delivery)
    void delivery.finally(() => sending.delete(delivery))
  }

  const name = displayPath(workspace, options.file)

  async function askLater({ id, tool }: { readonly id: string; readonly tool: string }): Promise<void> {
    const answered = new AbortController()
    asked.set(id, answered)
    await wait(answeredMs, undefined, { signal: answered.signal }).catch(() => undefined)
    if (answered.signal.aborted) return
    send('waits', { text: `${name} waits for your approval of ${tool}`, approvals: [{ id, tool }], status: 'running' })
  }

  /** After the call that has just reported its usage is settled. */
  function checkBudget(): void {
    const reached = hasToldBudget || budget === undefined ? undefined : reachedIn(budget)
    if (reached === undefined) return
    hasToldBudget = true
    const { limit, used, of } = reached
    const shown = limit === 'usd' ? `$${used.toFixed(2)} of $${of.toFixed(2)}` : `${used} of ${of} ${limit}`
    send('budget', { text: `${name} has used ${shown} of its budget`, budget: reached, status: 'running' })
  }

  function end(event: Extract<RunEvent, { readonly type: 'run.completed' | 'run.failed' }>): void {
    checkBudget()
    const { stop_reason: stop, exit_code, cost_usd, usage, error, approvals = [] } = event
    const status = stop === 'error' ? 'failed' : stop
    const facts = {
      status,
      exit_code,
      cost_usd,
      calls: usage.calls,
      ...(error === undefined ? {} : { error: cutMessage(error.message).slice(0, 500) }),
    }
    if (stop === 'waiting_for_approval' || stop === 'suspended') {
      const calls = (approvals as readonly { readonly id: string; readonly tool: string }[]).map(({ id, tool }) => ({
        id,
        tool,
      }))
      const next = calls.length > 0 ? `baton approve ${run}` : `baton resume ${run}`
      return send('waits', {
        ...facts,
        text: `${name} waits for ${calls.length > 0 ? 'your approval' : 'something else'}`,
        approvals: calls,
        next,
      })
    }
    if (exit_code !== 0) {
      const next = `baton report ${run}`
      const about = { ...facts, text: `${name}: ${status.replaceAll('_', ' ')}, exit code ${exit_code}`, next }
      return send(kinds.includes('fails') ? 'fails' : 'ends', about)
    }
    if (isChat) return send('waits', { ...facts, text: `${name} has answered and waits for your next message` })
    send('ends', { ...facts, text: `${name}: ${status}`, next: `baton report ${run}` })
  }

  return {
    add(event) {
      if (event.type === 'approval.requested' && mayAnswer) void askLater(event)
      else if (event.type === 'approval.decided') asked.get(event.id)?.abort()
      else if (event.type === 'usage') setImmediate(checkBudget)
      else if (event.type === 'run.completed' || event.type === 'run.failed') {
        hasEnded = true
        for (const answered of asked.values()) answered.abort()
        end(event)
      }
    },
    watch(given) {
      budget = given
      // told by an earlier process of the run, or an earlier run of the session
      hasToldBudget = reachedIn(given) !== undefined
    },
    async close() {
      while (sending.size > 0) await Promise.all(sending)
      return late
    },
  }
}
