import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { normalizeSubAgents } from '../../src/config/agent-config.ts'
import type { PromptRequest, PromptResult, ScriptRequest, ScriptResult } from '../../src/event/agent.ts'
import { type ChainCall, type ChainOutcome, runChain } from '../../src/stage/chain.ts'
import { testContext, type TestContext } from '../helpers/context.ts'
import { agentsGiving, promptDone, promptSkipped, scriptDone } from '../helpers/results.ts'

interface Ran {
  readonly outcome: Promise<ChainOutcome>
  readonly requests: readonly (ScriptRequest | PromptRequest)[]
  readonly context: TestContext
}

/** Runs a chain whose agents are prompt files, except those whose name ends in `.lua`; each returns one result. */
function chain(
  entries: readonly Json[],
  results: { readonly [name: string]: ScriptResult | PromptResult | Error },
  call: Partial<ChainCall> = {},
): Ran {
  const requests: (ScriptRequest | PromptRequest)[] = []
  const agents = agentsGiving((request) => {
    requests.push(request)
    const result = results[request.agent.name]
    if (result === undefined) throw new Error(`no result of ${request.agent.name}`)
    if (result instanceof Error) throw result
    return result
  })
  const context = testContext({ agents })
  const outcome = runChain(
    {
      stage: 'pre',
      state: { params: { tone: 'dry', context_globs: ['a'] }, prompts: ['I'] },
      promptDir: '/work',
      redoCount: 0,
      extra: {},
      agents: normalizeSubAgents([...entries]).agents,
      ...call,
    },
    {
      findAgent: ({ name }) => {
        const found = { name, file: `/work/${name}`, text: '', builtIn: false, merge: 'replace' } as const
        return name.endsWith('.lua') ? { ...found, kind: 'lua' } : { ...found, kind: 'prompt' }
      },
      checkParams: () => {},
    },
    context,
  )
  return { outcome, requests, context }
}

describe('prompt files in a chain', () => {
  it('get the instruction as text and the options of their entry, and append their answer', async () => {
    const { outcome, requests, context } = chain([{ name: 'a.md', options: { model: 'fast' } }, 'b.md'], {
      'a.md': promptDone('A'),
      'b.md': promptDone('B'),
    })
    expect((await outcome).state.prompts).toEqual(['I', 'A', 'B'])
    expect(requests).toMatchObject([
      { agent: { kind: 'prompt', name: 'a.md' }, options: { model: 'fast' }, inputs: [{ text: 'I' }] },
      { inputs: [{ text: 'I\n\nA', value: { coder_stage: 'pre', sub_agents_next: [] } }] },
    ])
    expect(requests[1]?.options).toEqual({})
    expect(context.records).toMatchObject([
      { k: 'begin', p: 'pre/0:a.md' },
      { k: 'done', p: 'pre/0:a.md', value: { text: 'A' } },
      { k: 'begin', p: 'pre/1:b.md' },
      { k: 'done', p: 'pre/1:b.md', value: { text: 'B' } },
    ])
  })

  it('replace the instruction, or only pass a message to later agents', async () => {
    const { outcome, requests } = chain(
      [
        { name: 'a.md', as: 'replace' },
        { name: 'b.md', as: 'result' },
        { name: 'c.lua', stage: 'pre' },
      ],
      { 'a.md': promptDone('A'), 'b.md': promptDone('B'), 'c.lua': scriptDone() },
    )
    expect(await outcome).toMatchObject({ state: { prompts: ['A'] }, agentResult: 'B' })
    const [input] = (requests[2] as { readonly inputs: readonly JsonObject[] }).inputs
    expect(input?.['sub_agents_prev']).toMatchObject([{ agent_result: null }, { agent_result: 'B' }])
  })

  it.each([
    [undefined, { context_globs: ['a'], tone: 'calm' }],
    ['shallow', { context_globs: ['a'], tone: 'calm' }],
    ['replace', { tone: 'calm' }],
  ])('merge params with %s', async (merge, params) => {
    const entry = { name: 'a.md', as: 'params', ...(merge === undefined ? {} : { merge }) }
    const { outcome } = chain([entry], { 'a.md': promptDone('{"tone": "calm"}') })
    expect((await outcome).state.params).toEqual(params)
  })

  it('may not change the frame with params', async () => {
    const { outcome } = chain(
      [{ name: 'a.md', as: 'params' }],
      { 'a.md': promptDone('write_mode = true') },
      { state: { params: { write_mode: false }, prompts: ['I'] } },
    )
    await expect(outcome).rejects.toThrow('Sub-agent [a.md] may not change "write_mode"')
  })

  it('change nothing when they skip themselves', async () => {
    const { outcome } = chain([{ name: 'a.md', as: 'replace' }], { 'a.md': promptSkipped() })
    expect(await outcome).toMatchObject({ state: { prompts: ['I'] }, agentResult: undefined })
  })

  it('see the answer in post_task and do not change it', async () => {
    const { outcome, requests } = chain(
      [{ name: 'a.md', stage: 'post_task', as: 'replace' }],
      { 'a.md': promptDone('Good.') },
      { stage: 'post_task', content: 'zero', extra: { input: null, ai_response: { content: 'zero' } } },
    )
    expect(await outcome).toMatchObject({ content: 'zero', agentResult: 'Good.', state: { prompts: ['I'] } })
    expect((requests[0] as { readonly inputs: readonly { readonly text: string }[] }).inputs[0]?.text).toContain(
      '<answer lines="1">\nzero\n</answer>',
    )
  })
})

describe('failures', () => {
  it('of a prompt file are those of the sub-agent, also when a nested agent failed', async () => {
    const inner = new BatonError('AGENT_FAILED', 'Sub-agent [x.lua] failed: no', { place: { file: '/x.lua', line: 3 } })
    await expect(chain(['a.md'], { 'a.md': inner }).outcome).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      message: 'Sub-agent [a.md] failed: Sub-agent [x.lua] failed: no',
      place: { file: '/x.lua', line: 3 },
    })
  })

  it('of an answer that is not a table are located in the prompt file', async () => {
    await expect(chain([{ name: 'a.md', as: 'params' }], { 'a.md': promptDone('No') }).outcome).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      place: { file: '/work/a.md' },
    })
  })

  it('of the only input of a script end the step, whatever its options say about tasks', async () => {
    const { outcome } = chain(['a.lua'], { 'a.lua': { ...scriptDone([{ error: 'boom' }]), failedInputs: 1 } as const })
    await expect(outcome).rejects.toMatchObject({ code: 'AGENT_FAILED', message: 'Sub-agent [a.lua] failed: boom' })
  })

  it('of an input are tolerated if After All handles them', async () => {
    const result = { ...scriptDone([{ error: 'boom' }], { agent_result: 'without' }), failedInputs: 1 } as const
    expect((await chain(['a.lua'], { 'a.lua': result }).outcome).agentResult).toBe('without')
  })

  it('of a prompt file are reported like those of a script, before it runs', async () => {
    const { outcome, requests } = chain([{ name: 'a.lua', as: 'append' }], {})
    await expect(outcome).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(requests).toEqual([])
  })
})
