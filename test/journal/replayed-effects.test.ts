import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { type Effects, storedContentMarker } from '../../src/event/effects.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { openFileRecords } from '../../src/journal/source.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import type { RunJournal } from '../../src/journal/journal.ts'
import { createReplayedEffects, type ReplayedEffects } from '../../src/journal/replayed-effects.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { tempTree } from '../helpers/temp.ts'
import { placeAt, type AnyEffect, openGate, effectOf } from '../helpers/effects.ts'

type Epoch = (effects: Effects, journal: RunJournal) => Promise<void>

async function replayOf(...epochs: readonly Epoch[]): Promise<ReplayedEffects> {
  const folder = join(tempTree(), 'run')
  for (const work of epochs) {
    const journal = await openRun({ folder, now: () => new Date(0) })
    await work(createEffects({ ...openGate, journal, signal: new AbortController().signal }), journal)
    journal.note({ k: 'run.end', exit: 0, stop: 'done' })
    await journal.close()
  }
  const source = openFileRecords(folder, { mask: noMask })
  const index = await indexRun(source, { keeps: 'everything' })
  const scratch = { change: () => undefined }
  return createReplayedEffects({ index, signal: undefined, files: { kind: 'recorded', scratch } })
}

const never = (): never => {
  throw new Error('asked outside')
}
const call = (name: string, ...args: string[]) => ({ name, args })
const model = (provider: string): AnyEffect => effectOf({ kind: 'model', request: { provider }, repeat: 'safe' })
const command = (text: string): AnyEffect => effectOf({ kind: 'command', request: text, repeat: 'unsafe' })

describe('observations', () => {
  it('are answered with the recorded value or error', async () => {
    const { effects } = await replayOf(async (live) => {
      live.observe(placeAt('a'), call('time'), () => 7n)
      expect(() => live.observe(placeAt('b'), call('read', 'x'), () => never())).toThrow()
    })
    expect(effects.observe(placeAt('a'), call('time'), never)).toBe(7n)
    expect(() => effects.observe(placeAt('b'), call('read', 'x'), () => 1)).toThrow('asked outside')
  })

  it.each([
    ['another name', call('date'), 'it calls date(), but the record has time()'],
    ['other arguments', call('time', 'x'), 'it calls time("x"), but the record has time()'],
  ])('are compared: %s', async (_, asked, message) => {
    const { effects, difference } = await replayOf(
      async (live) => void live.observe(placeAt('a'), call('time'), () => 1),
    )
    expect(() => effects.observe(placeAt('a'), asked, never)).toThrow(message)
    expect(difference()).toMatchObject({ code: 'DIVERGED', diff: expect.stringContaining('--- recorded') })
    expect(() => effects.observe(placeAt('a'), call('time'), never)).toThrow('stopped')
  })

  it('of code are read from the disk', async () => {
    const { effects } = await replayOf(
      async (live) => void live.observe(placeAt('m'), call('require', 'x'), () => 'then'),
    )
    expect(effects.observe(placeAt('m'), call('require', 'x'), () => 'now')).toBe('now')
  })
})

describe('effects', () => {
  it('return recorded values and errors, and are counted', async () => {
    const { effects, counts, leftOver } = await replayOf(async (live) => {
      await live.perform(placeAt('a'), command('ls'), async () => 'out')
      const failing = live.perform(placeAt('b'), model('m'), async () => {
        throw new BatonError('MODEL_FAILED', 'overloaded', { hint: 'Wait.' })
      })
      await expect(failing).rejects.toThrow()
    })
    expect(leftOver()?.message).toContain('2 calls that were recorded')
    expect(await effects.perform(placeAt('a'), command('ls'), never)).toBe('out')
    await expect(effects.perform(placeAt('b'), model('m'), never)).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      hint: 'Wait.',
    })
    expect([counts, leftOver()]).toEqual([{ command: 1, model: 1 }, undefined])
  })

  it('skip a model that was cooling down and not asked', async () => {
    const { effects } = await replayOf(
      async (live) => void (await live.perform(placeAt('ask#1'), model('b'), async () => 'yes')),
    )
    await expect(effects.perform(placeAt('ask#0'), model('a'), never)).rejects.toMatchObject({ code: 'MODEL_FAILED' })
    expect(await effects.perform(placeAt('ask#1'), model('b'), never)).toBe('yes')
  })

  it('that a resumed run repeated return the last result', async () => {
    const { effects } = await replayOf(
      async (live) => {
        await live.boundary(placeAt('t'), async () => live.perform(placeAt('t/a'), command('one'), async () => 1))
      },
      async (live) => {
        await live.boundary(placeAt('t'), async () => live.perform(placeAt('t/b'), command('two'), async () => 2))
      },
    )
    expect(await effects.perform(placeAt('t/b'), command('two'), never)).toBe(2)
    await expect(effects.perform(placeAt('t/a'), command('one'), never)).rejects.toThrow('the record has nothing there')
  })

  it('without an end report where the record ends, unless a person has decided that they happened', async () => {
    const begun: Epoch = async (_, journal) => {
      const started = { kind: 'command', repeat: 'unsafe', fp: '', request: 'ls' } as const
      journal.note({ k: 'started', p: 'a', ...started })
      journal.note({ k: 'started', p: 'b', ...started })
      journal.note({ k: 'choice', p: 'b', of: [1, 2], choice: 'done' })
    }
    const { effects } = await replayOf(begun)
    expect(await effects.perform(placeAt('b'), { ...command('ls'), assumed: 'assumed' }, never)).toBe('assumed')
    await expect(effects.perform(placeAt('a'), command('ls'), never)).rejects.toThrow(
      'was interrupted while it called command("ls") at a',
    )
  })
})

describe('file changes', () => {
  const asked = { op: 'write', path: 'a.txt' }
  const plan = (after: string) => () => ({ record: { ...asked, before: null, after }, act: () => undefined })

  it('are compared by name and content', async () => {
    const { effects } = await replayOf(async (live) => void live.changeFile(placeAt('a'), asked, plan('1')))
    expect(effects.changeFile(placeAt('a'), asked, plan('1'))).toBe(true)
    expect(() => effects.changeFile(placeAt('a'), asked, plan('2'))).toThrow('the input of file(write a.txt)')
  })

  it('that are missing in the replay are a difference, unless only their content was stored', async () => {
    const kept = () => ({ record: { ...plan('1')().record, content: storedContentMarker }, act: () => undefined })
    const { effects } = await replayOf(async (live) => {
      live.changeFile(placeAt('a'), asked, kept)
      live.changeFile(placeAt('b'), asked, plan('1'))
    })
    expect(effects.changeFile(placeAt('a'), asked, () => undefined)).toBe(true)
    expect(() => effects.changeFile(placeAt('b'), asked, () => undefined)).toThrow('the input of file(write a.txt)')
  })

  it('that changed nothing change nothing', async () => {
    const { effects } = await replayOf(async (live) => void live.changeFile(placeAt('a'), asked, () => undefined))
    expect(effects.changeFile(placeAt('a'), asked, never)).toBe(false)
  })

  it('that only name paths do not read the disk', async () => {
    const move = { op: 'move', path: 'b', from: 'a' }
    const { effects } = await replayOf(
      async (live) =>
        void live.changeFile(placeAt('a'), move, () => ({
          record: { ...move, before: null, after: '1' },
          act: () => undefined,
        })),
    )
    expect(effects.changeFile(placeAt('a'), move, never)).toBe(true)
  })
})

describe('the first difference', () => {
  it('is thrown at the end of a boundary that caught it', async () => {
    const { effects, difference } = await replayOf(async () => undefined)
    const work = effects.boundary(placeAt('t'), async () => {
      await effects.perform(placeAt('t/a'), command('rm'), never).catch(() => undefined)
      return 1
    })
    await expect(work).rejects.toThrow('it calls command("rm")')
    expect(difference()?.code).toBe('DIVERGED')
  })

  it('stops other parts until its own part has reported its place', async () => {
    const { effects, difference } = await replayOf(async () => undefined)
    const order: string[] = []
    const one = effects.boundary(placeAt('one'), async () => {
      const failed = await effects.perform(placeAt('one/a'), command('x'), never).catch((error: unknown) => error)
      await new Promise((resolve) => setTimeout(resolve, 20))
      order.push('one')
      throw new BatonError('DIVERGED', 'with its line', { cause: failed })
    })
    const two = effects.boundary(placeAt('two'), async () => effects.observe(placeAt('two/a'), call('time'), never))
    await Promise.all([one.catch(() => undefined), two.catch(() => order.push('two'))])
    expect([order, difference()?.message]).toEqual([['one', 'two'], 'with its line'])
  })
})

it('file functions return the recorded results, and their arguments are compared', async () => {
  const { effects } = await replayOf(
    async (live) => void live.call(placeAt('a#0'), call('aip.file.save', 'x', 'y'), () => ({ size: 1 })),
  )
  expect(effects.call(placeAt('a#0'), call('aip.file.save', 'x', 'y'), () => ({ size: 2 }))).toEqual({ size: 1 })
  expect(effects.call(placeAt('b#0'), call('aip.agent.run', 'z'), () => 'done here')).toBe('done here')
  expect(() => effects.call(placeAt('a#0'), call('aip.file.save', 'x', 'z'), never)).toThrow(
    'it calls aip.file.save("x", "z")',
  )
})
