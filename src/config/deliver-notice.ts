import { setTimeout as wait } from 'node:timers/promises'
import { commandEnvironment } from '../base/command.ts'
import { parseDuration } from '../base/duration.ts'
import { messageOf } from '../base/error.ts'
import { isSecureAddress } from '../base/host-entry.ts'
import { sendHttp } from '../base/http.ts'
import { type ProcessEnd, runProcess } from '../base/process.ts'
import { randomName } from '../base/random-name.ts'
import { harmless } from '../base/terminal-text.ts'
import type { Settings } from './settings.ts'

/** `[notify]`, where it is set. */
export type NotifySettings = NonNullable<Settings['notify']>

/** What a person is told of. `ends`: any end. `fails`: one with an exit code other than 0. */
export type NoticeKind = 'waits' | 'ends' | 'fails' | 'budget'

/** What a command and a webhook get, as JSON. Additive changes keep `v`. */
export interface Notice {
  readonly v: 1
  /** `test`: that of `baton notify`. */
  readonly event: NoticeKind | 'test'
  /** One line for people. */
  readonly text: string
  /** ISO 8601, UTC. */
  readonly time: string
  readonly run: string | null
  /** Relative to the workspace if it is inside. */
  readonly file: string | null
  readonly workspace: string | null
  readonly status?: string
  readonly exit_code?: number
  readonly cost_usd?: number | null
  readonly calls?: number
  readonly error?: string
  /** The calls that wait for an approval, without their inputs. */
  readonly approvals?: readonly { readonly id: string; readonly tool: string }[]
  /** How much of which limit of `[budget]` is used. */
  readonly budget?: { readonly limit: string; readonly used: number; readonly of: number }
  /** What to type. */
  readonly next?: string
}

export interface NotifyWorld {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

const defaultMs = 10_000

/** What receives notices, for people: `a command`, `a webhook at HOST`. */
export function receiversOf(
  { command, webhook, webhook_env: variable }: NotifySettings,
  env: NotifyWorld['env'],
): readonly string[] {
  const address = webhook ?? (variable === undefined ? undefined : env[variable])
  const host = address !== undefined && URL.canParse(address) ? new URL(address).host : '(no address)'
  return [
    ...(command === undefined ? [] : ['a command']),
    ...(webhook === undefined && variable === undefined ? [] : [`a webhook at ${host}`]),
  ]
}

/** Sends a notice that says nothing but that it arrives. Returns what went wrong. */
export function sendTest(settings: NotifySettings, world: NotifyWorld): Promise<readonly string[]> {
  const about = 'a test of [notify]'
  const notice: Notice = {
    v: 1,
    event: 'test',
    text: about,
    time: new Date().toISOString(),
    run: null,
    file: null,
    workspace: null,
  }
  return deliver(settings, { event: 'test', text: JSON.stringify(notice), run: null, about }, world)
}

/** One notice on its way. */
interface Delivery {
  readonly event: Notice['event']
  /** The notice as JSON. */
  readonly text: string
  readonly run: string | null
  /** Its line for people. */
  readonly about: string
}

/** Runs the command and posts to the webhook, each in bounded time. Returns what went wrong; never rejects. */
export async function deliver(
  settings: NotifySettings,
  delivery: Delivery,
  world: NotifyWorld,
): Promise<readonly string[]> {
  const limit = new AbortController()
  const ms = parseDuration(settings.timeout ?? '') ?? defaultMs
  const { command } = settings
  const webhook =
    settings.webhook ?? (settings.webhook_env === undefined ? undefined : (world.env[settings.webhook_env] ?? ''))
  const results = await Promise.all([
    command === undefined ? undefined : runCommand(command, { ...delivery, ms }, { ...world, signal: limit.signal }),
    webhook === undefined
      ? undefined
      : post(webhook, { ...delivery, ms, secretEnv: settings.secret_env }, { ...world, signal: limit.signal }),
  ])
  return results.flatMap((problem) => (problem === undefined ? [] : [problem]))
}

type Sending = NotifyWorld & { readonly signal: AbortSignal }

/** The command of the user, in the home folder: a workspace does not decide what it finds. */
async function runCommand(
  line: string,
  { event, text, run, about, ms }: Delivery & { readonly ms: number },
  { env, home, signal }: Sending,
): Promise<string | undefined> {
  const environment = {
    ...commandEnvironment(env),
    BATON_NOTIFY_EVENT: event,
    BATON_NOTIFY_TEXT: about,
    BATON_NOTIFY_RUN: run ?? '',
  }
  try {
    const { end, stderr } = await runProcess(
      {
        command: '/bin/sh',
        args: ['-c', line],
        cwd: home,
        environment,
        timeLimitMs: ms,
        maxOutputBytes: 8 * 1024,
        input: text,
      },
      signal,
    )
    if (end.kind === 'exited' && end.code === 0) return undefined
    const printed = harmless(stderr.text).trim().split('\n').at(-1) ?? ''
    return `the command of [notify] ${endText(end, ms)}${printed === '' ? '' : `: ${printed.slice(0, 200)}`}`
  } catch (error) {
    return `the command of [notify] failed: ${messageOf(error)}`
  }
}

function endText(end: ProcessEnd, ms: number): string {
  switch (end.kind) {
    case 'exited':
      return `ended with exit code ${end.code}`
    case 'killed':
      return `was ended by ${end.signal}`
    case 'timed_out':
      return `was stopped after ${ms / 1000} s`
    case 'not_started':
      return `cannot be run: ${end.reason}`
  }
}

/** How long to wait before the second and the third try. */
const pausesMs = [500, 2_000]

/** Posts until it is accepted, three times at most. A try that cannot become better is the last one. */
async function post(
  address: string,
  { event, text, ms, secretEnv }: Delivery & { readonly ms: number; readonly secretEnv: string | undefined },
  { env, signal }: Sending,
): Promise<string | undefined> {
  if (!URL.canParse(address) || !isSecureAddress(new URL(address)))
    return 'the webhook of [notify] was not called: webhook_env must have an https:// address, or an http:// address of this machine'
  const url = new URL(address)
  // the path may be a secret itself
  const what = `the webhook of [notify] at ${url.host}`
  const key = secretEnv === undefined ? undefined : env[secretEnv]
  if (secretEnv !== undefined && !key)
    return `${what} was not called: ${secretEnv}, the secret it is signed with, is not set`
  const id = randomName()
  const until = performance.now() + ms
  let problem = ''
  for (let attempt = 0; attempt <= pausesMs.length; attempt += 1) {
    const left = until - performance.now()
    if (left <= 0) break
    try {
      const time = String(Math.floor(Date.now() / 1000))
      const { status } = await sendHttp(
        {
          method: 'POST',
          url,
          headers: [
            ['content-type', 'application/json'],
            ['user-agent', 'baton'],
            ['baton-event', event],
            ['baton-delivery', id],
            ['baton-time', time],
            ...(key === undefined ? [] : [['baton-signature', `sha256=${signature(key, `${time}.${text}`)}`] as const]),
          ],
          body: text,
          redirectLimit: 0,
          env,
          timeLimitMs: Math.ceil(left),
          maxBytes: 64 * 1024,
          larger: 'cut',
          wantsBody: () => false,
        },
        signal,
      )
      if (status >= 200 && status < 300) return undefined
      problem = `answered with ${status}`
      if (status < 500 && status !== 429 && status !== 408) break
    } catch (error) {
      problem = messageOf(error)
    }
    const pause = pausesMs[attempt]
    if (pause === undefined || performance.now() + pause >= until) break
    await wait(pause)
  }
  return `${what} was not reached: ${problem}`
}

/** HMAC-SHA-256 in hexadecimal digits. */
function signature(key: string, text: string): string {
  return process.getBuiltinModule('node:crypto').createHmac('sha256', key).update(text).digest('hex')
}
