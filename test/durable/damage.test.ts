import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { readJournal } from '../helpers/durable/journal-state.ts'
import { bothReaders, cut, type Damage, flip, range, readingProblems } from './soak/damage.ts'

// A sample of the faults F5 (docs/durability.md) on a journal of a run with four stages; scripts/soak.mjs tries every
// byte.

const kept = join(root, 'test/fixtures/journals/v2-nested')

async function problemsOf(damages: (bytes: Buffer) => readonly Damage[]): Promise<readonly string[]> {
  const journal = await readJournal({ workspace: kept, home: join(kept, 'home'), outside: kept })
  const bytes = readFileSync(join(journal?.folder ?? '', 'j-000001.jsonl'))
  const whole = await bothReaders(bytes)
  expect(whole.stream.length).toBeGreaterThan(20)
  const found = damages(bytes).map(async (damage) =>
    readingProblems(damage, { whole, found: await bothReaders(damage.change(bytes)) }),
  )
  return (await Promise.all(found)).flat()
}

const some = (bytes: Buffer): readonly number[] => [...bytes.keys()].filter((position) => position % 41 === 0)

it('reads the remaining records of a journal that is truncated at any byte', async () => {
  expect(await problemsOf((bytes) => some(bytes).map(cut))).toEqual([])
})

it('loses only the lines that contain a flipped bit, and reports them', async () => {
  expect(await problemsOf((bytes) => some(bytes).map(flip))).toEqual([])
})

it('reads only lines that were written, after zeros or noise have overwritten others', async () => {
  const random = { random: steps() }
  const damages = (bytes: Buffer): readonly Damage[] =>
    Array.from({ length: 100 }, (_, index) => range(index % 2 === 0 ? 'zeros' : 'noise', random, bytes))
  expect(await problemsOf(damages)).toEqual([])
})

/** Pseudo-random numbers from 0 to below 1, the same ones each time. */
function steps(): () => number {
  let state = 0.5
  return () => (state = (state * 997 + 0.123) % 1)
}
