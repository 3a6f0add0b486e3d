import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { normalizeSubAgents } from '../../src/config/agent-config.ts'

function messages(value: Json): readonly string[] {
  return normalizeSubAgents(value).findings.map(({ code, message }) => `${code} ${message}`)
}

describe('entries', () => {
  it('that are strings are names with defaults (R237)', () => {
    expect(normalizeSubAgents(['context-builder'])).toStrictEqual({
      agents: [
        {
          name: 'context-builder',
          enabled: true,
          stages: ['pre'],
          options: {},
          entry: { name: 'context-builder' },
          index: 0,
        },
      ],
      findings: [],
    })
  })

  it('keep unknown keys for the agent (TV29)', () => {
    const entry = { name: 'x', some_prop: 'value', stage: ['post', 'pre', 'post'], merge: 'deep', enabled: false }
    const { agents } = normalizeSubAgents(['first', { ...entry, options: { model: 'fast' } }])
    expect(agents[1]).toStrictEqual({
      name: 'x',
      enabled: false,
      stages: ['post', 'pre'],
      merge: 'deep',
      options: { model: 'fast' },
      entry: { ...entry, options: { model: 'fast' } },
      index: 1,
    })
  })

  it.each(['pre', 'pre_task', 'post_task', 'post'])('accept the stage %s', (stage) => {
    expect(normalizeSubAgents([{ name: 'x', stage }]).agents[0]?.stages).toEqual([stage])
  })
})

describe('as', () => {
  it.each(['append', 'replace', 'result', 'params'])('may be %s', (as) => {
    expect(normalizeSubAgents([{ name: 'x.md', as }])).toMatchObject({ agents: [{ as }], findings: [] })
  })

  it('is only read from the entry, or omitted', () => {
    expect(normalizeSubAgents(['x.md']).agents[0]).not.toHaveProperty('as')
  })
})

describe('invalid entries', () => {
  const stages = 'one of "pre", "pre_task", "post_task", "post"'

  it.each<[string, Json, string]>([
    ['a number', 7, 'sub_agents[1] must be a name or a table with a name, not the number 7'],
    ['null', null, 'sub_agents[1] must be a name or a table with a name, not empty'],
    ['a list', ['x'], 'sub_agents[1] must be a name or a table with a name, not a list'],
    ['empty text', ' ', '"sub_agents[1].name" must be the name of an agent or its file, not " "'],
    ['a table without a name', { stage: 'pre' }, 'sub_agents[1] has no name'],
    [
      'a name that is no text',
      { name: 3 },
      '"sub_agents[1].name" must be the name of an agent or its file, not the number 3',
    ],
    ['an unknown stage', { name: 'x', stage: 'before' }, `"sub_agents[1].stage" must be ${stages}, not "before"`],
    [
      'an unknown stage in a list',
      { name: 'x', stage: ['pre', 1] },
      `"sub_agents[1].stage[1]" must be ${stages}, not the number 1`,
    ],
    ['no stage at all', { name: 'x', stage: [] }, `"sub_agents[1].stage" must be ${stages}, not an empty list`],
    ['enabled as text', { name: 'x', enabled: 'no' }, '"sub_agents[1].enabled" must be true or false, not "no"'],
    [
      'an unknown merge',
      { name: 'x', merge: 'all' },
      '"sub_agents[1].merge" must be one of "replace", "shallow", "deep", not "all"',
    ],
    [
      'an unknown as',
      { name: 'x', as: 'text' },
      '"sub_agents[1].as" must be one of "append", "replace", "result", "params", not "text"',
    ],
    [
      'as that is no text',
      { name: 'x', as: true },
      '"sub_agents[1].as" must be one of "append", "replace", "result", "params", not true',
    ],
    [
      'options as text',
      { name: 'x', options: 'm' },
      '"sub_agents[1].options" must be a table such as { model = "fast" }, not "m"',
    ],
    ['on', { name: 'x', on: 'start' }, '"sub_agents[1].on" is not a key of sub-agents'],
    ['stage_post', { name: 'x', stage_post: true }, '"sub_agents[1].stage_post" is not a key of sub-agents'],
  ])('name the index: %s', (_, entry, message) => {
    const { findings } = normalizeSubAgents(['fine', entry])
    expect(findings.map(({ code, message: said }) => `${code} ${said}`)).toEqual([`CONFIG_INVALID ${message}`])
    expect(findings[0]?.path.slice(0, 2)).toEqual(['sub_agents', 1])
  })

  it('refer to stage for other ways to say when', () => {
    expect(normalizeSubAgents([{ name: 'x', on: 'end' }]).findings[0]).toMatchObject({
      hint: 'Use stage.',
      path: ['sub_agents', 0, 'on'],
    })
  })

  it('are all reported, and the valid ones are kept', () => {
    const { agents, findings } = normalizeSubAgents([1, 'good', { name: '', stage: 'never' }])
    expect(agents.map(({ name, index }) => [name, index])).toEqual([['good', 1]])
    expect(findings).toHaveLength(3)
  })
})

it('refuses anything but a list', () => {
  expect(messages('context-builder')).toEqual(['CONFIG_INVALID "sub_agents" must be a list'])
})
