import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createEffects } from '../../src/journal/effects.ts'
import type { Effects } from '../../src/event/effects.ts'
import { part, type Place, task } from '../../src/event/place.ts'
import type { RunJournal } from '../../src/journal/journal.ts'
import { openRun } from '../../src/journal/store.ts'
import { type OwnerPort, processOwners } from '../../src/journal/owner.ts'
import { tempTree } from '../helpers/temp.ts'
import { effectOf, openGate, placeAt, spentOf } from '../helpers/effects.ts'

/** A process that has ended. */
const dead: OwnerPort = {
  self: () => ({ ...processOwners.self(), pid: 2 ** 22 + 1, start: 'ticks:1' }),
  isVisible: () => true,
  isAlive: () => Promise.resolve(false),
}

export interface MadeRun {
  readonly folder: string
  readonly journal: RunJournal
  readonly effects: Effects
  /** Writes the end of the run and closes it. */
  readonly end: (stop?: string, exit?: number) => Promise<void>
}

export interface MadeOptions {
  readonly runs?: string
  readonly id?: string
  readonly file?: string
  /** The run is written by this process, which is alive. */
  readonly isAlive?: true
  /** Time of the first record in milliseconds; each further record is one later. */
  readonly from?: number
}

/** A journal with real records, created by the same effects as in runs. */
export async function makeRun(options: MadeOptions = {}): Promise<MadeRun> {
  const {
    runs = tempTree(),
    id = '20261122-054821-6780e1',
    file = '/w/ask.md',
    isAlive,
    from = 1_800_000_000_000,
  } = options
  const folder = join(runs, id)
  mkdirSync(runs, { recursive: true })
  let time = from
  const journal = await openRun({
    folder,
    now: () => new Date((time += 1)),
    ...(isAlive === undefined ? { owners: dead } : {}),
  })
  if (journal.epoch === 1) journal.note({ k: 'run.start', run: id, file, hash: 'h', version: '0.1.0', facts: {} })
  const effects = createEffects({ ...openGate, journal, signal: new AbortController().signal })
  return {
    folder,
    journal,
    effects,
    async end(stop = 'done', exit = 0) {
      journal.note({ k: 'run.end', exit, stop })
      await journal.close()
    },
  }
}

/** A model call with the prompt `question` and the answer `answer`. */
export function ask(
  { effects }: MadeRun,
  at: Place,
  { question, answer }: { readonly question: string; readonly answer: string },
): Promise<unknown> {
  const spent = spentOf({ model: 'test::small', input: 100, output: 10, costUsd: 0.01 })
  const request = { provider: 'test::small', messages: [{ role: 'user', parts: [{ type: 'text', text: question }] }] }
  return effects.perform(at, { ...effectOf({ kind: 'model', repeat: 'safe', request }), costOf: () => spent }, () =>
    Promise.resolve({ parts: [{ type: 'text', text: answer }] }),
  )
}

/** A whole task: a boundary with a file that is read and a model call. */
export function makeTask(run: MadeRun, index: number, answer: string): Promise<unknown> {
  const at = [task(index)]
  return run.effects.boundary(at, async () => {
    run.effects.observe(
      [...at, part('ask'), part('read')],
      { name: 'file.read', args: ['a.txt'], reads: 'a.txt' },
      () => 'text of a',
    )
    await ask(run, placeAt(`task/${index}/ask#0`), { question: `question ${index}`, answer })
    return { status: 'done', index, label: `label ${index}` }
  })
}
