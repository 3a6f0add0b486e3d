import { homedir } from 'node:os'
import { createQueue } from './base/concurrency.ts'
import type { RunEvent } from './event/event.ts'
import type { RunReport } from './wiring/conduct.ts'
import { type StartOptions, startRun } from './runner.ts'

export { BatonError, isBatonError, type ErrorCode } from './base/error.ts'
export type { RunEvent } from './event/event.ts'
export type { RunReport } from './wiring/conduct.ts'

/** `cwd`, `env` and `home` are those of the process when left out. */
export type RunOptions = Partial<Omit<StartOptions, 'log' | 'openBudget' | 'reuse' | 'prepare' | 'open' | 'runs'>>

/** A run that has begun: its events in order, and how it ended. Reading the events is not necessary. */
export interface Run extends AsyncIterable<RunEvent> {
  /** Never rejects for what goes wrong with the run: the report has the error and the exit code. */
  readonly result: Promise<RunReport>
}

/**
 * Runs a prompt file (`.md`) or an agent (`.aip`, `.lua`). It begins at once; events are kept until they are read.
 *
 * @example
 * const ask = run('ask.md', { model: 'offline::extractive' })
 * for await (const event of ask) if (event.type === 'answer') console.log(event.text)
 * const { exitCode } = await ask.result
 */
export function run(file: string, options: RunOptions = {}): Run {
  const events = createQueue<RunEvent>()
  const result = startRun(
    file,
    { cwd: process.cwd(), env: process.env, home: homedir(), ...options },
    events.push,
  ).finally(events.end)
  return { result, [Symbol.asyncIterator]: () => events[Symbol.asyncIterator]() }
}
