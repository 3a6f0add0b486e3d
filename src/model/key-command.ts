import { cutText } from '../base/cut-text.ts'
import { BatonError } from '../base/error.ts'
import { homeFolder } from '../base/home.ts'
import { type ProcessEnd, runProcess } from '../base/process.ts'
import { type Environment, isKey, type KeyCommand } from './choice.ts'
import { keyFailure } from './errors.ts'

/** Shorter than tokens are valid. */
const keptMs = 5 * 60_000
const limitMs = 60_000

/**
 * Returns the function that gets the key of a command: what it prints, without white space around it. It runs in the
 * home folder with the whole environment of the run, at most every five minutes, and once for calls at the same time.
 * @throws BatonError KEY_MISSING if it fails, KEY_REFUSED if it does not print one key
 */
export function createKeySource(
  command: KeyCommand,
  env: Environment,
  now: () => number = () => performance.now(),
): (signal: AbortSignal) => Promise<string> {
  let last: { readonly key: Promise<string>; readonly at: number } | undefined
  return (signal) => {
    if (last !== undefined && now() - last.at < keptMs) return last.key
    const current = { key: keyOf(command, env, signal), at: now() }
    last = current
    current.key.catch(() => {
      if (last === current) last = undefined
    })
    return current.key
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
  const hint = `Run it in a terminal: ${line}`
  if (end.kind !== 'exited' || end.code !== 0) {
    const said = stderr.text.trim()
    const message = `${from} ${endText(end)}${said === '' ? '' : `: ${cutText(said, 500)}`}`
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
