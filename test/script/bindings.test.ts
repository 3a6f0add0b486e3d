import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { Steps } from '../../src/base/concurrency.ts'
import { createBusyTime } from '../../src/base/busy-time.ts'
import { startSectionClock } from '../../src/script/section-clock.ts'
import { bindFunctions, createBindings } from '../../src/script/bindings.ts'
import type { LuaValue } from '../../src/script/engine.ts'
import type { HostModule } from '../../src/script/host/module.ts'
import { hostSection, type HostSectionOptions } from './host/host-section.ts'
import { withServices } from '../../src/event/context.ts'
import { placeText } from '../../src/event/place.ts'

const modules: readonly HostModule[] = [
  {
    name: 'aip.some',
    functions: {
      pure: { effect: 'pure', tables: 'data', call: ({ args, section }) => [section.agentName, ...args] },
      observe: { effect: 'observe', call: ({ args }) => args },
      act: { effect: 'act', call: ({ at }) => [placeText(at)] },
      count: { effect: 'observe', steps: ({ args: [most] }) => count(most) },
    },
    lua: { name: 'aip.some', text: 'some = aip.some' },
  },
  { name: '', functions: { top: { effect: 'act', call: ({ at }) => [placeText(at)] } } },
]

const suspension = new BatonError('SUSPENDED', 'waiting for an approval')
const failing: readonly HostModule[] = [
  ...modules,
  {
    name: 'fails',
    functions: {
      now: {
        effect: 'act',
        call: () => {
          throw suspension
        },
      },
      later: { effect: 'act', call: () => Promise.reject(suspension) },
      otherwise: {
        effect: 'act',
        call: () => {
          throw new Error('broken')
        },
      },
    },
  },
]

function* count(most: LuaValue): Steps<readonly LuaValue[]> {
  for (let step = 0; step !== most; step += 1) yield
  return [most]
}

/** Calls functions of one section by their paths. */
function boundSection(options: HostSectionOptions = {}): ReturnType<typeof hostSection> & {
  readonly refuseStopped: () => void
  readonly callPath: (path: string, ...args: readonly LuaValue[]) => unknown
} {
  const host = hostSection('/work', options)
  const { functions, stopped } = bindFunctions(createBindings(failing), host.section)
  const refuseStopped = (): void => {
    const stop = stopped()
    if (stop !== undefined) throw stop.error
  }
  return {
    ...host,
    refuseStopped,
    callPath: (path, ...args) => functions.find((known) => known.path === path)?.call(args),
  }
}

describe('the functions of host modules, bound to a section', () => {
  it('have the path of their module, read tables as declared, and include the Lua parts', () => {
    const { functions, chunks } = createBindings(modules)
    expect(functions.map(({ path, tables }) => [path, tables])).toEqual([
      ['aip.some.pure', 'data'],
      ['aip.some.observe', 'border'],
      ['aip.some.act', 'border'],
      ['aip.some.count', 'border'],
      ['top', 'border'],
    ])
    expect(chunks).toEqual([{ name: 'aip.some', text: 'some = aip.some' }])
  })

  it('number observing and acting calls together, in order, but not pure ones', () => {
    const { callPath, records } = boundSection()
    expect(callPath('top')).toEqual(['pre/0:agent/data#0'])
    expect(callPath('aip.some.pure', 1)).toEqual(['agent', 1])
    expect(callPath('aip.some.observe', 'x', { a: 1 })).toEqual(['x', { a: 1 }])
    expect(callPath('aip.some.act')).toEqual(['pre/0:agent/data#2'])
    expect(callPath('top')).toEqual(['pre/0:agent/data#3'])
    expect(records).toMatchObject([
      { k: 'call', p: 'pre/0:agent/data#0', name: 'top' },
      { k: 'obs', p: 'pre/0:agent/data#1', name: 'aip.some.observe', args: ['x', { a: 1 }] },
      { k: 'call', p: 'pre/0:agent/data#2', name: 'aip.some.act' },
      { k: 'call', p: 'pre/0:agent/data#3', name: 'top' },
    ])
  })

  it('make the script wait for a long observation, and record it once', async () => {
    const { callPath, records } = boundSection()
    expect(callPath('aip.some.count', 5)).toEqual([5])
    const long = callPath('aip.some.count', 30_000)
    expect(callPath('top')).toEqual(['pre/0:agent/data#2'])
    expect(await long).toEqual([30_000])
    expect(records).toMatchObject([
      { k: 'obs', p: 'pre/0:agent/data#0', args: [5], value: [5] },
      { k: 'call', p: 'pre/0:agent/data#2' },
      { k: 'obs', p: 'pre/0:agent/data#1', args: [30_000], value: [30_000] },
    ])
  })

  it('stop a long observation with the run, and record nothing of it', async () => {
    const stop = new AbortController()
    const { callPath, records } = boundSection({ signal: stop.signal })
    const endless = callPath('aip.some.count', -1)
    setTimeout(() => stop.abort(new Error('stopped')), 5)
    await expect(endless).rejects.toThrow('stopped')
    expect(records).toEqual([])
  })

  it('end an observation at the time limit of the section, and record nothing of it', async () => {
    let busyMs = 0
    const limits = { timeMs: 1000, instructions: 1, memoryBytes: 1 }
    const clock = startSectionClock(
      limits,
      createBusyTime(() => (busyMs += 1)),
    )
    const { section, records } = hostSection('/work')
    const { functions } = bindFunctions(createBindings(modules), {
      ...section,
      computing: { limits, clock, shownBytes: 0 },
    })
    const call = (): unknown => functions.find(({ path }) => path === 'aip.some.count')?.call([-1])
    await expect(call()).rejects.toThrow('the script ran longer than 1000 ms')
    expect(call).toThrow('the script ran longer than 1000 ms')
    expect(records).toEqual([])
  })

  it('prepare nothing for an observation that is answered from a record', () => {
    const { section } = hostSection('/work')
    const effects = { ...section.context.services.effects, answers: () => true, observe: () => ['recorded'] as never }
    const { functions } = bindFunctions(createBindings(modules), {
      ...section,
      context: withServices(section.context, { effects }),
    })
    expect(functions.find(({ path }) => path === 'aip.some.count')?.call([-1])).toEqual(['recorded'])
  })

  it.each(['now', 'later'])('do nothing any more after one has thrown %s that stops the run', async (when) => {
    const { callPath, refuseStopped, records } = boundSection()
    expect(refuseStopped).not.toThrow()
    const call = async (): Promise<unknown> => callPath(`fails.${when}`)
    await expect(call()).rejects.toBe(suspension)
    for (const path of ['top', 'aip.some.pure', 'aip.some.observe']) expect(() => callPath(path)).toThrow(suspension)
    expect(refuseStopped).toThrow(suspension)
    expect(records).toEqual([])
  })

  it('continue after any other error', () => {
    const { callPath, refuseStopped } = boundSection()
    expect(() => callPath('fails.otherwise')).toThrow('broken')
    expect(refuseStopped).not.toThrow()
    expect(callPath('top')).toEqual(['pre/0:agent/data#1'])
  })

  it('count for each section from 0, with one list of bindings', () => {
    const bindings = createBindings(modules)
    const [one, other] = [hostSection('/one'), hostSection('/other')].map(
      ({ section }, index) => bindFunctions(bindings, { ...section, agentName: `agent ${index}` }).functions,
    )
    const call = (functions: typeof one, path: string): unknown =>
      functions?.find((known) => known.path === path)?.call([])
    expect(call(one, 'top')).toEqual(['pre/0:agent/data#0'])
    expect(call(one, 'top')).toEqual(['pre/0:agent/data#1'])
    expect(call(other, 'top')).toEqual(['pre/0:agent/data#0'])
    expect([call(one, 'aip.some.pure'), call(other, 'aip.some.pure')]).toEqual([['agent 0'], ['agent 1']])
  })
})
