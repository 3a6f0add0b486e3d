import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Place } from '../../../src/event/place.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { agentModule } from '../../../src/script/host/agent.ts'
import type { AgentCallArguments } from '../../../src/script/host/module.ts'
import { tempTree } from '../../helpers/temp.ts'
import { callFunction, hostSection, type HostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'
import { placeAt } from '../../helpers/effects.ts'

interface AgentHost extends HostSection {
  readonly calls: { readonly name: string; readonly call: AgentCallArguments; readonly at: Place }[]
}

function agentHost(answer: LuaValue = { outputs: [], redo_requested: false }): AgentHost {
  const calls: AgentHost['calls'] = []
  const root = tempTree()
  const host = hostSection(root, {
    runAgent: async (name, call, at) => {
      calls.push({ name, call, at })
      return answer
    },
  })
  return { ...host, calls }
}

async function run(host: AgentHost, ...args: readonly LuaValue[]): Promise<LuaValue> {
  return (await callFunction({ module: agentModule, name: 'run' }, args, host.section, placeAt('here#3')))[0]
}

describe('aip.agent.run', () => {
  it('puts input before inputs, and passes on options and the place', async () => {
    const host = agentHost()
    await run(host, 'other.aip', { input: null, inputs: ['b', { c: [] }], options: { model: 'm' } })
    expect(host.calls).toEqual([
      {
        name: 'other.aip',
        call: { inputs: [null, 'b', { c: [] }], options: { model: 'm' }, baseDir: undefined },
        at: placeAt('here#3'),
      },
    ])
  })

  it.each([[undefined], [null], [[]], [{ inputs: [] }], [{ options: [] }]])(
    'has no inputs with %j',
    async (options) => {
      const host = agentHost()
      await run(host, 'x', options)
      expect(host.calls[0]?.call).toEqual({ inputs: null, options: {}, baseDir: undefined })
    },
  )

  it('accepts another base folder, relative to the workspace', async () => {
    const host = agentHost()
    await run(host, 'x', { agent_base_dir: 'agents' })
    expect(host.calls[0]?.call.baseDir).toBe(join(host.section.context.scope.folders.workspace, 'agents'))
  })

  it('returns the result of the agent', async () => {
    const answer = { outputs: ['x', undefined], after_all: 5, redo_requested: true }
    expect(await run(agentHost(answer), 'x')).toEqual(answer)
  })

  it.each([
    [[undefined], 'the agent must be a string, but was nil'],
    [['x', 'options'], 'the options must be a table, but were string'],
    [['x', { inputs: 'a' }], 'inputs must be a list, but was string'],
    [['x', { inputs: { a: 1 } }], 'inputs must be a list, but was a table with keys'],
    [['x', { options: 5 }], 'aip.agent.run options: the options must be a table'],
  ])('refuses %j', async (args, message) => {
    const host = agentHost()
    await expect(run(host, ...args)).rejects.toThrow(message)
    expect(host.calls).toEqual([])
  })

  it('waits inside Lua, with nil for null outputs', async () => {
    const host = agentHost({ outputs: ['a', undefined, 'c'], after_all: undefined, redo_requested: false })
    const code =
      'local r = aip.agent.run("x", { inputs = { 1, { deep = {} } } }) return { r.outputs[1], r.outputs[2] == nil, r.outputs[3], r.after_all == nil, r.redo_requested }'
    expect(await runLua(host, code)).toEqual(['a', true, 'c', true, false])
    expect(host.calls[0]).toMatchObject({ call: { inputs: [1, { deep: [] }] }, at: placeAt('pre/0:agent/data#0') })
  })
})

describe('aip.agent.extract_options', () => {
  it('copies the options of agents from a table', () => {
    const options = {
      model: 'm',
      model_aliases: { a: 'b' },
      temperature: 0,
      top_p: 1,
      input_concurrency: 2,
      allow_run_on_task_fail: false,
    }
    const { call } = agentHost()
    expect(call(agentModule, 'extract_options', { ...options, other: 1 })).toEqual([options])
    expect(call(agentModule, 'extract_options', {})).toEqual([{}])
    for (const value of [undefined, null, 'text', 5])
      expect(call(agentModule, 'extract_options', value)).toEqual([undefined])
  })
})
