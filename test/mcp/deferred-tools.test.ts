import { expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import type { Tool } from '../../src/event/agent.ts'
import { below, type RunContext } from '../../src/event/context.ts'
import { allRights, type ToolFilter, type ToolRule } from '../../src/event/permission.ts'
import { giveTools } from '../../src/team/tools.ts'
import { createPermission } from '../../src/tool/permission.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import { testContext } from '../helpers/context.ts'
import { fakeMcp, type FakeServer } from '../helpers/fake-mcp.ts'
import { tempTree } from '../helpers/temp.ts'

/** A server of this many tools, whose schemas have about 400 bytes each. */
function manyTools(count: number, more: Partial<FakeServer> = {}): FakeServer {
  const properties = Object.fromEntries(
    ['owner', 'project', 'title', 'body'].map((name) => [name, { type: 'string', description: `The ${name} of it.` }]),
  )
  return {
    tools: Array.from({ length: count }, (_, index) => ({
      name: `change_field_${index}`,
      description: `Changes field ${index} of an issue. It does nothing else.`,
      input: { type: 'object', properties, required: ['title'] },
    })),
    ...more,
  }
}

const small: FakeServer = { tools: [{ name: 'merge_branch', description: 'Merges a branch.' }] }

interface World {
  readonly tools: readonly Tool[]
  /** Names of what requests carry. */
  readonly sent: readonly string[]
  readonly context: RunContext
  readonly call: (name: string, input: JsonObject) => Promise<string>
}

async function world(
  servers: { readonly [name: string]: FakeServer },
  named: ToolFilter = { tools: ['*'] },
  rules: readonly ToolRule[] = [],
): Promise<World> {
  const workspace = tempTree({})
  const process = testContext({ workspace })
  const rights = { ...allRights, rules: [[...toolRules(), ...rules]] }
  const permission = createPermission(rights, { workspace })
  const mcp = fakeMcp(servers)
  const effects = process.services.effects.under(permission)
  const context: RunContext = {
    scope: { ...process.scope, rights },
    services: { ...process.services, mcp, permission, effects },
  }
  const { tools } = await giveTools([], { named, baseDir: workspace }, context)
  let calls = 0
  return {
    tools,
    context,
    sent: tools.filter(({ isDeferred }) => isDeferred !== true).map(({ name }) => name),
    async call(name, input) {
      const at = below(context, { kind: 'tool', index: calls++, name })
      const { text } = (await tools.find((tool) => tool.name === name)?.run(JSON.stringify(input), at)) ?? { text: '' }
      return text
    },
  }
}

const describedBy = ({ tools }: World): string => tools.find(({ name }) => name === 'tool_search')?.description ?? ''

it('schemas of up to 10 kB are sent, and more than that are found by a search', async () => {
  expect((await world({ issues: manyTools(10), git: small })).sent).not.toContain('tool_search')
  const here = await world({ issues: manyTools(50), git: small })
  expect(here.sent).toEqual(['tool_search', 'tool_call'])
  expect(here.tools.map(({ name }) => name)).toContain('issues__change_field_49')
  const bytes = JSON.stringify(here.tools.filter(({ name }) => here.sent.includes(name))).length
  expect(bytes).toBeLessThan(2_000)
  expect(describedBy(here)).toContain('issues__* (50): change_field_0, change_field_1, ')
  expect(describedBy(here)).toContain(', change_field_49\ngit__* (1): merge_branch')
})

it('of a few tools the first words of their descriptions are listed, too', async () => {
  const here = await world({ issues: { ...manyTools(20), defersTools: true } })
  expect(describedBy(here)).toContain('issues__* (20):\nchange_field_0: Changes field 0 of an issue.\nchange_field_1: ')
})

it('of hundreds of tools some names are listed, and how many more there are', async () => {
  const here = await world({ issues: manyTools(400), git: small })
  expect(describedBy(here).length).toBeLessThan(1_800)
  expect(describedBy(here)).toMatch(/issues__\* \(400\): change_field_0, .*, \d+ more$/m)
  expect(await here.call('tool_search', { query: 'change_field_399' })).toMatch(/^\{"name":"issues__change_field_399",/)
})

it.each([
  [
    'defers_tools = true of its server, whatever their size',
    { git: { ...small, defersTools: true } },
    {},
    ['tool_search', 'tool_call'],
  ],
  [
    'defers_tools = false of its server, whatever their size',
    { git: { ...manyTools(50), defersTools: false } },
    {},
    50,
  ],
  [
    'a literal name in tools, while the others are deferred',
    { a: manyTools(50) },
    { tools: ['a__*', 'a__change_field_7'] },
    ['a__change_field_7', 'tool_search', 'tool_call'],
  ],
  ['tool_search in disallowed_tools', { a: manyTools(50) }, { tools: ['*'], disallowed_tools: ['tool_search'] }, 50],
] as const)('what is sent is decided by %s', async (_, servers, named, sent) => {
  const here = await world(servers, { tools: ['*'], ...named })
  if (typeof sent === 'number') expect(here.sent).toHaveLength(sent)
  else expect(here.sent).toEqual(sent)
})

it('without the permission for tool_search all schemas are sent', async () => {
  const deny = { tool: 'tool_search', effect: 'deny', origin: 'test' } as const
  expect((await world({ a: manyTools(50) }, { tools: ['*'] }, [deny])).sent).toHaveLength(50)
})

it('a search shows the schemas of the tools that fit best, and the names of others', async () => {
  const here = await world({ issues: manyTools(50), git: small })
  const found = await here.call('tool_search', { query: 'merge a branch' })
  expect(JSON.parse(found.split('\n')[0] ?? '')).toMatchObject({
    name: 'git__merge_branch',
    parameters: { type: 'object' },
  })
  const many = (await here.call('tool_search', { query: 'title of issue' })).split('\n')
  expect(many.slice(5, 7)).toEqual(['Also found:', 'issues__change_field_5: Changes field 5 of an issue.'])
  expect(many.at(-1)).toMatch(/^\d+ more$/)
  const named = await here.call('tool_search', {
    query: 'issues__change_field_3, mcp__git__merge_branch change_field_8',
  })
  expect(named.split('\n').map((line) => (JSON.parse(line) as { name: string }).name)).toEqual([
    'issues__change_field_3',
    'git__merge_branch',
    'issues__change_field_8',
  ])
  expect(await here.call('tool_search', { query: 'weather' })).toMatch(
    /^No tool has these words .*: issues \(50\), git \(1\)\.$/,
  )
})

it.each([
  ['{"name":"git__merge_branch","arguments":{"of":1}}', 'git__merge_branch', '{"of":1}'],
  ['{"name":"mcp__git__merge_branch","arguments":{}}', 'git__merge_branch', '{}'],
  ['{"name":"git/merge_branch"}', 'git__merge_branch', '{}'],
  ['{"name":"merge_branch","arguments":"{\\"of\\":1}"}', 'git__merge_branch', '{"of":1}'],
  ['{"name":"git__merge","arguments":{}}', undefined, ''],
  ['{"name":', undefined, ''],
])('tool_call %s means %s', async (input, name, args) => {
  const here = await world({ git: { ...small, defersTools: true } })
  const meant = here.tools.find((tool) => tool.name === 'tool_call')?.meant?.(input)
  expect(meant).toEqual(name === undefined ? undefined : { name, input: args })
})

it('a call of a tool that does not exist is answered with the nearest one', async () => {
  const here = await world({ git: { ...small, defersTools: true } })
  expect(await here.call('tool_call', { name: 'git__merge_branhc', arguments: {} })).toBe(
    'tool_search shows no tool "git__merge_branhc". Did you mean "git__merge_branch"?',
  )
})
