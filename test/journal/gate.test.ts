import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { EffectRequest, Effects } from '../../src/event/effects.ts'
import type { Action, Verdict } from '../../src/event/permission.ts'
import { placeText } from '../../src/event/place.ts'
import { createBudget } from '../../src/journal/budget.ts'
import { createEffects, type EffectsOptions } from '../../src/journal/effects.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import { openMemoryRecords } from '../helpers/memory-journal.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createReplayedEffects } from '../../src/journal/replayed-effects.ts'
import { createResumedEffects } from '../../src/journal/resumed-effects.ts'
import { indexRun, type RunIndex } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openGate, placeAt, spentOf } from '../helpers/effects.ts'

const at = placeAt('task/0/agent/ask/turn/0/tool/0:bash')
const action: Action = { kind: 'command', program: 'git', caller: 'bash' }
const spent = spentOf({ model: 'x::m', input: 3, output: 2, costUsd: 0.25 })
const model: EffectRequest<string> = {
  kind: 'model',
  request: { ask: 1 },
  action: { kind: 'model', model: 'm', label: 'x::m' },
  repeat: 'safe',
  estimate: { calls: 1, tokens: 5 },
  costOf: () => spent,
}
const command: EffectRequest<string> = { kind: 'command', request: ['git', 'push'], action, repeat: 'unsafe' }
const change = { op: 'write', path: 'a.md', before: null, after: 'ff' }
const write: Action = { kind: 'write', path: '/w/a.md', named: '/w/a.md' }

const denied: Verdict = { kind: 'deny', reason: 'not here', code: 'UNTRUSTED' }

interface Gate {
  readonly effects: Effects
  /** Every port that was asked or notified, in order. */
  readonly log: string[]
  readonly records: JournalRecord[]
  readonly index: () => Promise<RunIndex>
}

interface GateOptions extends Pick<Partial<EffectsOptions>, 'approver'> {
  readonly verdict?: Verdict
  readonly budget?: 'full'
}

function openLoggedGate({ verdict = { kind: 'allow' }, budget, ...more }: GateOptions = {}): Gate {
  const log: string[] = []
  const records: JournalRecord[] = []
  const journal = createMemoryJournal({
    keep(record) {
      log.push(`journal ${record.k}`)
      records.push(record)
    },
  })
  const effects = createEffects({
    journal,
    signal: new AbortController().signal,
    permission: {
      check({ kind }) {
        log.push(`permission ${kind}`)
        return verdict
      },
    },
    budget: {
      async reserve() {
        log.push('budget')
        if (budget === 'full') throw new BatonError('BUDGET', 'nothing is left')
        return { grant: {}, settle: (cost) => void log.push(`settled ${cost?.tokens ?? 'unknown'}`) }
      },
    },
    onSpent: (_, { model: name }) => log.push(`spent ${name}`),
    onEffect: (place, { kind, phase }) => log.push(`event ${kind} ${phase} ${placeText(place).length > 0}`),
    ...more,
  })
  return {
    effects,
    log,
    records,
    index: () => indexRun(openMemoryRecords(records, noMask), { keeps: 'everything' }),
  }
}

/** The effects of a process that resumes from a record and does the rest through its own gate. */
function resumedFrom(
  index: RunIndex,
  { effects: live }: Pick<Gate, 'effects'>,
  onRecall: Parameters<typeof createResumedEffects>[0]['onRecall'] = () => {},
): Effects {
  const journal = createMemoryJournal({ epoch: 2 })
  return createResumedEffects({
    index,
    journal,
    live,
    onRepeat: () => {},
    onRecall,
    onShow: () => {},
    usesCurrent: false,
  })
}

const acting =
  ({ log }: Gate) =>
  async () => {
    log.push('act')
    return 'done'
  }

const search = { name: 'grep', args: ['x'] }
const read: Action = { kind: 'read', path: '/w', named: '/w' }
const searching =
  (gate: Gate) =>
  async (allow: (action: Action) => void): Promise<string> => {
    allow(read)
    return acting(gate)()
  }

describe('the gate checks permission, then budget, then journal, and then reports', () => {
  it('an effect', async () => {
    const gate = openLoggedGate()
    await gate.effects.perform(at, model, acting(gate))
    expect(gate.log).toEqual([
      'permission model',
      'budget',
      'journal started',
      'event model started true',
      'act',
      'settled 5',
      'spent x::m',
      'journal ended',
      'event model ok true',
    ])
  })

  it('a file change, which costs nothing', () => {
    const gate = openLoggedGate()
    gate.effects.changeFile(at, change, (allow) => {
      allow(write)
      return { record: change, act: () => void gate.log.push('act') }
    })
    expect(gate.log).toEqual([
      'permission write',
      'journal started',
      'event file started true',
      'act',
      'journal ended',
      'event file ok true',
    ])
  })

  it('a read, which costs nothing and is not reported', async () => {
    const gate = openLoggedGate()
    await gate.effects.observeAsync(at, search, searching(gate))
    expect(gate.log).toEqual(['permission read', 'act', 'journal obs'])
  })
})

describe('an effect that the permission refuses', () => {
  it.each([
    ['denied', denied, { code: 'UNTRUSTED', message: 'not here' }],
    ['asked, and nobody can be asked', { kind: 'ask' }, { code: 'NEEDS_INPUT' }],
  ] as const)('is not started, recorded or paid: %s', async (_, verdict, error) => {
    const gate = openLoggedGate({ verdict })
    for (const effect of [model, command]) {
      await expect(gate.effects.perform(at, effect, acting(gate))).rejects.toMatchObject(error)
    }
    await expect(gate.effects.permit(at, action)).rejects.toMatchObject(error)
    expect(gate.log.filter((one) => !one.startsWith('permission'))).toEqual([])
    expect(gate.records).toEqual([])
  })

  it.each([denied, { kind: 'ask' } as const])('changes no file: %j', (verdict) => {
    const gate = openLoggedGate({ verdict })
    const planned = (): unknown =>
      gate.effects.changeFile(at, change, (allow) => {
        allow(write)
        return { record: change, act: () => void gate.log.push('act') }
      })
    expect(planned).toThrow(verdict.kind === 'ask' ? 'needs approval' : 'not here')
    // a script gets the same refusal again when the run is resumed
    expect(gate.log).toEqual(['permission write', 'journal obs'])
    expect(gate.records).toMatchObject([{ k: 'obs', name: 'file.change', status: 'error' }])
  })
})

describe('a refused read', () => {
  it.each([denied, { kind: 'ask' } as const])('is not performed, and the refusal is recorded: %j', async (verdict) => {
    const gate = openLoggedGate({ verdict })
    const refusal = verdict.kind === 'ask' ? 'needs approval' : 'not here'
    await expect(gate.effects.observeAsync(at, search, searching(gate))).rejects.toThrow(refusal)
    expect(gate.log).toEqual(['permission read', 'journal obs'])
    expect(gate.records).toMatchObject([{ k: 'obs', name: 'grep', status: 'error' }])
  })

  it('is decided by the rights of the caller, in a run, its resume and a replay that reads the disk', async () => {
    const gate = openLoggedGate()
    const index = await gate.index()
    const resumed = resumedFrom(index, gate)
    const { effects: replayed } = createReplayedEffects({ index, signal: undefined, files: { kind: 'live' } })
    for (const effects of [gate.effects, resumed, replayed]) {
      const held = effects.under({ check: () => denied })
      await expect(held.observeAsync(at, { ...search, name: 'file.list' }, searching(gate))).rejects.toThrow('not here')
    }
    expect(gate.log).not.toContain('act')
  })
})

it('starts and records nothing that exceeds the budget', async () => {
  const gate = openLoggedGate({ budget: 'full' })
  await expect(gate.effects.perform(at, model, acting(gate))).rejects.toMatchObject({ code: 'BUDGET' })
  expect(gate.log).toEqual(['permission model', 'budget'])
  expect(gate.records).toEqual([])
})

describe('the cost of an effect', () => {
  it('is counted once, where it happens, from its result', async () => {
    const costs: number[] = []
    const budget = createBudget({ tokens: 100, unpriced: 'allow' })
    const records: JournalRecord[] = []
    const told: unknown[] = []
    const effects = createEffects({
      ...openGate,
      journal: createMemoryJournal({ keep: (record) => records.push(record) }),
      signal: new AbortController().signal,
      budget,
      onSpent: (place, one) => told.push([placeText(place), one]),
    })
    const effect = {
      ...model,
      costOf: (value: string) => {
        costs.push(value.length)
        return spent
      },
    }
    expect(await effects.perform(at, effect, async () => 'four')).toBe('four')
    expect(costs).toEqual([4])
    expect(told).toEqual([[placeText(at), spent]])
    expect(budget.spent()).toEqual({ calls: 1, tokens: 5, usd: 0.25 })
    expect(records.at(-1)).toMatchObject({ k: 'ended', cost: { calls: 1, tokens: 5, usd: 0.25 }, spent: [spent] })
  })

  it('is not counted again when a record answers', async () => {
    const gate = openLoggedGate()
    await gate.effects.perform(at, model, acting(gate))
    const recalled: unknown[] = []
    const later = openLoggedGate()
    const resumed = resumedFrom(await gate.index(), later, (place, one) => recalled.push([placeText(place), one]))
    expect(await resumed.perform(at, model, acting(later))).toBe('done')
    expect(recalled).toEqual([[placeText(at), spent]])
    expect(later.log).toEqual([])
  })
})

describe('an effect that needs an approval', () => {
  const ask = { kind: 'ask' } as const

  it('is asked about where it happens: the answer is recorded before as its own effect', async () => {
    const asked: unknown[] = []
    const gate = openLoggedGate({
      verdict: ask,
      approver: async (what, { at: place }) => {
        asked.push([what, placeText(place)])
        return 'allow'
      },
    })
    expect(await gate.effects.perform(at, command, acting(gate))).toBe('done')
    expect(asked).toEqual([[action, placeText(at)]])
    expect(gate.records.map((record) => 'p' in record && [record.k, record.p])).toEqual([
      ['started', `${placeText(at)}/approval`],
      ['ended', `${placeText(at)}/approval`],
      ['started', placeText(at)],
      ['ended', placeText(at)],
    ])
  })

  it('does not happen when it is rejected', async () => {
    const gate = openLoggedGate({ verdict: ask, approver: async () => 'deny' })
    await expect(gate.effects.perform(at, command, acting(gate))).rejects.toMatchObject({ code: 'UNTRUSTED' })
    expect(gate.records.map((record) => 'p' in record && record.p)).toEqual(Array(2).fill(`${placeText(at)}/approval`))
    expect(gate.log).not.toContain('act')
  })

  it('can be approved in advance, also if nobody can be asked at once', async () => {
    const gate = openLoggedGate({ verdict: ask, approver: async () => 'allow' })
    const permit = await gate.effects.permit(at, write)
    const hasChanged = gate.effects.changeFile(
      at,
      change,
      (allow) => {
        allow(write)
        return { record: change, act: () => {} }
      },
      permit,
    )
    expect(hasChanged).toBe(true)
    expect(await gate.effects.perform(at, command, acting(gate), permit)).toBe('done')
    expect(gate.records.filter((record) => record.k === 'started' && record.kind === 'approval')).toHaveLength(1)
  })

  it('is never allowed by an approval if the permission denies it', async () => {
    const gate = openLoggedGate({ verdict: denied })
    await expect(gate.effects.perform(at, command, acting(gate), { action })).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: 'not here',
    })
  })

  it('stays open if nobody answers, and a resume asks again; approvals given meanwhile apply', async () => {
    const suspension = new BatonError('SUSPENDED', 'waiting for an approval')
    const gate = openLoggedGate({ verdict: ask, approver: () => Promise.reject(suspension) })
    await expect(gate.effects.perform(at, command, acting(gate))).rejects.toBe(suspension)
    expect(gate.log.filter((one) => /^(?:journal|event)/.test(one))).toEqual([
      'journal started',
      'event approval started true',
      'journal suspended',
      'event approval suspended true',
    ])
    expect(gate.records).toMatchObject([
      { k: 'started', n: 1, kind: 'approval' },
      { k: 'suspended', s: 1, error: { code: 'SUSPENDED' } },
    ])

    const asked: string[] = []
    const resumeOf = async (index: RunIndex): Promise<Gate> => {
      const live = openLoggedGate({ verdict: ask, approver: async () => (asked.push('asked'), 'allow') })
      const resumed = resumedFrom(index, live)
      return { ...live, effects: resumed }
    }
    const second = await resumeOf(await gate.index())
    const failing = second.effects.perform(at, { ...command, repeat: 'safe' }, () => Promise.reject(new Error('cut')))
    await expect(failing).rejects.toThrow('cut')
    expect(asked).toEqual(['asked'])

    const third = await resumeOf(await second.index())
    expect(await third.effects.perform(at, { ...command, repeat: 'safe' }, acting(third))).toBe('done')
    expect(asked).toEqual(['asked'])
    expect(third.records.map((record) => 'p' in record && record.p)).toEqual(Array(2).fill(placeText(at)))
  })

  it('is approved only for the call that was asked about: a different one at its place is asked about as new', async () => {
    const first = openLoggedGate({ verdict: ask, approver: async () => 'allow' })
    const call = (word: string): Action => ({ kind: 'tool', tool: 'todo', input: { word } })
    await first.effects.permit(at, call('one'))
    const put: string[] = []
    const live = openLoggedGate({
      verdict: ask,
      approver: async ({ kind }, { isReopened }) => (put.push(`${kind} ${isReopened}`), 'deny'),
    })
    const resumed = resumedFrom(await first.index(), live)
    expect(await resumed.permit(at, call('one'))).toEqual({ action: call('one') })
    await expect(resumed.permit(at, call('two'))).rejects.toMatchObject({ code: 'UNTRUSTED', cause: 'deny' })
    expect(put).toEqual(['tool false'])
  })

  it('is answered by the record in a replay', async () => {
    const gate = openLoggedGate({ verdict: ask, approver: async () => 'allow' })
    await gate.effects.perform(at, command, acting(gate))
    const { effects, counts, leftOver } = createReplayedEffects({
      index: await gate.index(),
      signal: undefined,
      files: { kind: 'recorded', scratch: { change: () => {} } },
    })
    const asking = effects.under({ check: () => ask })
    expect(await asking.perform(at, command, () => Promise.reject(new Error('done again')))).toBe('done')
    expect(counts).toEqual({ approval: 1, command: 1 })
    expect(leftOver()).toBe(undefined)
    await expect(asking.perform(placeAt('task/1'), command, acting(gate))).rejects.toMatchObject({
      code: 'NEEDS_INPUT',
    })
  })
})
