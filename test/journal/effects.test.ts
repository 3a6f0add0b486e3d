import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError, StopSignal } from '../../src/base/error.ts'
import type { EffectRequest, Effects, PlannedChange } from '../../src/event/effects.ts'
import type { Budget } from '../../src/journal/budget.ts'
import { createEffects, type EffectsOptions } from '../../src/journal/effects.ts'
import { createMemoryEffects } from '../helpers/memory-journal.ts'
import { openRun } from '../../src/journal/store.ts'
import { createFaultyFiles } from './fixtures/faulty-files.ts'
import { createMortalOwners, newRunFolder, recordsIn } from './fixtures/run-folder.ts'
import { placeAt, effectOf, spentOf } from '../helpers/effects.ts'
import { item, placeText } from '../../src/event/place.ts'

const now = (): Date => new Date(0)
const model = effectOf({ kind: 'model', request: { b: 1, a: 'ask' }, repeat: 'safe' })
const spent = spentOf({ input: 8, output: 4, costUsd: 0.5 })

const stopped = new StopSignal('SIGTERM', 143)

interface Started {
  readonly effects: Effects
  readonly folder: string
  readonly close: () => Promise<void>
}

async function start(options: Partial<EffectsOptions> & { readonly folder?: string } = {}): Promise<Started> {
  const { folder = newRunFolder(), ...rest } = options
  const journal = options.journal ?? (await openRun({ folder, now }))
  const effects = createEffects({
    signal: new AbortController().signal,
    permission: { check: () => ({ kind: 'allow' }) },
    onSpent: () => {},
    ...rest,
    journal,
  })
  return { effects, folder, close: () => journal.close() }
}

describe('observe', () => {
  it('returns what was read and records it with its call', async () => {
    const { effects, folder, close } = await start()
    expect(effects.observe(placeAt('task/0/data#1'), { name: 'file.load', args: ['a/b.md'] }, () => 'text')).toBe(
      'text',
    )
    expect(effects.observe(placeAt('task/0/data#2'), { name: 'nothing', args: null }, () => undefined)).toBe(undefined)
    await close()
    const head = { e: 1, t: 0, k: 'obs' }
    expect(await recordsIn(folder)).toEqual([
      { ...head, n: 1, p: 'task/0/data#1', name: 'file.load', args: ['a/b.md'], status: 'ok', value: 'text' },
      { ...head, n: 2, p: 'task/0/data#2', name: 'nothing', args: null, status: 'ok' },
    ])
  })

  it('records errors with code, hint and place, and rethrows them', () => {
    const effects = createMemoryEffects()
    const thrown = new BatonError('FILE_UNREADABLE', 'no such file', {
      hint: 'make it',
      place: { file: 'a.md', line: 3, text: 'whole text' },
    })
    const system = Object.assign(new Error('disk'), { code: 'EIO' })
    for (const error of [thrown, system, 'text']) {
      const read = (): never => {
        throw error
      }
      expect(() => effects.observe(placeAt('a'), { name: 'load', args: [] }, read)).toThrow(
        error instanceof Error ? error : 'text',
      )
    }
    expect(effects.records.map((record) => 'error' in record && record.error)).toEqual([
      {
        type: 'baton',
        code: 'FILE_UNREADABLE',
        message: 'no such file',
        hint: 'make it',
        place: { file: 'a.md', line: 3 },
      },
      { type: 'system', code: 'EIO', message: 'disk' },
      { type: 'other', message: 'text' },
    ])
  })

  it('allows one place to be used twice', () => {
    const effects = createMemoryEffects()
    for (const value of [1, 2]) effects.observe(placeAt('a'), { name: 'time', args: [] }, () => value)
    expect(effects.records).toMatchObject([
      { n: 1, p: 'a', value: 1 },
      { n: 2, p: 'a', value: 2 },
    ])
  })
})

describe('changeFile', () => {
  const asked = { op: 'write', path: 'a.md' }
  const request = { ...asked, before: null, after: 'ff' }
  const doing = (act: PlannedChange['act']) => (): PlannedChange => ({ record: request, act })

  it('writes its start before anything is changed, and its end afterwards', async () => {
    const { effects, folder, close } = await start()
    let atAct: Promise<readonly unknown[]> | undefined
    const hasChanged = effects.changeFile(
      placeAt('data#0'),
      asked,
      doing((disk) => {
        expect(disk('/w/a.md')).toBe('/w/a.md')
        atAct = recordsIn(folder)
      }),
    )
    expect(hasChanged).toBe(true)
    expect(await atAct).toMatchObject([{ k: 'started', p: 'data#0', kind: 'file', repeat: 'safe', request }])
    await close()
    expect(await recordsIn(folder)).toMatchObject([{ n: 1 }, { k: 'ended', s: 1, kind: 'file', status: 'ok' }])
  })

  it('records a failed change and rethrows the error', () => {
    const effects = createMemoryEffects()
    const act = (): never => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    }
    expect(() => effects.changeFile(placeAt('data#0'), asked, doing(act))).toThrow('full')
    expect(effects.records[1]).toMatchObject({
      status: 'error',
      error: { type: 'system', code: 'ENOSPC', message: 'full' },
    })
  })

  it('changes nothing when its start cannot be recorded', async () => {
    const journal = await openRun({
      folder: newRunFolder(),
      now,
      files: createFaultyFiles({ operation: 3, when: 'before', code: 'ENOSPC' }),
    })
    const { effects } = await start({ journal })
    let changed = false
    const act = (): void => {
      changed = true
    }
    expect(() => effects.changeFile(placeAt('a'), asked, doing(act))).toThrow('ENOSPC')
    expect(changed).toBe(false)
    await expect(journal.close()).rejects.toThrow('ENOSPC')
  })

  it('records the state of the disk when nothing is to be changed or the change is impossible', () => {
    const effects = createMemoryEffects()
    const refuse = (): never => {
      throw new BatonError('OUTSIDE_WORKSPACE', 'not there')
    }
    expect(effects.changeFile(placeAt('data#0'), asked, () => undefined)).toBe(false)
    expect(() => effects.changeFile(placeAt('data#1'), asked, refuse)).toThrow('not there')
    expect(effects.records).toMatchObject([
      { k: 'obs', p: 'data#0', name: 'file.change', args: asked, status: 'ok' },
      { k: 'obs', p: 'data#1', args: asked, status: 'error', error: { code: 'OUTSIDE_WORKSPACE' } },
    ])
  })
})

describe('perform', () => {
  it('records start and end with place, request, fingerprint, value and cost', async () => {
    const { effects, folder, close } = await start()
    const effect = { ...model, estimate: { tokens: 20 }, costOf: () => spent }
    const answer = await effects.perform([item('task'), item('a/b')], effect, async () => ({
      text: 'hi',
    }))
    expect(answer).toEqual({ text: 'hi' })
    await close()
    const p = 'task/a%2Fb'
    const fp = expect.stringMatching(/^[0-9a-f]{64}$/) as string
    const { kind, repeat, request } = model
    expect(await recordsIn(folder)).toEqual([
      { e: 1, n: 1, t: 0, k: 'started', p, kind, repeat, fp, request, estimate: { tokens: 20 } },
      {
        e: 1,
        n: 2,
        t: 0,
        k: 'ended',
        p,
        s: 1,
        kind,
        status: 'ok',
        value: { text: 'hi' },
        cost: { calls: 1, tokens: 12, usd: 0.5 },
        spent: [spent],
      },
    ])
  })

  it('computes the same fingerprint for equal requests, whatever the order of their keys and the secrets in them', async () => {
    const mask = (value: string) => ({
      mask: (text: string) => text.replaceAll(value, '«»'),
      hide: (text: string) => text.replaceAll(value, '«»'),
      unmask: (text: string) => text,
    })
    const prints = async (value: string, request: EffectRequest<unknown>['request']): Promise<unknown> => {
      const effects = createMemoryEffects({ mask: mask(value) })
      await effects.perform(placeAt('a'), { ...model, request }, async () => 1)
      return effects.records[0]?.k === 'started' && effects.records[0].fp
    }
    const first = await prints('key-one', { a: 1, b: { c: 'key-one', d: null } })
    expect(await prints('key-two', { b: { d: null, c: 'key-two' }, a: 1 })).toBe(first)
    expect(await prints('key-two', { b: { d: null, c: 'other' }, a: 1 })).not.toBe(first)
  })

  it('links each end to its own start when calls at one place overlap', async () => {
    const effects = createMemoryEffects()
    const open: (() => void)[] = []
    const calls = ['first', 'second'].map((value) =>
      effects.perform(placeAt('a'), model, async () => {
        await new Promise<void>((resolve) => open.push(resolve))
        return value
      }),
    )
    while (open.length < 2) await Promise.resolve()
    for (const resolve of open.toReversed()) resolve()
    await Promise.all(calls)
    const ends = effects.records.flatMap((record) => (record.k === 'ended' && record.status === 'ok' ? [record] : []))
    expect(ends.map(({ s, value }) => [s, value])).toEqual(
      expect.arrayContaining([
        [1, 'first'],
        [2, 'second'],
      ]),
    )
  })

  it('syncs the end of paid effects and the start of unsafe ones, and nothing else', async () => {
    const syncsOf = async (
      kind: EffectRequest<unknown>['kind'],
      repeat: EffectRequest<unknown>['repeat'],
    ): Promise<readonly number[]> => {
      const files = createFaultyFiles()
      const journal = await openRun({ folder: newRunFolder(), now, files })
      const { effects } = await start({ journal })
      const count = (): number => files.log.filter((name) => name === 'syncData').length
      let atAct = 0
      await effects.perform(placeAt('a'), effectOf({ kind, repeat }), async () => {
        atAct = count()
      })
      const atEnd = count()
      await journal.close()
      return [atAct, atEnd]
    }
    expect(await syncsOf('model', 'safe')).toEqual([0, 1])
    expect(await syncsOf('command', 'unsafe')).toEqual([1, 2])
    expect(await syncsOf('mcp', 'unsafe')).toEqual([1, 1])
    expect(await syncsOf('mcp', 'safe')).toEqual([0, 0])
    expect(await syncsOf('agent', 'safe')).toEqual([0, 0])
  })

  it('writes the end of an unsafe effect before anyone sees it, without waiting for its sync', async () => {
    const { effects, folder, close } = await start()
    await effects.perform(placeAt('a'), effectOf({ kind: 'mcp', repeat: 'unsafe' }), async () => 'answer')
    expect(readFileSync(join(folder, 'j-000001.jsonl'), 'utf8')).toContain('"value":"answer"')
    await close()
  })

  it('records a failure and rethrows it', async () => {
    const effects = createMemoryEffects()
    const failure = new BatonError('MODEL_FAILED', 'the server answered 500', { hint: 'try later' })
    await expect(effects.perform(placeAt('a'), model, () => Promise.reject(failure))).rejects.toBe(failure)
    expect(effects.records[1]).toMatchObject({
      status: 'error',
      error: { type: 'baton', code: 'MODEL_FAILED', message: 'the server answered 500', hint: 'try later' },
    })
  })

  it('records stopped work as cancelled', async () => {
    const stop = new AbortController()
    const effects = createMemoryEffects({ signal: stop.signal })
    const waiting = effects.perform(placeAt('a'), model, (signal) => {
      queueMicrotask(() => stop.abort(new BatonError('ABORTED', 'stopped by Ctrl-C')))
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    })
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' })
    expect(effects.records.map((record) => record.k)).toEqual(['started', 'ended'])
    expect(effects.records[1]).toMatchObject({ status: 'cancelled', error: { message: 'stopped by Ctrl-C' } })
    await expect(effects.perform(placeAt('b'), model, async () => 1)).rejects.toMatchObject({ code: 'ABORTED' })
    expect(effects.records).toHaveLength(2)
  })

  it('starts nothing that is not allowed', async () => {
    const begun: string[] = []
    const effects = createMemoryEffects({
      permission: {
        check: ({ kind }) =>
          kind === 'command' ? { kind: 'deny', reason: 'no shell here', code: 'UNTRUSTED' } : { kind: 'ask' },
      },
    })
    const act = async (): Promise<void> => void begun.push('begun')
    const refused = effects.perform(placeAt('a'), effectOf({ kind: 'command', repeat: 'unsafe' }), act)
    await expect(refused).rejects.toMatchObject({ code: 'UNTRUSTED', message: 'no shell here' })
    const asking = { ...model, action: { kind: 'model', model: 'm', label: 'x::m' } as const }
    await expect(effects.perform(placeAt('a'), asking, act)).rejects.toMatchObject({ code: 'NEEDS_INPUT' })
    expect([begun, effects.records]).toEqual([[], []])
  })

  it('starts nothing in a run that another process has taken over, and keeps unfinished effects', async () => {
    const folder = newRunFolder()
    const owners = createMortalOwners()
    const journal = await openRun({ folder, now, owners })
    const { effects } = await start({ journal })
    let underWay = Promise.resolve()
    let finish = (): void => undefined
    const begunOld = new Promise<void>((begin) => {
      underWay = effects.perform(placeAt('old'), model, () => {
        begin()
        return new Promise<void>((resolve) => (finish = resolve))
      })
    })
    await begunOld
    owners.die()
    const other = await openRun({ folder, now, owners })

    let begun = false
    const act = async (): Promise<void> => {
      begun = true
    }
    const unsafe = effectOf({ kind: 'command', repeat: 'unsafe' })
    for (const effect of [model, unsafe]) {
      await expect(effects.perform(placeAt('new'), effect, act)).rejects.toMatchObject({
        code: 'JOURNAL_FAILED',
        message: 'another process has taken over this run; this one stops here',
      })
    }
    expect(begun).toBe(false)
    finish()
    await underWay
    await Promise.all([journal.close(), other.close()])
    expect(await recordsIn(folder)).toContainEqual(expect.objectContaining({ k: 'ended', p: 'old', status: 'ok' }))
  })

  it('fails a paid call whose end cannot be recorded', async () => {
    const folder = newRunFolder()
    const healthy = createFaultyFiles()
    const sample = await start({ journal: await openRun({ folder: newRunFolder(), now, files: healthy }) })
    await sample.effects.perform(placeAt('a'), model, async () => 'paid')
    const lastWrite = healthy.log.lastIndexOf('write') + 1
    await sample.close()

    const files = createFaultyFiles({ operation: lastWrite, when: 'before', code: 'ENOSPC' })
    const journal = await openRun({ folder, now, files })
    const { effects } = await start({ journal })
    await expect(effects.perform(placeAt('a'), model, async () => 'paid')).rejects.toMatchObject({
      code: 'JOURNAL_FAILED',
    })
    expect(journal.failure.aborted).toBe(true)
    await expect(journal.close()).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(await recordsIn(folder)).toMatchObject([{ k: 'started' }])
  })

  it('reports when effects begin and how they end', async () => {
    const told: string[] = []
    const effects = createMemoryEffects({
      onEffect: (at, { kind, phase }) => told.push(`${placeText(at)} ${kind} ${phase}`),
    })
    await effects.perform(placeAt('a'), model, async () => 1)
    await effects.perform(placeAt('b'), model, () => Promise.reject(new Error('no'))).catch(() => undefined)
    const record = { op: 'delete', path: 'c', before: 'ff', after: null }
    effects.changeFile(placeAt('c'), record, () => ({ record, act: () => undefined }))
    expect(told).toEqual([
      'a model started',
      'a model ok',
      'b model started',
      'b model error',
      'c file started',
      'c file ok',
    ])
  })
})

describe('budget', () => {
  function createLedger(limit: number): { readonly budget: Budget; readonly log: readonly string[] } {
    const log: string[] = []
    const budget: Budget = {
      async reserve({ estimate }, { at }) {
        const tokens = estimate?.tokens ?? 0
        if (tokens > limit) throw new BatonError('LIMIT', 'the budget is used up')
        log.push(`${placeText(at)} reserves ${tokens}`)
        return {
          grant: {},
          settle: (cost) => log.push(`${placeText(at)} settles ${cost === undefined ? 'unknown' : cost.tokens}`),
        }
      },
    }
    return { budget, log }
  }

  it('reserves before an effect and charges the actual cost', async () => {
    const { budget, log } = createLedger(10)
    const effects = createMemoryEffects({ budget })
    await effects.perform(
      placeAt('a'),
      { ...model, estimate: { tokens: 10 }, costOf: () => spentOf({ input: 3 }) },
      async () => log.length,
    )
    await effects.perform(placeAt('b'), model, () => Promise.reject(new Error('no'))).catch(() => undefined)
    expect(log).toEqual(['a reserves 10', 'a settles 3', 'b reserves 0', 'b settles unknown'])
  })

  it('starts nothing that the budget refuses', async () => {
    const effects = createMemoryEffects({ budget: createLedger(10).budget })
    const refused = effects.perform(placeAt('a'), { ...model, estimate: { tokens: 11 } }, async () => 1)
    await expect(refused).rejects.toMatchObject({ code: 'LIMIT' })
    expect(effects.records).toEqual([])
  })

  it('returns the reservation of an effect that could not be started', async () => {
    const { budget, log } = createLedger(10)
    const files = createFaultyFiles({ operation: 1, when: 'before', code: 'EROFS' })
    const journal = await openRun({ folder: newRunFolder(), now, files })
    const { effects } = await start({ journal, budget })
    await expect(effects.perform(placeAt('a'), model, async () => 1)).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(log).toEqual(['a reserves 0', 'a settles 0'])
    await expect(journal.close()).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
  })
})

describe('boundary', () => {
  it('records the whole result of finished work, after what happened in it', async () => {
    const effects = createMemoryEffects()
    const result = await effects.boundary(placeAt('task/0'), async () => {
      effects.observe(placeAt('task/0/data#0'), { name: 'time', args: [] }, () => 1)
      return { output: [1n, undefined], left: undefined }
    })
    expect(result).toEqual({ output: [1n, undefined], left: undefined })
    expect(effects.records[0]).toHaveProperty('key', {})
    expect(effects.records).toMatchObject([
      { k: 'begin', p: 'task/0' },
      { k: 'obs' },
      { k: 'done', p: 'task/0', value: { output: [{ $big: '1' }, { $nil: true }] } },
    ])
  })

  it('records the error of failed work without an end, so that it is entered again', async () => {
    const effects = createMemoryEffects()
    const error = new BatonError('SCRIPT_FAILED', 'no', { place: { file: 'a.lua', line: 2, text: 'whole text' } })
    const failing = effects.boundary(placeAt('a'), () => Promise.reject(error), { label: 'the first' })
    await expect(failing).rejects.toBe(error)
    const recorded = { type: 'baton', code: 'SCRIPT_FAILED', message: 'no', place: { file: 'a.lua', line: 2 } }
    expect(effects.records).toMatchObject([
      { k: 'begin', p: 'a', label: 'the first' },
      { k: 'failed', p: 'a', error: recorded },
    ])
    expect(effects.records).toHaveLength(2)
  })

  it.each([
    ['was stopped by a signal', new StopSignal('SIGINT', 130)],
    ['was aborted', new DOMException('enough', 'AbortError')],
    ['was stopped, in the words of who noticed it', new BatonError('AGENT_FAILED', 'a failed', { cause: stopped })],
    ['cannot go on as it is recorded', new BatonError('DIVERGED', 'another way')],
  ])('records no failure of work that %s', async (_, error) => {
    const effects = createMemoryEffects()
    await expect(effects.boundary(placeAt('a'), () => Promise.reject(error))).rejects.toBe(error)
    expect(effects.records).toMatchObject([{ k: 'begin', p: 'a' }])
    expect(effects.records).toHaveLength(1)
  })

  it('records a failure in a value that is not final', async () => {
    const effects = createMemoryEffects()
    await effects.boundary(placeAt('a'), async () => 'bad', {
      isFinal: () => false,
      failureIn: (value) => ({ code: 'TASK_FAILED', message: `it is ${value}`, file: 'a.md', line: 3 }),
    })
    const error = { type: 'baton', code: 'TASK_FAILED', message: 'it is bad', place: { file: 'a.md', line: 3 } }
    expect(effects.records.at(-1)).toMatchObject({ k: 'failed', p: 'a', error })
  })

  it('syncs nothing for a failure', async () => {
    const files = createFaultyFiles()
    const folder = newRunFolder()
    const journal = await openRun({ folder, now, files })
    const { effects } = await start({ journal })
    await expect(effects.boundary(placeAt('a'), () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await journal.close()
    expect(files.log.filter((name) => name.startsWith('sync'))).toEqual([])
  })

  it('records no end of work whose value is not final', async () => {
    const effects = createMemoryEffects()
    const isFinal = (value: string): boolean => value === 'good'
    for (const value of ['bad', 'good']) await effects.boundary(placeAt(value), async () => value, { isFinal })
    expect(effects.records.flatMap((record) => (record.k === 'done' ? [record.p] : []))).toEqual(['good'])
  })

  it('records a short hash of each input, equal for equal values, and none for undefined', async () => {
    const effects = createMemoryEffects()
    const keyOf = async (inputs: { readonly [name: string]: unknown }): Promise<unknown> => {
      await effects.boundary(placeAt('a'), async () => 1, { inputs })
      const begin = effects.records.findLast((record) => record.k === 'begin')
      return begin?.k === 'begin' && begin.key
    }
    const key = await keyOf({ code: 'return 1', data: { list: [1, undefined] }, gone: undefined })
    expect(key).toEqual({
      code: expect.stringMatching(/^[0-9a-f]{16}$/),
      data: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
    expect(await keyOf({ code: 'return 1', data: { list: [1, undefined] } })).toEqual(key)
    expect(await keyOf({ code: 'return 2', data: { list: [1, undefined] } })).not.toEqual(key)
  })
})

describe('call', () => {
  const asked = { name: 'aip.run', args: ['x'] }

  it('records the result of a call with effects, sync or async, after its effects', async () => {
    const effects = createMemoryEffects()
    expect(effects.call(placeAt('s#0'), asked, () => 1)).toBe(1)
    const later = effects.call(placeAt('s#1'), asked, () => effects.perform(placeAt('s#1'), model, async () => 'hi'))
    expect(await later).toBe('hi')
    expect(effects.records).toMatchObject([
      { k: 'call', p: 's#0', ...asked, status: 'ok', value: 1 },
      { k: 'started', p: 's#1' },
      { k: 'ended', p: 's#1' },
      { k: 'call', p: 's#1', status: 'ok', value: 'hi' },
    ])
  })

  it('records an error, unless the run was stopped or must stop', async () => {
    const stop = new AbortController()
    const effects = createMemoryEffects({ signal: stop.signal })
    const fail = (error: Error) => (): never => {
      throw error
    }
    expect(() => effects.call(placeAt('s#0'), asked, fail(new Error('no')))).toThrow('no')
    expect(() => effects.call(placeAt('s#1'), asked, fail(new BatonError('DIVERGED', 'other way')))).toThrow(
      'other way',
    )
    await expect(effects.call(placeAt('s#2'), asked, async () => fail(new Error('later'))())).rejects.toThrow('later')
    stop.abort(new BatonError('ABORTED', 'stopped'))
    expect(() => effects.call(placeAt('s#3'), asked, fail(new Error('stopped')))).toThrow('stopped')
    expect(effects.records).toMatchObject([
      { k: 'call', p: 's#0', status: 'error', error: { message: 'no' } },
      { k: 'call', p: 's#2', status: 'error', error: { message: 'later' } },
    ])
  })
})
