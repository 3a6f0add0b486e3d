import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import type { Effects, PlannedChange, CallRequest } from '../../src/event/effects.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { boundaryKey, fingerprint } from '../../src/journal/matching.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import type { Entry, JournalRecord } from '../../src/journal/record.ts'
import { createResumedEffects, type ResumeOptions } from '../../src/journal/resumed-effects.ts'
import { placeText } from '../../src/event/place.ts'
import { createMask, noMask, type SecretMask } from '../../src/journal/secrets.ts'
import type { ChangeState } from '../../src/journal/tree.ts'
import { recordChoices, findUnfinishedEffects } from '../../src/journal/uncertain.ts'
import { begin, call, done, ended, failed, failure, indexOf, obs, started } from './fixtures/records.ts'
import { placeAt, type AnyEffect, openGate, effectOf } from '../helpers/effects.ts'

interface Resumed {
  readonly effects: Effects
  /** What the new process has recorded. */
  readonly records: readonly JournalRecord[]
  /** Effects that are done again. */
  readonly repeated: readonly string[]
  /** What failed and is done again. */
  readonly retried: readonly string[]
  readonly shown: readonly unknown[]
  /** Files that were answered from the record but differ now, and what reads them again. */
  readonly stale: readonly string[]
  /** What was really done, by the functions below. */
  readonly acts: string[]
}

interface Setup extends Partial<Pick<ResumeOptions, 'usesCurrent'>> {
  /** What the disk shows about file changes without a recorded end. */
  readonly stateOf?: () => ChangeState
  readonly mask?: SecretMask
}

async function resume(
  epochs: readonly (readonly Entry[])[],
  { mask = noMask, usesCurrent = false, stateOf = () => 'before' }: Setup = {},
): Promise<Resumed> {
  const index = await indexOf(epochs, { mask, keeps: usesCurrent ? 'everything' : 'unfinished' })
  const records: JournalRecord[] = []
  const repeated: string[] = []
  const retried: string[] = []
  const shown: unknown[] = []
  const stale: string[] = []
  const journal = createMemoryJournal({ epoch: epochs.length + 1, mask, keep: (record) => records.push(record) })
  const live = createEffects({ ...openGate, journal, signal: new AbortController().signal })
  const { found } = findUnfinishedEffects(index, { stateOf, presentText: () => '' })
  recordChoices(found, journal, index)
  const effects = createResumedEffects({
    index,
    journal,
    live,
    usesCurrent,
    onRepeat: ({ id, place, kind }) => repeated.push(`${id} ${kind} ${place}`),
    onRetry: ({ at, error }) => retried.push(`${placeText(at)}: ${error}`),
    onRecall: () => {},
    onShow: ({ event }) => shown.push(event),
    onStale: ({ path, boundary }) => stale.push(`${path}: ${boundary}`),
  })
  return { effects, records, repeated, retried, shown, stale, acts: [] }
}

const at = placeAt('s#0')
const time = { name: 'time', args: [] }
const run = { name: 'run', args: [] }
const model = effectOf({ kind: 'model', request: { ask: 1 }, repeat: 'safe' })
const command = effectOf<unknown>({ kind: 'command', request: 'rm', repeat: 'unsafe', assumed: 'assumed' })
const change = { op: 'write', path: 'a.md' }
const print = (request: Json): { readonly fp: string } => ({ fp: fingerprint(request, noMask) })
const modelStart = started('s#0', print(model.request))
const commandStart = started('s#0', { kind: 'command', repeat: 'unsafe', ...print('rm') })
const fileStart = started('s#0', { kind: 'file', ...print(change), request: { ...change, before: null, after: 'ff' } })
const otherStart = { kind: 'file', request: { ...change, path: 'b', before: null, after: 'ff' } } as const
const choice = (word: 'redo' | 'done' | 'fail' | 'found'): Entry => ({
  k: 'choice',
  p: 's#0',
  of: [1, 1],
  choice: word,
})
const obsError: Entry = { k: 'obs', p: 's#0', name: 'time', args: [], status: 'error', error: failure }
const callError: Entry = { ...obsError, k: 'call', name: 'run' }
const later = obs('s#1')

const observe = ({ effects, acts }: Resumed): unknown => effects.observe(at, time, () => acts.push('read') && 'live')
const callIt = ({ effects, acts }: Resumed): unknown => effects.call(at, run, () => acts.push('called') && 'live')
const performing =
  (effect: AnyEffect<unknown>) =>
  ({ effects, acts }: Resumed) =>
    effects.perform(at, effect, async () => acts.push('acted') && 'live')
const plan =
  ({ acts }: Resumed) =>
  (): PlannedChange => ({
    record: { ...change, before: null, after: 'ff' },
    act: () => void acts.push('written'),
  })
const write = (one: Resumed): unknown => one.effects.changeFile(at, change, plan(one))

type Row = readonly [what: string, epochs: readonly (readonly Entry[])[], expected: unknown, acts: readonly string[]]

function table(name: string, ask: (one: Resumed) => unknown, rows: readonly Row[]): void {
  describe(name, () => {
    it.each(rows)('%s', async (_, epochs, expected, acts) => {
      const one = await resume(epochs)
      const given = await (async () => ask(one))().catch((error: unknown) => {
        const { code, message } = error as { readonly code?: string; readonly message: string }
        return code ?? message
      })
      expect([given, one.acts]).toEqual([expected, acts])
    })
  })
}

table('an observation', observe, [
  ['is the recorded one', [[obs('s#0')]], 's#0', []],
  ['may have been nothing', [[{ k: 'obs', p: 's#0', ...time, status: 'ok' }]], undefined, []],
  ['is made where the record has none', [[begin('s')]], 'live', ['read']],
  ['fails as recorded where the script went on', [[obsError, later]], 'no', []],
  ['is made again where it failed last', [[obsError]], 'live', ['read']],
  ['is the newest of several', [[obs('s#0', 'old')], [obs('s#0', 'new')]], 'new', []],
  ['is made in a call that is made again', [[callError]], 'live', ['read']],
  ['diverges by its name', [[{ ...obs('s#0'), name: 'date' } as Entry]], 'DIVERGED', []],
  ['diverges by its arguments', [[{ ...obs('s#0'), args: [1] } as Entry]], 'DIVERGED', []],
  ['diverges where a call had returned', [[call('s#0')]], 'DIVERGED', []],
  ['diverges where an effect had begun', [[modelStart]], 'DIVERGED', []],
])

table('a call of a script', callIt, [
  ['is the recorded one', [[call('s#0')]], 's#0', []],
  ['is made when it has not returned, whatever it did', [[obs('s#0'), modelStart, obs('s#0/x')]], 'live', ['called']],
  ['fails as recorded where the script went on', [[callError, later]], 'no', []],
  ['is made again where it failed last', [[callError]], 'live', ['called']],
  ['diverges by its name', [[{ ...call('s#0'), name: 'date' } as Entry]], 'DIVERGED', []],
  ['diverges by its arguments', [[{ ...call('s#0'), args: [1] } as Entry]], 'DIVERGED', []],
])

table('a model call', performing(model), [
  ['is the recorded one', [[modelStart, ended('s#0', 1)]], 's#0', []],
  ['is made where the record has none', [[begin('s')]], 'live', ['acted']],
  ['is made again when its end is not known', [[modelStart]], 'live', ['acted']],
  ['is made again when it failed', [[modelStart, failed('s#0', 1)]], 'live', ['acted']],
  ['fails as recorded where the script went on', [[modelStart, failed('s#0', 1), later]], 'no', []],
  ['is the recorded one in a call that failed after it', [[modelStart, ended('s#0', 1), callError]], 's#0', []],
  ['is made in a call that failed before it', [[callError]], 'live', ['acted']],
  ['is the late one of an overtaken writer', [[modelStart, ended('s#0', 1)], [modelStart]], 's#0', []],
  ['diverges by its request', [[started('s#0', print('other'))]], 'DIVERGED', []],
  ['diverges by its kind', [[started('s#0', { ...print(model.request), kind: 'http' })]], 'DIVERGED', []],
  ['diverges where something was read', [[obs('s#0')]], 'DIVERGED', []],
])

table('a command', performing(command), [
  ['is the recorded one', [[commandStart, ended('s#0', 1)]], 's#0', []],
  ['needs a choice when its end is not known', [[commandStart]], 'UNCERTAIN', []],
  ['needs a choice when it failed', [[commandStart, failed('s#0', 1)]], 'UNCERTAIN', []],
  ['fails as recorded where the script went on', [[commandStart, failed('s#0', 1), later]], 'no', []],
  ['is run again by choice', [[commandStart], [choice('redo')]], 'live', ['acted']],
  ['is run again by choice after it failed', [[commandStart, failed('s#0', 1)], [choice('redo')]], 'live', ['acted']],
  ['counts as done by choice', [[commandStart], [choice('done')]], 'assumed', []],
  ['counts as failed by choice', [[commandStart], [choice('fail')]], 'SCRIPT_FAILED', []],
  ['needs another choice when it was begun again', [[commandStart], [choice('redo'), commandStart]], 'UNCERTAIN', []],
])

const agentCommand = effectOf<unknown>({ kind: 'command', request: 'rm', repeat: 'ended', assumed: 'assumed' })
const agentStart = started('s#0', { kind: 'command', repeat: 'ended', ...print('rm') })
const stopped: Entry = { k: 'ended', p: 's#0', s: 1, kind: 'command', status: 'cancelled', error: failure }

table('a program of an agent', performing(agentCommand), [
  ['is the recorded one', [[agentStart, ended('s#0', 1)]], 's#0', []],
  ['needs a choice when its end is not known', [[agentStart]], 'UNCERTAIN', []],
  ['is run again when it failed', [[agentStart, failed('s#0', 1)]], 'live', ['acted']],
  ['is run again when it was stopped', [[agentStart, stopped]], 'live', ['acted']],
  ['fails as recorded where the script went on', [[agentStart, failed('s#0', 1), later]], 'no', []],
  ['needs a choice when it was begun again', [[agentStart, failed('s#0', 1)], [agentStart]], 'UNCERTAIN', []],
  ['is run again by choice', [[agentStart], [choice('redo')]], 'live', ['acted']],
  ['counts as done by choice', [[agentStart], [choice('done')]], 'assumed', []],
])

it('reports how a program of an agent ended before it is run again', async () => {
  const crashed = await resume([[agentStart, failed('s#0', 1)]])
  await performing(agentCommand)(crashed)
  expect([crashed.retried, crashed.repeated]).toEqual([['s#0: no'], []])
  const interrupted = await resume([[agentStart, stopped]])
  await performing(agentCommand)(interrupted)
  expect([interrupted.retried, interrupted.repeated]).toEqual([[], ['1.1 command s#0']])
})

it('asks about interrupted programs of agents before the run continues, but not about failed ones', async () => {
  const other = { ...agentStart, p: 's#1' }
  const index = await indexOf([[begin('s'), agentStart, failed('s#0', 2), other]])
  const { uncertain } = findUnfinishedEffects(index, { stateOf: () => 'before', presentText: () => '' })
  expect(uncertain.map(({ place }) => place)).toEqual(['s#1'])
})

table('a command that cannot be assumed', performing(effectOf({ kind: 'command', request: 'rm', repeat: 'unsafe' })), [
  ['needs another choice than done', [[commandStart], [choice('done')]], 'UNCERTAIN', []],
])

table('a change of a file', write, [
  ['was made', [[fileStart, ended('s#0', 1)]], true, []],
  ['is made where the record has none', [[begin('s')]], true, ['written']],
  ['is made again when it failed', [[fileStart, failed('s#0', 1)]], true, ['written']],
  ['fails as recorded where the script went on', [[fileStart, failed('s#0', 1), later]], 'no', []],
  ['was not needed', [[{ k: 'obs', p: 's#0', name: 'file.change', args: change, status: 'ok' }]], false, []],
  [
    'is made when it was refused last',
    [[{ ...obsError, name: 'file.change', args: change } as Entry]],
    true,
    ['written'],
  ],
  ['is made in a call that failed before it', [[callError]], true, ['written']],
  [
    'was made after it had been refused',
    [
      [{ ...obsError, name: 'file.change', args: change } as Entry, callError],
      [fileStart, ended('s#0', 1)],
    ],
    true,
    [],
  ],
  ['counts as done by choice', [[fileStart], [choice('done')]], true, []],
  ['counts as done when it was found so', [[fileStart], [choice('found')]], true, []],
  ['counts as failed by choice', [[fileStart], [choice('fail')]], 'SCRIPT_FAILED', []],
  ['diverges by its path', [[started('s#0', { ...otherStart, ...print({ op: 'write', path: 'b' }) })]], 'DIVERGED', []],
  ['diverges where something else was read', [[obs('s#0')]], 'DIVERGED', []],
])

describe('a file change with an unknown end', () => {
  it.each([
    ['before', true, ['written'], ['1.1 file s#0'], ['choice', 'started', 'ended']],
    ['after', true, [], [], ['choice']],
  ] as const)('and the files as %s it', async (state, given, acts, repeated, kinds) => {
    const one = await resume([[fileStart]], { stateOf: () => state })
    expect(write(one)).toBe(given)
    expect([one.acts, one.repeated, one.records.map(({ k }) => k)]).toEqual([acts, repeated, kinds])
  })

  it('needs a choice when the files match neither state', async () => {
    const one = await resume([[fileStart]], { stateOf: () => 'neither' })
    expect(() => write(one)).toThrow(expect.objectContaining({ code: 'UNCERTAIN' }))
    expect(one.acts).toEqual([])
  })
})

it('lists what is repeated, and nothing else', async () => {
  for (const [records, repeated] of [
    [[modelStart], ['1.1 model s#0']],
    [[modelStart, failed('s#0', 1)], []],
    [[modelStart, { ...failed('s#0', 1), status: 'cancelled' } as Entry], ['1.1 model s#0']],
    [[modelStart, ended('s#0', 1)], []],
  ] as const) {
    const one = await resume([records])
    await performing(model)(one)
    expect(one.repeated).toEqual(repeated)
  }
})

describe('a boundary', () => {
  const work = ({ effects, acts }: Resumed, inputs = {}): Promise<unknown> =>
    effects.boundary(placeAt('s'), async () => [acts.push('worked'), effects.observe(at, time, () => 'live')][1], {
      inputs,
    })

  it('is restored when it is finished, and shows its output again', async () => {
    const show: Entry = { k: 'show', p: 's/x', event: { type: 'print', text: 'hi' } }
    const one = await resume([[begin('s'), show, done('s', { text: 'A' })]])
    expect(await work(one)).toEqual({ text: 'A' })
    expect([one.acts, one.shown, one.records]).toEqual([[], [{ type: 'print', text: 'hi' }], []])
  })

  it('continues where it was interrupted, and is finished in the new record', async () => {
    const one = await resume([[begin('s'), obs('s#0')]])
    expect(await work(one)).toBe('s#0')
    expect(one.records).toMatchObject([{ k: 'done', p: 's', value: 's#0' }])
  })

  it.each([
    ['changed', { code: 'new' }],
    ['gone', {}],
    ['new', { code: 'old', data: 1 }],
  ])('is rerun completely when an input is %s', async (_, inputs) => {
    const key = boundaryKey({ code: 'old' }, noMask)
    const one = await resume([[{ k: 'begin', p: 's', key }, obs('s#0'), done('s')]])
    expect(await work(one, inputs)).toBe('live')
    expect(one.records.map(({ k }) => k)).toEqual(['begin', 'obs', 'done'])
    const same = await resume([[{ k: 'begin', p: 's', key }, obs('s#0'), done('s')]])
    expect(await work(same, { code: 'old', data: undefined })).toBe('s')
  })

  describe('whose inputs are compared by the boundaries in it', () => {
    const key = boundaryKey({ code: 'same', steps: 'old' }, noMask)
    const first: readonly Entry[] = [
      { k: 'begin', p: 's', key },
      begin('s/a'),
      done('s/a'),
      begin('s/b'),
      done('s/b'),
      done('s'),
    ]
    const again = (
      { effects, acts }: Resumed,
      inputs: object,
      keys: Readonly<Record<string, unknown>>,
    ): Promise<unknown> =>
      effects.boundary(
        placeAt('s'),
        async () => {
          const names = Object.keys(keys)
          return Promise.all(
            names.map((name) =>
              effects.boundary(placeAt(`s/${name}`), async () => (acts.push(name), `live ${name}`), {
                inputs: { ...(keys[name] as object) },
              }),
            ),
          )
        },
        { inputs: { ...inputs }, partInputs: ['steps'] },
      )

    it('is restored while they are the same', async () => {
      const one = await resume([first])
      expect(await again(one, { code: 'same', steps: 'old' }, { a: {}, b: {} })).toBe('s')
      expect(one.records).toEqual([])
    })

    it('is entered again when one of them differs, and keeps unaffected parts', async () => {
      const one = await resume([first], { usesCurrent: true })
      expect(await again(one, { code: 'same', steps: 'new' }, { a: {}, b: { code: 1 } })).toEqual(['s/a', 'live b'])
      expect(one.acts).toEqual(['b'])
      expect(one.records.map(({ k, ...record }) => [k, 'p' in record ? record.p : ''])).toEqual([
        ['begin', 's'],
        ['begin', 's/b'],
        ['done', 's/b'],
        ['done', 's'],
      ])

      // what a later process finds: all of it is done, or continues where the earlier process was interrupted
      const second: readonly Entry[] = one.records.map(({ e: _e, n: _n, ...entry }) => entry as Entry)
      const later = await resume([first, second])
      expect(await again(later, { code: 'same', steps: 'new' }, { a: {}, b: { code: 1 } })).toEqual(['s/a', 'live b'])
      expect(later.acts).toEqual([])
      const broken = await resume([first, second.slice(0, 2)])
      expect(await again(broken, { code: 'same', steps: 'new' }, { a: {}, b: { code: 1 } })).toEqual(['s/a', 'live b'])
      expect(broken.acts).toEqual(['b'])
    })

    it('is rerun completely when anything else differs', async () => {
      const one = await resume([first], { usesCurrent: true })
      expect(await again(one, { code: 'other', steps: 'old' }, { a: {}, b: {} })).toEqual(['live a', 'live b'])
    })
  })

  it('keeps finished parts when it is unfinished', async () => {
    const one = await resume([[begin('s'), begin('s/a'), done('s/a'), begin('s/b')]])
    const inner = (name: string): Promise<string> =>
      one.effects.boundary(placeAt(`s/${name}`), async () => `live ${name}`)
    expect(await one.effects.boundary(placeAt('s'), async () => [await inner('a'), await inner('b')])).toEqual([
      's/a',
      'live b',
    ])
  })

  it('is repeated if it had failed, and reports a new failure', async () => {
    const why: Entry = { k: 'failed', p: 's', error: failure }
    const one = await resume([[begin('s'), obs('s#0'), why]])
    expect(await work(one)).toBe('s#0')
    expect(one.records).toMatchObject([{ k: 'done', p: 's' }])

    const other = await resume([[begin('s'), obs('s#0'), why]])
    await expect(other.effects.boundary(placeAt('s'), () => Promise.reject(new Error('again')))).rejects.toThrow(
      'again',
    )
    expect(other.records).toMatchObject([{ k: 'failed', p: 's', error: { message: 'again' } }])
  })

  it('is not finished by a value that is not final', async () => {
    const one = await resume([[begin('s')]])
    await one.effects.boundary(placeAt('s'), async () => 'bad', { isFinal: () => false })
    expect(one.records).toEqual([])
  })
})

describe('an error that stops the run', () => {
  it.each([
    ['DIVERGED', obs('s#0', 1)],
    ['UNCERTAIN', started('s#0', { kind: 'command', repeat: 'unsafe', ...print('rm') })],
  ])('%s is thrown by every later call, and nothing is finished any more', async (code, record) => {
    const one = await resume([[begin('s'), record, begin('old'), done('old')]])
    const { effects, acts } = one
    const swallowed = (work: () => unknown): void => {
      expect(work).toThrow(expect.objectContaining({ code }))
    }
    const caught = effects.boundary(placeAt('s'), async () => {
      await expect(effects.perform(at, command, async () => acts.push('acted'))).rejects.toMatchObject({ code })
      swallowed(() => effects.observe(placeAt('s#1'), time, () => acts.push('read')))
      swallowed(() => effects.call(placeAt('s#1'), run, () => acts.push('called')))
      swallowed(() => effects.changeFile(placeAt('s#1'), change, plan(one)))
      await expect(effects.boundary(placeAt('old'), async () => acts.push('worked'))).rejects.toMatchObject({ code })
      return 'caught'
    })
    await expect(caught).rejects.toMatchObject({ code })
    expect([acts, one.records]).toEqual([[], []])
  })

  it('leaves concurrent and catching calls and new boundaries without an end', async () => {
    const one = await resume([[begin('s'), obs('s#0', 1)]])
    const { effects } = one
    let goOn = (): void => undefined
    const beside = effects.boundary(placeAt('new'), async () => {
      await new Promise<void>((resolve) => (goOn = resolve))
      return 'wrong'
    })
    const outer = effects.call(placeAt('s#0'), run, async () => {
      await effects.perform(at, model, async () => 1).catch(() => undefined)
      return 'wrong'
    })
    await expect(outer).rejects.toMatchObject({ code: 'DIVERGED' })
    goOn()
    await expect(beside).rejects.toMatchObject({ code: 'DIVERGED' })
    expect(one.records).toMatchObject([{ k: 'begin', p: 'new' }])
  })

  it('names both calls and the part that can be rerun', async () => {
    const one = await resume([
      [begin('a'), begin('a/s'), { ...obs('a/s#0'), name: 'aip.file.load', args: ['old.md'] } as Entry],
    ])
    expect(() => one.effects.observe(placeAt('a/s#0'), { name: 'aip.file.load', args: ['new.md'] }, () => 1)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(
          'at a/s#0 it calls aip.file.load("new.md"), but the record has aip.file.load("old.md")',
        ),
        hint: expect.stringContaining('--from a/s;'),
      }),
    )
  })
})

describe('values', () => {
  const large = 'large '.repeat(20_000)

  it('are restored with their secrets, bytes and special numbers, and are compared with them', async () => {
    const mask = createMask({ OPENAI_API_KEY: 'sk-secret-0123' })
    const value = { key: 'sk-secret-0123', bytes: new Uint8Array([0, 255]), list: [undefined, -0, 2n ** 70n] }
    const asked = { name: 'load', args: ['sk-secret-0123', large] }
    const records: Entry[] = [
      { k: 'obs', p: 's#0', ...asked, status: 'ok', value },
      started('s#1', { fp: fingerprint(['sk-secret-0123'], mask) }),
      ended('s#1', 2, value),
    ]
    const one = await resume([records], { mask })
    expect(one.effects.observe(at, asked, () => 1)).toEqual(value)
    expect(await one.effects.perform(placeAt('s#1'), { ...model, request: ['sk-secret-0123'] }, async () => 1)).toEqual(
      value,
    )
  })
})

it('a recorded error is restored with its secrets, however long it is', async () => {
  const mask = createMask({ OPENAI_API_KEY: 'sk-secret-0123' })
  const message = `refused: sk-secret-0123 ${'long '.repeat(20_000)}`
  const error = { status: 'error', error: { type: 'other', message } } as const
  const one = await resume([[{ k: 'obs', p: 's#0', ...time, ...error }, obs('s#1')]], { mask })
  expect(() => one.effects.observe(at, time, () => 1)).toThrow(expect.objectContaining({ message }))
})

describe('with the current sources', () => {
  it('a different call outside of boundaries is executed; inside a boundary it diverges', async () => {
    const free = await resume([[obs('s#0', 1), obs('s#1')]], { usesCurrent: true })
    expect(free.effects.observe(at, { name: 'other', args: [] }, () => 'live')).toBe('live')
    expect(free.effects.observe(placeAt('s#1'), time, () => 'live')).toBe('s#1')
    const bound = await resume([[begin('s'), obs('s#0', 1)]], { usesCurrent: true })
    expect(() => bound.effects.observe(at, { name: 'other', args: [] }, () => 1)).toThrow(
      expect.objectContaining({ code: 'DIVERGED' }),
    )
  })

  it('the next resume uses what was recorded then', async () => {
    const old = [modelStart, ended('s#0', 1, 'old')]
    const now = [started('s#0', print('now')), ended('s#0', 1, 'now')]
    const one = await resume([old, now])
    expect(await one.effects.perform(at, { ...model, request: 'now' }, async () => 'live')).toBe('now')
  })
})

function fail(): never {
  throw new Error('gone')
}

describe('a file that is answered from the record', () => {
  const load = { name: 'aip.file.load', args: ['a.md'], reads: 'a.md' }
  const file = (content: string, mtime: number): Json => [{ path: 'a.md', content, mtime }]
  const read = async (call: CallRequest, now: () => Json): Promise<readonly string[]> => {
    const recorded = { name: call.name, args: call.args, status: 'ok', value: file('one', 1) } as const
    const { effects, stale } = await resume([[begin('s'), { k: 'obs', p: 's#0', ...recorded }]])
    expect(await effects.boundary(placeAt('s'), async () => effects.observe(at, call, now))).toEqual(file('one', 1))
    return stale
  }

  it.each([
    ['the same', load, () => file('one', 1), []],
    ['written again', load, () => file('one', 2), []],
    ['another one', load, () => file('two', 1), ['a.md: s']],
    ['gone', load, fail, ['a.md: s']],
    ['not what was read', { name: 'aip.file.exists', args: ['a.md'] }, () => file('two', 1), []],
  ] as const)('is reported when it is %s: %j', async (_, call, now, told) => {
    expect(await read({ ...call, args: [...call.args] }, now)).toEqual(told)
  })
})
