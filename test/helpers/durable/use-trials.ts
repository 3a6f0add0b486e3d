import { afterAll, beforeAll } from 'vitest'
import { mapLimit } from '../../../src/base/concurrency.ts'
import { createWarmCommand } from '../warm-command.ts'
import { command } from './play.ts'
import { type CountingServer, startCountingServer } from './server.ts'
import { type Reference, type Trial, type Try, tryWith, uninterrupted } from './trial.ts'

export interface Trials {
  /** The number of operations on the journal of an undisturbed run. */
  readonly operations: () => number
  /** The result of a try. */
  readonly of: (at: string) => Promise<Trial>
}

/** Runs tries in the background, two at a time; the tests of a file then check them one by one. */
export function useTrials(tries: readonly Try[]): Trials {
  const stop = new AbortController()
  const warm = [createWarmCommand(command), createWarmCommand(command)]
  const found = new Map<string, Promise<Trial>>()
  let server: CountingServer
  let reference: Reference

  beforeAll(async () => {
    server = await startCountingServer()
    reference = await uninterrupted(server)
    const settle = new Map<string, (trial: Promise<Trial>) => void>()
    for (const { at } of tries) found.set(at, new Promise((resolve) => settle.set(at, resolve)))
    void mapLimit(tries, { limit: 2, signal: stop.signal }, async ({ at, starts }) => {
      const trial = tryWith(starts, { server, reference, warm })
      settle.get(at)?.(trial)
      // a failure is reported by the test that checks it
      await trial.catch(() => undefined)
    })
  })
  afterAll(async () => {
    stop.abort()
    await Promise.all(warm.map(({ end }) => end()))
    await server.close()
  })

  return {
    operations: () => reference.operations,
    of: (at) => found.get(at) ?? Promise.reject(new Error(`nothing was tried at ${at}`)),
  }
}
