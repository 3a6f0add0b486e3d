import { describe, expect, it } from 'vitest'
import { bindFunctions, createBindings } from '../../src/script/bindings.ts'
import type { LuaValue } from '../../src/script/engine.ts'
import type { HostModule } from '../../src/script/host/module.ts'
import { hostSection } from './host/host-section.ts'

const modules: readonly HostModule[] = [
  {
    name: 'aip.some',
    functions: {
      pure: { effect: 'pure', tables: 'data', call: (args, { agentName }) => [agentName, ...args] },
      observe: { effect: 'observe', call: (args) => args },
      act: { effect: 'act', call: (_, __, at) => [at.join('/')] },
    },
    lua: { name: 'aip.some', text: 'some = aip.some' },
  },
  { name: '', functions: { top: { effect: 'act', call: (_, __, at) => [at.join('/')] } } },
]

/** Calls functions of one section by their paths. */
function boundSection(): ReturnType<typeof hostSection> & {
  readonly callPath: (path: string, ...args: readonly LuaValue[]) => unknown
} {
  const host = hostSection('/work')
  const functions = bindFunctions(createBindings(modules), host.section)
  return { ...host, callPath: (path, ...args) => functions.find((known) => known.path === path)?.call(args) }
}

describe('the functions of host modules, bound to a section', () => {
  it('have the path of their module, read tables as declared, and come with the Lua parts', () => {
    const { functions, chunks } = createBindings(modules)
    expect(functions.map(({ path, tables }) => [path, tables])).toEqual([
      ['aip.some.pure', 'data'],
      ['aip.some.observe', 'border'],
      ['aip.some.act', 'border'],
      ['top', 'border'],
    ])
    expect(chunks).toEqual([{ name: 'aip.some', text: 'some = aip.some' }])
  })

  it('number the calls that observe or act together, in the order they are made, and pure ones not', () => {
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

  it('count for each section from 0, from one list of bindings', () => {
    const bindings = createBindings(modules)
    const [one, other] = [hostSection('/one'), hostSection('/other')].map(({ section }, index) =>
      bindFunctions(bindings, { ...section, agentName: `agent ${index}` }),
    )
    const call = (functions: typeof one, path: string): unknown =>
      functions?.find((known) => known.path === path)?.call([])
    expect(call(one, 'top')).toEqual(['pre/0:agent/data#0'])
    expect(call(one, 'top')).toEqual(['pre/0:agent/data#1'])
    expect(call(other, 'top')).toEqual(['pre/0:agent/data#0'])
    expect([call(one, 'aip.some.pure'), call(other, 'aip.some.pure')]).toEqual([['agent 0'], ['agent 1']])
  })
})
