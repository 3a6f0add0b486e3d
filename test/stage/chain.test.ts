import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { normalizeSubAgents } from '../../src/config/agent-config.ts'
import {
  type ChainAgent,
  type ChainCall,
  type ChainOutcome,
  type ChainServices,
  runChain,
} from '../../src/stage/chain.ts'
import { testContext, type TestContext } from '../helpers/context.ts'
import { agentsGiving, scriptDone } from '../helpers/results.ts'

type Behaviour = (input: JsonObject) => Json | undefined

interface Chain {
  readonly outcome: Promise<ChainOutcome>
  /** The inputs with which agents were called, in order. */
  readonly inputs: JsonObject[]
  readonly context: TestContext
}

/** Runs a chain over agents that are functions: `{ name: (input) => output }`. */
function chain(
  entries: readonly Json[],
  agents: { readonly [name: string]: Behaviour },
  call: Partial<ChainCall> = {},
  merge?: ChainAgent['merge'],
): Chain {
  const inputs: JsonObject[] = []
  const executor = agentsGiving(({ agent, inputs: given }) => {
    const input = given?.[0] as JsonObject
    inputs.push(structuredClone(input))
    return scriptDone([agents[agent.name]?.(input) ?? null])
  })
  const services: ChainServices = {
    findAgent: ({ name }) => {
      if (!(name in agents)) throw new BatonError('AGENT_NOT_FOUND', `there is no agent "${name}"`)
      return {
        kind: 'lua',
        name,
        file: `/agents/${name}.lua`,
        text: '',
        builtIn: false,
        ...(merge === undefined ? {} : { merge }),
      }
    },
    checkParams: (params) => {
      if (params['temperature'] === 'hot') throw new BatonError('CONFIG_INVALID', '"temperature" must be a number')
    },
  }
  const context = testContext({ agents: executor })
  const start = {
    stage: 'pre',
    state: { params: {}, prompts: ['I'] },
    promptDir: '/work/prompts',
    redoCount: 0,
    extra: {},
  } as const
  const outcome = runChain({ ...start, agents: normalizeSubAgents([...entries]).agents, ...call }, services, context)
  return { outcome, inputs, context }
}

const tv29 = { model: 'm', context_globs: [], structure_globs: [], knowledge_globs: [] }

describe('the merge of an entry without one', () => {
  it.each([
    [undefined, undefined, {}],
    ['shallow', undefined, { kept: { a: 1 } }],
    ['deep', undefined, { kept: { a: 1 } }],
    ['shallow', 'replace', {}],
  ] as const)('is that of the agent: %s, unless the entry says %s', async (ofAgent, ofEntry, rest) => {
    const { outcome } = chain(
      [{ name: 'a', ...(ofEntry === undefined ? {} : { merge: ofEntry }) }],
      { a: () => ({ coder_params: { new: 1 } }) },
      { state: { params: { kept: { a: 1 } }, prompts: ['I'] } },
      ofAgent,
    )
    expect((await outcome).state.params).toEqual({ ...rest, new: 1 })
  })
})

describe('state passed down the chain (TV29)', () => {
  it('contains what earlier agents changed, and nothing else', async () => {
    const { outcome, inputs } = chain(
      ['context-builder', { name: 'x', some_prop: 'value' }],
      {
        'context-builder': (input) => {
          const params = input['coder_params'] as { model: string }
          params.model = 'mutated'
          return { coder_params: { context_globs: ['a'], sub_agents: ['evil'] } }
        },
        x: () => undefined,
      },
      { state: { params: { ...tv29, sub_agents: ['context-builder', 'x'] }, prompts: ['I'] } },
    )
    const { state } = await outcome
    expect(inputs[0]).toMatchObject({
      coder_params: tv29,
      coder_prompts: ['I'],
      coder_stage: 'pre',
      agent_config: { name: 'context-builder' },
    })
    expect(inputs[0]?.['coder_params']).toEqual(tv29)
    expect(inputs[1]?.['coder_params']).toEqual({ context_globs: ['a'], structure_globs: [], knowledge_globs: [] })
    expect(inputs[1]?.['agent_config']).toEqual({ name: 'x', some_prop: 'value' })
    expect(state.params).toEqual({ context_globs: ['a'] })
  })

  it('has the field names of both published formats', async () => {
    const { outcome, inputs } = chain(['a'], { a: () => undefined }, { redoCount: 2 })
    await outcome
    expect(inputs[0]).toMatchObject({
      stage: 'pre',
      event: 'start',
      coder_prompt: 'I',
      coder_prompt_dir: '/work/prompts',
      coder_redo_count: 2,
      sub_agents_prev: [],
      sub_agents_next: [],
      coder_workbench: {
        dir: '/work/prompts/workbench-default',
        data_dir: '/work/prompts/workbench-default/data',
        cache_dir: '/work/prompts/workbench-default/.cache',
        prompt_cache_dir: '/work/prompts/.cache',
      },
    })
  })

  it.each([
    ['pre', 'start'],
    ['pre_task', 'pre_task'],
    ['post_task', 'post_task'],
    ['post', 'end'],
  ] as const)('for %s has the event %s', async (stage, event) => {
    const { outcome, inputs } = chain([{ name: 'a', stage }], { a: () => undefined }, { stage })
    await outcome
    expect(inputs[0]).toMatchObject({ stage, event })
  })

  it('tells an agent which agents ran before and which one comes next', async () => {
    const { outcome, inputs } = chain(['a', 'b', 'c'], {
      a: () => ({ agent_result: 7 }),
      b: () => undefined,
      c: () => undefined,
    })
    await outcome
    expect(inputs[1]?.['sub_agents_prev']).toMatchObject([
      { event: 'start', stage: 'pre', config: { name: 'a' }, agent_result: 7 },
    ])
    expect(inputs[1]?.['sub_agents_next']).toEqual([{ name: 'c' }])
  })

  it('is passed only to enabled agents of the stage', async () => {
    const { outcome, inputs } = chain(
      ['a', { name: 'b', stage: ['post', 'pre'] }, { name: 'c', stage: 'post' }, { name: 'd', enabled: false }],
      { a: () => undefined, b: () => undefined, c: () => undefined, d: () => undefined },
    )
    await outcome
    expect(inputs.map((input) => (input['agent_config'] as JsonObject)['name'])).toEqual(['a', 'b'])
  })
})

describe('a failure (TV30, R253)', () => {
  it('prevents later agents from starting', async () => {
    const { outcome, inputs } = chain(['a', 'b'], {
      a: () => ({ success: false, error_msg: 'no', coder_params: { x: 1 } }),
      b: () => undefined,
    })
    await expect(outcome).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      message: 'Sub-agent [a] failed: no',
      place: { file: '/agents/a.lua' },
    })
    expect(inputs).toHaveLength(1)
  })

  it('names the agent whose params are invalid settings', async () => {
    const { outcome } = chain(['a'], { a: () => ({ coder_params: { temperature: 'hot' } }) })
    await expect(outcome).rejects.toThrow('Sub-agent [a] returned invalid coder_params: "temperature" must be a number')
  })

  it('names the failed stage', async () => {
    const { outcome, context } = chain(['a'], { a: () => 42 })
    await expect(outcome).rejects.toThrow('Sub-agent [a] returned a number')
    expect(context.sent.map(({ type }) => type)).toEqual(['stage.started', 'stage.failed'])
  })
})

describe('sub_agents_next', () => {
  it('replaces the rest of this chain call', async () => {
    const { outcome, inputs } = chain(['a', 'b'], {
      a: () => ({ sub_agents_next: ['c', { name: 'd', stage: 'post' }] }),
      b: () => undefined,
      c: () => undefined,
    })
    await outcome
    expect(inputs.map((input) => (input['agent_config'] as JsonObject)['name'])).toEqual(['a', 'c'])
  })

  it('fails if an agent is missing', async () => {
    const { outcome } = chain(['a'], { a: () => ({ sub_agents_next: ['nobody'] }) })
    await expect(outcome).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
  })

  it('fails if an entry is invalid', async () => {
    const { outcome } = chain(['a'], { a: () => ({ sub_agents_next: [3] }) })
    await expect(outcome).rejects.toThrow(/Sub-agent \[a\] returned an invalid sub_agents_next: sub_agents\[0\]/)
  })

  it('stops after 100 steps', async () => {
    const { outcome, inputs } = chain(['a'], { a: () => ({ sub_agents_next: ['a'] }) })
    await expect(outcome).rejects.toMatchObject({ code: 'LIMIT' })
    expect(inputs).toHaveLength(100)
  })
})

describe('stages after the answer', () => {
  it('post_task agents can change the answer one after another', async () => {
    const { outcome, inputs } = chain(
      [
        { name: 'a', stage: 'post_task' },
        { name: 'b', stage: 'post_task' },
      ],
      {
        a: () => ({ ai_response: 'one' }),
        b: (input) => ({ ai_response: { content: `${String((input['ai_response'] as JsonObject)['content'])}!` } }),
      },
      { stage: 'post_task', content: 'zero', extra: { ai_response: { content: 'zero', model_name: 'm' } } },
    )
    expect((await outcome).content).toBe('one!')
    expect(inputs[1]?.['ai_response']).toEqual({ content: 'one', model_name: 'm' })
  })

  it('report that returned params change nothing there', async () => {
    const { outcome, context } = chain(
      [{ name: 'a', stage: 'post' }],
      { a: () => ({ coder_params: { x: 1 }, agent_result: 1 }) },
      { stage: 'post' },
    )
    const { state, agentResult } = await outcome
    expect([state.params, agentResult]).toEqual([{}, 1])
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'Sub-agent [a] returned coder_params, which has no effect in post' },
    ])
  })

  it('accept coder_redo only in post', async () => {
    const redo: Behaviour = () => ({ coder_redo: true })
    expect((await chain([{ name: 'a', stage: 'post' }], { a: redo }, { stage: 'post' }).outcome).redo).toBe(true)
    expect((await chain(['a'], { a: redo }).outcome).redo).toBe(false)
  })
})

it('are recorded with every step', async () => {
  const { outcome, context } = chain(['a', 'dir/b'], { a: () => ({ agent_result: 1 }), 'dir/b': () => undefined })
  await outcome
  expect(context.records).toMatchObject([
    { k: 'begin', p: 'pre/0:a' },
    { k: 'done', p: 'pre/0:a', value: { agent_result: 1 } },
    { k: 'begin', p: 'pre/1:dir%2Fb' },
    { k: 'done', p: 'pre/1:dir%2Fb', value: null },
  ])
})
