import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { CallRequest, Effects, FileChangeRecord } from '../../src/event/effects.ts'
import type { Spent } from '../../src/event/meter.ts'
import type { Place } from '../../src/event/place.ts'
import { openFileRecords } from '../../src/journal/source.ts'
import { createEffects } from '../../src/journal/effects.ts'
import type { RunJournal } from '../../src/journal/journal.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import { createMemoryEffects } from '../helpers/memory-journal.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { createVerification, type Verification, type VerifyOptions } from '../../src/journal/verified-effects.ts'
import { tempTree } from '../helpers/temp.ts'
import { placeAt, effectOf, openGate, spentOf } from '../helpers/effects.ts'

type Work = (effects: Effects, at: (...names: readonly string[]) => Place) => unknown

interface Looked extends Verification {
  /** The outcome of the check. */
  readonly value: unknown
  readonly error: unknown
  /** What was reported about the first difference. */
  readonly told: readonly string[]
  /** The usage of recorded model calls. */
  readonly recalled: readonly Spent[]
  readonly liveReads: readonly string[]
  readonly committed: () => readonly JournalRecord[]
}

type Hooks = Partial<Pick<VerifyOptions, 'isOwnRead' | 'whyChangeAgain' | 'permission'>>

/**
 * Does `then` as the part `task/3` of a run, and checks whether `now` is the same as the part `task/1` of a later one.
 */
async function look(then: Work, now: Work, hooks: Hooks = {}): Promise<Looked> {
  const folder = join(tempTree(), 'run')
  const first = await openRun({ folder, now: () => new Date(0) })
  await part(createEffects({ ...openGate, journal: first, signal: new AbortController().signal }), '3', then)
  await first.close()

  const source = openFileRecords(folder, { mask: noMask })
  onTestFinished(() => source.close())
  const index = await indexRun(source, { keeps: 'everything' })
  const records: JournalRecord[] = []
  const journal: RunJournal = createMemoryJournal({ keep: (record) => records.push(record) })
  const live = createMemoryEffects()
  const told: string[] = []
  const recalled: Spent[] = []
  const verification = createVerification({
    earlier: { index, place: 'task/3' },
    at: placeAt('task/1'),
    journal,
    live,
    permission: openGate.permission,
    isOwnRead: () => false,
    whyChangeAgain: () => undefined,
    onRecall: (_, spent) => recalled.push(spent),
    onDirty: (reason) => told.push(reason),
    ...hooks,
  })
  const result = await part(verification.effects, '1', now).then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  )
  return {
    ...verification,
    ...result,
    told,
    recalled,
    liveReads: live.records.flatMap((record) => (record.k === 'obs' ? [record.p] : [])),
    committed() {
      expect(records).toEqual([])
      verification.commit()
      return records
    },
  }
}

function part(effects: Effects, task: string, work: Work): Promise<unknown> {
  const at = (...names: readonly string[]): Place => placeAt(['task', task, ...names].join('/'))
  return effects.boundary(at(), async () => (await work(effects, at)) ?? null)
}

const reading =
  (value: unknown, name = 'aip.file.load', args: readonly string[] = ['a.txt']): Work =>
  (effects, at) =>
    effects.observe(
      at('read#0'),
      { name, args, ...(name.startsWith('aip.file.') && { reads: args[0] ?? '' }) },
      () => value,
    )

const asking =
  (prompt: string, answer: () => unknown): Work =>
  (effects, at) =>
    effects.perform(
      at('ask#0'),
      {
        ...effectOf({ kind: 'model', request: { provider: 'openai::m', prompt }, repeat: 'safe' }),
        costOf: () => spentOf({ model: 'openai::m', input: 5 }),
      },
      async () => answer(),
    )

const changing =
  (path: string, record: FileChangeRecord | undefined): Work =>
  (effects, at) =>
    effects.changeFile(at('save#0'), { op: 'write', path }, () => record && { record, act: () => {} })

function loadOf(path: string): CallRequest {
  return { name: 'aip.file.load', args: [path], reads: path }
}

const mustNot = (): never => {
  throw new Error('nothing is done for a look')
}

describe('a file that a part reads', () => {
  it('is read, and may be unchanged', async () => {
    const seen: string[] = []
    const { value, reason } = await look(reading('one'), (effects, at) =>
      effects.observe(at('read#0'), loadOf('a.txt'), () => {
        seen.push('read')
        return 'one'
      }),
    )
    expect([value, reason(), seen]).toEqual(['one', undefined, ['read']])
  })

  it.each([
    ['another value', reading('two'), 'a.txt changed'],
    ['nothing', reading(undefined), 'a.txt changed'],
    ['an error', reading('one'), 'a.txt changed'],
    ['something else', reading('one', 'aip.file.load', ['b.txt']), 'it did not read b.txt before'],
    ['it in another way', reading('one', 'aip.file.info'), 'it did not read a.txt before'],
  ])('invalidates the part when it is %s', async (what, now, expected) => {
    const fails: Work = (effects, at) =>
      effects.observe(at('read#0'), loadOf('a.txt'), () => {
        throw new BatonError('FILE_FAILED', 'gone')
      })
    const { reason, told } = await look(reading('one'), what === 'an error' ? fails : now)
    expect([reason(), told]).toEqual([expected, [expected]])
  })

  it('is compared only if it may be read now', async () => {
    const listing: Work = (effects, at) =>
      effects.observeAsync(at('files'), { name: 'file.list', args: ['*.txt'] }, async (allow) => {
        allow({ kind: 'read', path: '/w/a.txt', named: '/w/a.txt' })
        return ['a.txt']
      })
    expect(await look(listing, listing)).toMatchObject({ value: ['a.txt'], told: [] })
    const permission: VerifyOptions['permission'] = {
      check: () => ({ kind: 'deny', reason: 'not here', code: 'UNTRUSTED' }),
    }
    const refused = await look(listing, listing, { permission })
    expect(refused.told).toEqual(['file.list("*.txt") returns something else'])
  })

  it('may fail again in the same way', async () => {
    const failing =
      (message: string): Work =>
      (effects, at) => {
        try {
          return effects.observe(at('read#0'), loadOf('a.txt'), () => {
            throw new BatonError('FILE_FAILED', message)
          })
        } catch (error) {
          return `caught ${(error as Error).message}`
        }
      }
    expect(await look(failing('gone'), failing('gone'))).toMatchObject({ value: 'caught gone', error: undefined })
    expect((await look(failing('gone'), failing('locked'))).reason()).toBe('a.txt changed')
  })

  it('is unchanged if the run itself has changed it', async () => {
    const { value, committed } = await look(reading('one'), reading('two'), {
      isOwnRead: ({ args }, readings) => {
        expect([args, readings]).toEqual([['a.txt'], { before: 'one', now: 'two' }])
        return true
      },
    })
    expect(value).toBe('one')
    expect(committed()).toContainEqual(expect.objectContaining({ k: 'obs', p: 'task/1/read#0', value: 'one' }))
  })

  it.each(['math.randomseed', 'run.number', 'file_changes', 'file_before', 'file_undo'])(
    'is taken from the record if it is %s',
    async (name) => {
      expect((await look(reading(7, name), reading(8, name))).value).toBe(7)
    },
  )

  it('counts as read now if it is not within the part, whatever happens to it', async () => {
    const { liveReads, value } = await look(
      () => 'x',
      (effects) => effects.observe(placeAt('module/lua/words'), { name: 'require', args: ['words'] }, () => 'text'),
    )
    expect([value, liveReads]).toEqual(['text', ['module/lua/words']])
  })

  it('is compared also if a call has the same place', async () => {
    const loading =
      (text: string): Work =>
      (effects, at) => {
        const call = { name: 'aip.file.load_toml', args: ['a.toml'], reads: 'a.toml' }
        return effects.call(at('x#0'), call, async () => [effects.observe(at('x#0'), call, () => text).length])
      }
    expect(await look(loading('a=1'), loading('a=1'))).toMatchObject({ value: [3], told: [] })
    expect((await look(loading('a=1'), loading('a=1000'))).reason()).toBe('a.toml changed')
  })
})

describe('a model call of a part', () => {
  it('has the recorded answer while it is the same, for free', async () => {
    const { value, committed, recalled } = await look(
      asking('hi', () => ({ text: 'hello' })),
      asking('hi', mustNot),
    )
    expect(value).toEqual({ text: 'hello' })
    // its usage belongs to the effect measured around it, and was paid for by the run that received it
    expect(recalled).toEqual([spentOf({ model: 'openai::m', input: 5 })])
    const records = committed()
    const started = records.find(({ k }) => k === 'started')
    expect(started).toMatchObject({ p: 'task/1/ask#0', kind: 'model', request: { prompt: 'hi' } })
    expect(records.find(({ k }) => k === 'ended')).toMatchObject({
      p: 'task/1/ask#0',
      s: started?.n,
      status: 'ok',
      value: { text: 'hello' },
      cost: { calls: 0, tokens: 0, usd: 0 },
    })
  })

  it('invalidates the part when it differs or was never made', async () => {
    const then = asking('hi', () => 'hello')
    expect((await look(then, asking('ho', mustNot))).reason()).toBe('its request to openai::m differs')
    expect((await look(() => 1, asking('ho', mustNot))).reason()).toBe('it calls openai::m again')
  })

  it('fails again if another model was asked then, and invalidates the part otherwise', async () => {
    const ladder =
      (answer: () => unknown, isCaught = true): Work =>
      async (effects, at) => {
        const ask = (number: number, act: () => unknown): Promise<unknown> =>
          effects.perform(
            at(`ask#${number}`),
            effectOf({ kind: 'model', request: { provider: `m${number}` }, repeat: 'safe' }),
            async () => act(),
          )
        const fail = (): never => {
          throw new BatonError('MODEL_FAILED', 'overloaded')
        }
        const first = await ask(0, fail).catch((error: unknown) => (error as Error).message)
        return isCaught ? [first, await ask(1, answer)] : first
      }
    expect(
      await look(
        ladder(() => 'yes'),
        ladder(mustNot),
      ),
    ).toMatchObject({ value: ['overloaded', 'yes'], told: [] })
    expect(
      (
        await look(
          ladder(() => 'yes', false),
          ladder(mustNot, false),
        )
      ).reason(),
    ).toBe('m0 had failed')
  })
})

describe('a change that a part makes', () => {
  const record = { op: 'write', path: 'out.txt', before: null, after: 'abc' }

  it('is not made again while it is in place, and recorded as before', async () => {
    const plan = (): never => mustNot()
    const { value, committed } = await look(changing('out.txt', record), (effects, at) =>
      effects.changeFile(at('save#0'), { op: 'write', path: 'out.txt' }, plan),
    )
    expect(value).toBe(true)
    const records = committed()
    const started = records.find(({ k }) => k === 'started')
    expect(started).toMatchObject({ kind: 'file', request: record })
    expect(records.find(({ k }) => k === 'ended')).toMatchObject({ s: started?.n, kind: 'file', status: 'ok' })
  })

  it('invalidates the part for the given reason', async () => {
    const hooks: Hooks = {
      whyChangeAgain(given) {
        expect(given).toEqual(record)
        return 'out.txt has changed since'
      },
    }
    const { reason } = await look(changing('out.txt', record), changing('out.txt', record), hooks)
    expect(reason()).toBe('out.txt has changed since')
  })

  it('invalidates the part when it is a different file', async () => {
    const { reason } = await look(changing('out.txt', record), changing('new.txt', record))
    expect(reason()).toBe('it changes new.txt, which it did not before')
  })

  it('may do nothing, as before, and no more than that', async () => {
    const nothing = changing('out.txt', undefined)
    expect(await look(nothing, nothing)).toMatchObject({ value: false, told: [] })
    expect((await look(nothing, changing('out.txt', record))).reason()).toBe('out.txt has changed since')
  })
})

describe('a part with any other effect', () => {
  it.each([
    ['command', 'it runs a command'],
    ['http', 'it makes an HTTP request'],
    ['tool', 'it uses a tool'],
    ['git', 'it uses git'],
  ] as const)('is invalid: %s', async (kind, expected) => {
    const work =
      (act: () => unknown): Work =>
      (effects, at) =>
        effects.perform(at('x#0'), effectOf({ kind, repeat: 'safe' }), async () => act())
    expect(
      (
        await look(
          work(() => 1),
          work(mustNot),
        )
      ).reason(),
    ).toBe(expected)
  })

  it('stays invalid for the first reason, even if a script catches the error', async () => {
    const hiding =
      (text: string): Work =>
      (effects, at) => {
        for (const number of [0, 1]) {
          try {
            effects.observe(at(`read#${number}`), loadOf(`${number}.txt`), () => text)
          } catch {
            // as pcall does
          }
        }
        return 'fine'
      }
    const { reason, told, error } = await look(hiding('one'), hiding('two'))
    expect([reason(), told]).toEqual(['0.txt changed', ['0.txt changed']])
    expect(error).toMatchObject({ name: 'AbortError' })
  })
})

describe('the record of an unchanged part', () => {
  it('equals that of a part that was executed now, with its calls, its events and its end in order', async () => {
    const inner: Work = (effects, at) =>
      effects.boundary(at('chunk'), async () =>
        effects.call(at('chunk#0'), { name: 'print', args: ['x'] }, () => reading('one')(effects, at)),
      )
    const looked = await look(inner, inner)
    const shown: string[] = []
    looked.later(() => shown.push('event'))
    expect(shown).toEqual([])
    expect(looked.committed().map(({ k, ...rest }) => [k, 'p' in rest ? rest.p : ''])).toEqual([
      ['begin', 'task/1'],
      ['begin', 'task/1/chunk'],
      ['obs', 'task/1/read#0'],
      ['call', 'task/1/chunk#0'],
      ['done', 'task/1/chunk'],
      ['done', 'task/1'],
    ])
    expect(shown).toEqual(['event'])
  })
})
