import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { packageRoot } from '../../package-root.ts'
import { Refusal } from '../refusal.ts'
import type { ServedWorkspace } from './served-workspace.ts'

/** The longest time that the tests of a file may take, in milliseconds. */
const mostMs = 10 * 60_000
/** Characters of what `baton test` says about why it could not start. */
const mostSaid = 2_000

/**
 * Runs the tests of a file (absolute) with `baton test`, in a process of its own, which leaves their results in the state
 * folder. They call no model.
 * @throws Refusal 409 if they could not be run; what an invalid file is about is said by reading its tests
 */
export async function runTests(
  { cwd, env, home, shared }: ServedWorkspace,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const overrides = shared.overrides.flatMap((override) => ['-c', override])
  const child = spawn(process.execPath, [join(packageRoot(), 'dist/bin/baton.js'), 'test', file, ...overrides], {
    cwd,
    env: { ...env, ...(home === '' ? {} : { HOME: home }) },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: mostMs,
  })
  const stop = (): void => void child.kill()
  signal.addEventListener('abort', stop, { once: true })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (said = (said + piece).slice(0, mostSaid)))
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    signal.throwIfAborted()
    if (code === 0 || code === testsFailed || code === wrongFile) return
    const [why = ''] = said.split('\n')
    throw new Refusal(409, `the tests could not be run${why === '' ? '' : `: ${why.replace(/^error: /, '')}`}`)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Exit codes of `baton test`. */
const testsFailed = 100
const wrongFile = 2
