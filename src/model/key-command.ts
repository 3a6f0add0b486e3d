import { unlessAborted } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { homeFolder } from '../base/home.ts'
import { type ProcessEnd, runProcess } from '../base/process.ts'
import { type Environment, isKey, type KeyCommand } from './choice.ts'
import { keyFailure, safeText } from './errors.ts'

/** Tokens are valid for longer. */
const keptMs = 5 * 60_000
const limitMs = 60_000

export interface KeyOptions {
  readonly env: Environment
  /** Called with each different key before it is used, and a name for it. */
  readonly onKey?: ((name: string, key: string) => void) | undefined
  /** In milliseconds; only differences count. */
  readonly now?: () => number
}

/**
 * Returns the function that gets the key of a command: what it prints, without white space around it. It runs in the
 * home folder with the whole environment of the run, at most every five minutes, and once for calls at the same time.
 * @throws BatonError KEY_MISSING if it fails, KEY_REFUSED if it does not print one key
 */
export function createKeySource(
  command: KeyCommand,
  { env, onKey = () => {}, now = () => performance.now() }: KeyOptions,
): (signal: AbortSignal) => Promise<string> {
  const known = new Set<string>()
  let last: { readonly key: Promise<string>; readonly at: number; readonly by: AbortSignal } | undefined

  function start(signal: AbortSignal): { readonly key: Promise<string>; readonly by: AbortSignal } {
    const current = { key: announced(signal), at: now(), by: signal }
    last = current
    current.key.catch(() => {
      if (last === current) last = undefined
    })
    return current
  }

  async function announced(signal: AbortSignal): Promise<string> {
    const key = await keyOf(command, env, signal)
    if (!known.has(key)) onKey(known.size === 0 ? command.from : `${command.from}~${known.size + 1}`, key)
    known.add(key)
    return key
  }

  return async function get(signal) {
    const { key, by } = last !== undefined && now() - last.at < keptMs ? last : start(signal)
    try {
      return await unlessAborted(key, signal)
    } catch (error) {
      signal.throwIfAborted()
      // it ended only because the call that had started it was cancelled
      if (by.aborted) return get(signal)
      throw error
    }
  }
}

async function keyOf({ line, from }: KeyCommand, env: Environment, signal: AbortSignal): Promise<string> {
  const { end, stdout, stderr } = await runProcess(
    {
      command: '/bin/sh',
      args: ['-c', line],
      cwd: homeFolder(),
      environment: Object.fromEntries(
        Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      timeLimitMs: limitMs,
      maxOutputBytes: 64 * 1024,
    },
    signal,
  )
  // the command itself is not shown, because it may contain a secret
  const hint = 'Run the command in a terminal: it has to print the key, and nothing else.'
  if (end.kind !== 'exited' || end.code !== 0) {
    const said = safeText(stderr.text, [])
    const message = `${from} ${endText(end)}${said === '' ? '' : `: ${said}`}`
    throw new BatonError('KEY_MISSING', message, { hint, cause: keyFailure })
  }
  const key = stdout.text.trim()
  if (isKey(key)) return key
  const message = key === '' ? `${from} printed nothing` : `${from} printed something that is not one key`
  throw new BatonError('KEY_REFUSED', message, { hint, cause: keyFailure })
}

function endText(end: ProcessEnd): string {
  switch (end.kind) {
    case 'exited':
      return `failed with exit code ${end.code}`
    case 'killed':
      return `was ended by ${end.signal}`
    case 'timed_out':
      return `did not end within ${limitMs / 1000} s`
    case 'not_started':
      return `did not start: ${end.reason}`
  }
}
