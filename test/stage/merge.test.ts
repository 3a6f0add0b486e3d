import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import type { Merge } from '../../src/config/agent-config.ts'
import { applyAnswer } from '../../src/stage/chain.ts'

function paramsAfter(
  params: JsonObject,
  answer: { params?: JsonObject; patch?: JsonObject },
  merge: Merge = 'replace',
): JsonObject {
  return applyAnswer({ params, prompts: ['I'] }, { ...answer, redo: false }, { name: 'a', merge }).params
}

describe('coder_params', () => {
  it('replaces: missing keys are lost (R239, R241)', () => {
    expect(paramsAfter({ model: 'm', note: 1, context_globs: [] }, { params: { context_globs: ['a'] } })).toEqual({
      context_globs: ['a'],
    })
  })

  it('drops a returned sub_agents list (R254)', () => {
    expect(paramsAfter({}, { params: { x: 1, sub_agents: ['evil'] } })).toEqual({ x: 1 })
  })

  it('merges shallowly', () => {
    expect(paramsAfter({ a: { x: 1 }, b: 2 }, { params: { a: { y: 2 } } }, 'shallow')).toEqual({ a: { y: 2 }, b: 2 })
  })

  it('merges deeply, lists as a whole', () => {
    expect(paramsAfter({ a: { x: 1, l: [1, 2] }, b: 2 }, { params: { a: { y: 2, l: [3] } } }, 'deep')).toEqual({
      a: { x: 1, y: 2, l: [3] },
      b: 2,
    })
  })

  it('patches deeply whatever the entry says, and null deletes', () => {
    expect(paramsAfter({ a: { x: 1, y: 1 }, b: 2 }, { patch: { a: { x: null, z: 3 }, b: null } })).toEqual({
      a: { y: 1, z: 3 },
    })
  })

  it('reads an empty Lua table under a key of a list as an empty list', () => {
    const empty = { context_globs: {}, working_globs_post: {}, context_resources: {}, own: {} }
    const lists = { context_globs: [], working_globs_post: [], context_resources: [], own: {} }
    expect(paramsAfter({ context_globs: ['a'] }, { params: empty })).toEqual(lists)
    for (const merge of ['shallow', 'deep'] as const) {
      expect(paramsAfter({ context_globs: ['a'] }, { params: empty }, merge)).toEqual(lists)
    }
    expect(paramsAfter({ context_globs: ['a'] }, { patch: empty })).toEqual(lists)
  })
})

describe('the frame', () => {
  const frame = {
    name: 'file',
    base_dir: 'src',
    allow_run_on_task_fail: true,
    write_mode: true,
    tools: ['read', 'edit'],
    budget: { usd: 2, calls: 9 },
  }

  it('is unchanged if it is omitted', () => {
    expect(paramsAfter({ ...frame, model: 'm' }, { params: { model: 'n' } })).toEqual({ ...frame, model: 'n' })
  })

  it('may be returned unchanged', () => {
    expect(paramsAfter(frame, { params: frame })).toEqual(frame)
  })

  it.each([
    ['base_dir', 'other'],
    ['iterate', { condition: '3' }],
    ['allow_run_on_task_fail', false],
    ['providers', { x: { base_url: 'http://elsewhere' } }],
  ])('refuses another %s', (key, value) => {
    expect(() => paramsAfter(frame, { params: { [key]: value } })).toThrow(`Sub-agent [a] may not change "${key}"`)
    expect(() => paramsAfter(frame, { patch: { [key]: value } })).toThrow(`Sub-agent [a] may not change "${key}"`)
  })

  it('can be restricted: write_mode off, fewer tools, less budget', () => {
    const less = { write_mode: false, tools: ['read'], budget: { usd: 1, calls: 9 } }
    expect(paramsAfter(frame, { params: less })).toMatchObject(less)
  })

  it.each(['replace', 'shallow', 'deep'] as const)('can lose all tools and get a budget, merged by %s', (merge) => {
    for (const key of ['params', 'patch'] as const) {
      for (const none of [{}, []]) expect(paramsAfter(frame, { [key]: { tools: none } }, merge)['tools']).toEqual([])
      expect(paramsAfter({}, { [key]: { tools: {}, budget: { usd: 3 } } }, merge)).toMatchObject({
        tools: [],
        budget: { usd: 3 },
      })
      const less = paramsAfter(
        frame,
        { [key]: { budget: { tokens: 5, calls: 8, usd: null, unpriced: 'deny' } } },
        merge,
      )
      expect(less['budget']).toEqual({ usd: 2, calls: 8, tokens: 5, unpriced: 'deny' })
      expect(paramsAfter({ tools: ['*'] }, { [key]: { tools: ['read'] } }, merge)['tools']).toEqual(['read'])
    }
  })

  it('has unchanged lists if empty tables are returned', () => {
    const lists = { disallowed_tools: [], fallback_models: [], secrets: [] }
    expect(paramsAfter(lists, { params: { disallowed_tools: {}, fallback_models: {}, secrets: {} } })).toEqual(lists)
  })

  it('can never be extended', () => {
    expect(() => paramsAfter({ ...frame, write_mode: false }, { params: { write_mode: true } })).toThrow(
      'may not change "write_mode"',
    )
    expect(() => paramsAfter(frame, { params: { tools: ['read', 'bash'] } })).toThrow('may not change "tools"')
    expect(() => paramsAfter(frame, { params: { budget: { usd: 3 } } })).toThrow('may not change "budget"')
    const looser = { usd: 1, unpriced: 'allow' }
    expect(() => paramsAfter({}, { params: { budget: looser } })).toThrow('may not change "budget"')
    expect(() => paramsAfter({}, { params: { tools: ['read'] } })).toThrow('may not change "tools"')
  })
})

describe('coder_prompts (TV31)', () => {
  const state = { params: {}, prompts: ['I'] }
  const options = { name: 'a', merge: 'replace' } as const

  it('replaces the segments', () => {
    expect(applyAnswer(state, { prompts: ['A', 'B'], redo: false }, options).prompts).toEqual(['A', 'B'])
    expect(applyAnswer(state, { prompts: [], redo: false }, options).prompts).toEqual([])
  })

  it('appends segments', () => {
    expect(applyAnswer(state, { append: ['X'], redo: false }, options).prompts).toEqual(['I', 'X'])
  })
})
