import { systemClock } from '../../base/clock.ts'
import { BatonError } from '../../base/error.ts'
import { createActiveRuns } from '../http/active-runs.ts'
import { createRunActions } from '../http/change-runs.ts'
import { readRun } from '../http/read-runs.ts'
import { folderOf, openServedWorkspace, type ServingPlace } from '../http/served-workspace.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { Refusal } from '../refusal.ts'
import { createBroker } from '../workers/broker.ts'
import { createWorkerPool } from '../workers/pool.ts'
import { openTriggers } from './triggers.ts'

/** Where one trigger is started by hand. */
export interface OnceOptions {
  /** The trigger. */
  readonly name: string
  /** Called with the id of its run. */
  readonly onStart: (run: string) => void
  /** Stops the run so that it can be resumed. */
  readonly signal: AbortSignal
}

/**
 * Starts a trigger by hand, without a server, and waits for its run.
 * @throws BatonError USAGE if there is no such trigger, CONFIG_INVALID if it cannot start anything, NOT_AVAILABLE if its
 * run is in progress elsewhere, and what the run throws that does not begin
 */
export async function startOnce(place: ServingPlace, { name, onStart, signal }: OnceOptions): Promise<RunSummary> {
  const served = await openServedWorkspace(place)
  const { cwd, home, env } = served
  const broker = createBroker()
  const workers = createWorkerPool({ env, cwd, spare: 0, broker })
  // what a run cannot do is told by its end
  const held = createActiveRuns({ most: 1, workers, broker, place: { cwd, home }, onProblem: () => undefined })
  const actions = createRunActions(served, held)
  let failure: unknown
  const begun = {
    ...actions,
    // the error of the run is reported as it is
    start: (asked: Parameters<typeof actions.start>[0]) =>
      actions.start(asked).catch((error: unknown) => {
        failure = error
        throw error
      }),
  }
  const triggers = await openTriggers({
    served,
    held,
    actions: begun,
    clock: systemClock,
    follows: false,
    onProblem: () => undefined,
  })
  const stop = (): void => triggers.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    const fired = await triggers.startByHand(name)
    signal.throwIfAborted()
    const run = fired.kind === 'started' ? fired.run : await lateStart()
    onStart(run)
    await triggers.over(name)
    signal.throwIfAborted()
    return await readRun(folderOf(served, run))

    async function lateStart(): Promise<string> {
      if (fired.kind === 'queued') {
        await triggers.over(name)
        signal.throwIfAborted()
        const { last } = (await triggers.list()).triggers.find((one) => one.name === name) ?? {}
        if (last?.run !== undefined && last.run !== null) return last.run
      }
      if (failure !== undefined) throw failure
      const message = 'message' in fired ? fired.message : 'it did not start'
      throw new BatonError('SUSPENDED', `trigger "${name}" was not started: ${message}`, {
        hint: 'Wait until that run has ended, or set overlap = "queue" or "allow" in the trigger.',
      })
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const code = error.status === 404 ? 'USAGE' : 'CONFIG_INVALID'
    throw new BatonError(code, error.message, { hint: error.hint })
  } finally {
    signal.removeEventListener('abort', stop)
    triggers.close()
    await held.close()
    await workers.close()
  }
}
