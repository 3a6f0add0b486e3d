import { expect, it } from 'vitest'
import { placeText } from '../../src/event/place.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import { openMemoryRecords } from '../helpers/memory-journal.ts'
import { createEffects } from '../../src/journal/effects.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createResumedEffects, type Repeated } from '../../src/journal/resumed-effects.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { recordChoices, findUnfinishedEffects } from '../../src/journal/uncertain.ts'
import { type Part, randomProgram, type Value } from './fixtures/random-program.ts'
import { createRandom, type Random } from '../helpers/random.ts'
import { Killed, runPart, stateIn, type World } from './fixtures/random-run.ts'
import { openGate } from '../helpers/effects.ts'
import { core } from '../helpers/series.ts'

interface Process {
  readonly program: Part
  readonly world: World
  /** Of all processes so far. */
  readonly records: JournalRecord[]
  /** Number of records until it dies. */
  readonly lives: number
  readonly random: Random
}

type Ending = { readonly kind: 'done'; readonly value: Value } | { readonly kind: 'killed' | 'broken' }

/** One process: starts or resumes the run. Checks that nothing is done for which there is a record. */
async function live({ program, world, records, lives, random }: Process): Promise<Ending> {
  const before = [...records]
  const epoch = (before.at(-1)?.e ?? 0) + 1
  const place = (k: JournalRecord['k'], status?: string): ReadonlySet<string> =>
    new Set(
      before.flatMap((one) =>
        'p' in one && one.k === k && (status === undefined || ('status' in one && one.status === status))
          ? [one.p]
          : [],
      ),
    )
  const answered = new Set([...place('obs', 'ok'), ...place('ended', 'ok')])
  const ends = new Set(
    before.flatMap((one) => {
      if (one.k === 'choice') return one.by === 'disk' && one.choice === 'redo' ? [] : [one.of.join('.')]
      return one.k === 'ended' ? [`${one.e}.${one.s}`] : []
    }),
  )
  const open = before.flatMap((one) => (one.k === 'started' && !ends.has(`${one.e}.${one.n}`) ? [one] : []))
  const repeated: Repeated[] = []
  const redone = new Set<string>()
  const faults: string[] = []
  let left = lives
  const die = (): never => {
    left = 0
    throw new Killed()
  }
  const journal = createMemoryJournal({
    epoch,
    keep(record) {
      if (left === 0) die()
      left -= 1
      records.push(record)
    },
  })
  const effects = createEffects({ ...openGate, journal, signal: new AbortController().signal })
  const index = await indexRun(openMemoryRecords(before, noMask), { keeps: 'unfinished' })

  try {
    const { found, uncertain } = findUnfinishedEffects(index, { stateOf: stateIn(world), presentText: () => '' })
    const chosen = uncertain.map(({ id, place: at }) => {
      const choice = world.done.includes(`command ${at}`) ? ('done' as const) : ('redo' as const)
      return { id, place: at, choice }
    })
    for (const { place: at, choice } of chosen) if (choice === 'redo') redone.add(at)
    recordChoices([...found, ...chosen], journal, index)
    const resumed = createResumedEffects({
      index,
      journal,
      live: effects,
      usesCurrent: false,
      onRepeat: (one) => repeated.push(one),
      onRecall: () => undefined,
      onShow: () => undefined,
    })
    const value = await runPart(program, [], {
      effects: resumed,
      world,
      mayDie() {
        if (left === 0 && random() < 0.5) die()
      },
      onAct(kind, at) {
        const p = placeText(at)
        if (answered.has(p)) faults.push(`${kind} ${p} is answered by a record`)
        const isOpen = open.some((one) => one.p === p) && kind !== 'observe'
        const isAllowed = !isOpen || redone.has(p) || repeated.some((one) => one.place === p) || place('ended').has(p)
        if (!isAllowed) faults.push(`${kind} ${p} was in flight and is done again in silence`)
      },
    })
    for (const { id } of repeated) {
      if (!open.some(({ e, n }) => id === `${e}.${n}`)) faults.push(`${id} was not in flight`)
    }
    return { kind: 'done', value }
  } catch (error) {
    if (error instanceof Killed) return { kind: 'killed' }
    if (error instanceof Error && error.message === 'broken') return { kind: 'broken' }
    throw error
  } finally {
    expect(faults).toEqual([])
  }
}

function newWorld(isMended: boolean): World {
  return { files: new Map(), done: [], isMended }
}

it('a run has the same value and the same effects wherever and however often it is killed', async () => {
  let kills = 0
  let cases = 0
  for (let seed = 1; seed <= core(12, 120); seed += 1) {
    const random = createRandom(seed)
    const program = randomProgram(random)
    const world = newWorld(true)
    const whole: JournalRecord[] = []
    const expected = await live({ program, world, records: whole, lives: Infinity, random })
    const points = Math.min(whole.length, 8)
    for (let point = 0; point < points; point += 1) {
      cases += 1
      const mine = newWorld(false)
      const records: JournalRecord[] = []
      let ending: Ending = { kind: 'killed' }
      for (let epoch = 1; ending.kind !== 'done'; epoch += 1) {
        const lives = epoch > 4 ? Infinity : Math.floor(random() * (whole.length + 1))
        ending = await live({ program, world: mine, records, lives, random })
        if (ending.kind === 'killed') kills += 1
        if (ending.kind === 'broken') mine.isMended = true
      }
      expect(ending, `seed ${seed}`).toEqual(expected)
      expect(mine.files, `seed ${seed}`).toEqual(world.files)
      const unsafe = mine.done.filter((one) => /^(?:file|command) /.test(one))
      expect(unsafe.toSorted(), `seed ${seed}`).toEqual(
        world.done.filter((one) => /^(?:file|command) /.test(one)).toSorted(),
      )
      expect(new Set(mine.done)).toEqual(new Set(world.done))
    }
  }
  expect([cases > core(60, 800), kills > core(100, 1500)]).toEqual([true, true])
})
