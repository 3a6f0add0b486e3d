import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import type { Tool, ToolResult } from '../../src/event/agent.ts'
import { below, narrow, type RunContext, type RunScope, withScope } from '../../src/event/context.ts'
import { allRights, grantFor, type LimitedPack, type ToolFilter, type ToolRule } from '../../src/event/permission.ts'
import { checkServers, mcpTools } from '../../src/mcp/tools.ts'
import { createPermission } from '../../src/tool/permission.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import type { Toolbox } from '../../src/tool/toolbox/kind.ts'
import { createToolbox } from '../../src/tool/toolbox/toolbox.ts'
import { testContext } from '../helpers/context.ts'
import { type FakeMcp, fakeMcp, type FakeServer } from '../helpers/fake-mcp.ts'
import { createMemoryEffects } from '../helpers/memory-journal.ts'
import { tempTree } from '../helpers/temp.ts'

interface World {
  readonly context: RunContext
  readonly mcp: FakeMcp
  readonly box: Toolbox
  readonly warnings: () => readonly string[]
  readonly records: ReturnType<typeof testContext>['records']
  readonly give: (tools: readonly string[], without?: readonly string[]) => Promise<readonly Tool[]>
}

interface Options {
  readonly rules?: readonly ToolRule[]
  readonly packs?: readonly LimitedPack[]
  readonly filters?: readonly ToolFilter[]
  readonly scope?: Partial<RunScope>
}

const allowed: ToolRule = { tool: 'mcp', effect: 'allow', origin: 'test' }

function world(servers: { readonly [name: string]: FakeServer }, options: Options = {}): World {
  const { rules = [allowed], packs = [], filters, scope = {} } = options
  const workspace = tempTree({})
  const process = testContext({ workspace })
  const mcp = fakeMcp(servers)
  const rights = { ...allRights, packs, rules: [[...toolRules(), ...rules]], ...(filters && { tools: filters }) }
  const permission = createPermission(rights, { workspace })
  const context: RunContext = {
    scope: { ...process.scope, rights, ...scope },
    services: {
      ...process.services,
      mcp,
      permission,
      permissionOf: (given) => createPermission(given, { workspace }),
      effects: process.services.effects.under(permission),
    },
  }
  const box = createToolbox({ baseDir: workspace })
  return {
    context,
    mcp,
    box,
    records: process.records,
    warnings: () => process.sent.flatMap((event) => (event.type === 'warning' ? [event.message] : [])),
    give: (tools, disallowed_tools = []) => {
      const at = below(context, { kind: 'task', index: given++ }).scope.at
      return mcpTools({ tools, disallowed_tools }, box, { at, context })
    },
  }
}

let given = 0
let calls = 0

function call({ context }: World, tool: Tool | undefined, input: JsonObject | string = {}): Promise<ToolResult> {
  const at = below(context, { kind: 'tool', index: calls++, name: tool?.name ?? '' })
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  return tool?.run(text, at) ?? Promise.resolve({ text: 'no tool', isError: true })
}

function names(tools: readonly Tool[]): readonly string[] {
  return tools.map(({ name }) => name)
}

const files: FakeServer = { tools: [{ name: 'read' }, { name: 'write' }] }
const issues: FakeServer = { tools: [{ name: 'create' }] }

describe('the tools of servers', () => {
  it('are the named ones, and only their servers are started', async () => {
    const here = world({ files, issues })
    expect(names(await here.give(['read', 'glob']))).toEqual([])
    expect(here.mcp.started).toEqual([])
    expect(names(await here.give(['files__*']))).toEqual(['files__read', 'files__write'])
    expect(names(await here.give(['mcp__files__read', 'read']))).toEqual(['files__read'])
    expect(here.mcp.started).toEqual(['files'])
    expect(names(await here.give(['*'], ['files__write']))).toEqual(['files__read', 'issues__create'])
    expect(here.mcp.started).toEqual(['files', 'issues'])
    // a server's tool is not one of Baton's own
    expect((await here.give(['files__read'])).map(({ server }) => server)).toEqual(['files'])
  })

  it('are restricted to the rights of the agent, and none is offered that a rule denies', async () => {
    const filters = [{ tools: ['files__*', 'issues__*'] }, { disallowed_tools: ['issues__*'] }]
    expect(names(await world({ files, issues }, { filters }).give(['*']))).toEqual(['files__read', 'files__write'])
    const deny = (tool: string, pattern?: string): ToolRule =>
      pattern === undefined
        ? { tool, effect: 'deny', origin: 'test' }
        : { tool, pattern, effect: 'deny', origin: 'test' }
    for (const rule of [deny('files__write'), deny('*__write'), deny('mcp', 'files__w*'), deny('mcp__files__write')]) {
      const here = world({ files, issues }, { rules: [allowed, rule] })
      expect(names(await here.give(['files__*'])), rule.tool).toEqual(['files__read'])
    }
    for (const rule of [deny('files__*'), deny('mcp'), deny('mcp', 'files__*')]) {
      const here = world({ files }, { rules: [allowed, rule] })
      expect([names(await here.give(['*'])), here.mcp.started]).toEqual([[], []])
    }
    const again = world({ files }, { rules: [deny('mcp'), { tool: 'files__read', effect: 'allow', origin: 'test' }] })
    expect(names(await again.give(['*']))).toEqual(['files__read'])
  })

  it('are omitted with one warning if their server cannot be started and only a catch-all pattern matches it', async () => {
    const here = world({ files, issues: { tools: [], broken: 'no such program' } })
    expect(names(await here.give(['*']))).toEqual(['files__read', 'files__write'])
    expect(names(await here.give(['mcp__*']))).toEqual(['files__read', 'files__write'])
    expect(here.warnings()).toEqual([
      'no model gets the tools of issues: the MCP server issues cannot be started: no such program',
    ])
    await expect(here.give(['issues__*'])).rejects.toMatchObject({ code: 'MCP_FAILED', hint: 'Look at its command.' })
    await expect(checkServers({ tools: ['issues__create'] }, here.context)).rejects.toMatchObject({
      code: 'MCP_FAILED',
    })
    await checkServers({ tools: ['*'] }, here.context)
  })

  it('must exist if they are named', async () => {
    const here = world({ files })
    const missing = { code: 'CONFIG_INVALID', message: 'the MCP server files has no tool "raed"' }
    await expect(here.give(['files__raed'])).rejects.toMatchObject({ ...missing, hint: 'Did you mean "files__read"?' })
    await expect(checkServers({ tools: ['mcp__files__raed'] }, here.context)).rejects.toMatchObject(missing)
    await checkServers({ tools: ['files__read', 'files__nothing_*'] }, here.context)
  })

  it('are recorded with each conversation, so that a change applies to the next one', async () => {
    const tools = [{ name: 'one' }]
    const here = world({ s: { tools } })
    expect(names(await here.give(['s__*']))).toEqual(['s__one'])
    tools.push({ name: 'two' })
    expect(names(await here.give(['s__*']))).toEqual(['s__one', 's__two'])
    const lists = here.records.filter((record) => record.k === 'obs' && record.name === 'mcp.tools')
    expect(lists.map((record) => 'p' in record && String(record.p).endsWith('/mcp/s'))).toEqual([true, true])
  })
})

describe('a call', () => {
  it("is one effect with the server's tool name, and its input is checked by the schema of the server", async () => {
    const input = {
      type: 'object',
      properties: { n: { type: 'number' } },
      required: ['n'],
      additionalProperties: false,
    }
    const here = world({ s: { tools: [{ name: 'a.b', input }] } })
    const [tool] = await here.give(['s__*'])
    expect(await call(here, tool, { n: 1 })).toEqual({ text: 'a.b {"n":1}' })
    expect(await call(here, tool, { n: 'x' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/\$\.n must be a number|number/),
    })
    expect(await call(here, tool, '{"n":')).toMatchObject({ isError: true })
    expect(here.mcp.calls).toEqual(['s a.b {"n":1}'])
    const begun = here.records.filter((record) => record.k === 'started')
    expect(begun).toMatchObject([
      { kind: 'mcp', repeat: 'unsafe', request: { server: 's', tool: 'a.b', input: { n: 1 } } },
    ])
  })

  it('is repeated after a crash only if a trusted server declares it as read-only', async () => {
    const tools = [{ name: 'look', readOnly: true }, { name: 'act' }]
    const here = world({ known: { tools, isTrusted: true }, other: { tools } })
    for (const tool of await here.give(['*'])) await call(here, tool)
    const repeats = here.records.flatMap((record) => (record.k === 'started' ? [record.repeat] : []))
    expect(repeats).toEqual(['safe', 'unsafe', 'unsafe', 'unsafe'])
  })

  it('is asked about by default, and the model is told which rule would allow it', async () => {
    const here = world({ github: { tools: [{ name: 'create_issue' }] } }, { rules: [] })
    const [tool] = await here.give(['*'])
    expect(await call(here, tool)).toEqual({
      text: 'permission denied; to allow it set [permission] github__create_issue = "allow"',
      isError: true,
      isDenied: true,
    })
    expect(here.mcp.calls).toEqual([])
  })

  it.each([
    ['its description', { description: 'Deletes the issue.' }],
    ['its schema', { input: { type: 'object', properties: { force: { type: 'boolean' } } } }],
    ['what it says of itself', { destructive: true }],
  ])('is asked about again when the server has changed %s since "always"', async (_, change) => {
    const github = { tools: [{ name: 'close_issue', description: 'Closes the issue.' }, { name: 'other' }] }
    const here = world({ github }, { rules: [] })
    const asked: string[] = []
    const effects = createMemoryEffects({
      permission: here.context.services.permission,
      approver: async (action) => {
        if (action.kind !== 'tool') return 'deny'
        asked.push(action.tool)
        return { always: grantFor(action) }
      },
    })
    const context = { ...here.context, services: { ...here.context.services, effects } }
    const [tool] = await here.give(['*'])
    for (const count of [1, 1, 2, 2]) {
      if (count === 2) github.tools[0] = { name: 'close_issue', description: 'Closes the issue.', ...change }
      expect(await call({ ...here, context }, tool)).toMatchObject({ text: 'close_issue {}' })
      expect(asked).toHaveLength(count)
    }
    expect(
      effects.records.some((record) => 'request' in record && JSON.stringify(record.request).includes('version')),
    ).toBe(false)
  })

  it.each([
    ['github__create_issue', undefined],
    ['github__*', undefined],
    ['mcp__github__*', undefined],
    ['mcp', undefined],
    ['mcp', 'github__*'],
    ['mcp', 'mcp__github__create*'],
  ])('is allowed by %s %s', async (tool, pattern) => {
    const rule = { tool, effect: 'allow', origin: 'test', ...(pattern && { pattern }) } as const
    const here = world({ github: { tools: [{ name: 'create_issue' }] }, other: issues }, { rules: [rule] })
    const [github, other] = await here.give(['*'])
    expect(await call(here, github)).toEqual({ text: 'create_issue {}' })
    expect((await call(here, other)).isDenied).toBe(tool === 'mcp' && pattern === undefined ? undefined : true)
  })

  it('that fails returns the reason and the remedy, and an error reported by a tool is a result', async () => {
    const broken: FakeServer = {
      tools: [{ name: 't' }],
      answer: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
    }
    const here = world({ broken })
    const [tool] = await here.give(['*'])
    expect(await call(here, tool)).toEqual({ text: 'no', isError: true })
    Object.assign(broken, { broken: 'it has crashed' })
    expect(await call(here, tool)).toEqual({
      text: 'Error in tool "broken__t": the MCP server broken cannot be started: it has crashed. Look at its command.',
      isError: true,
    })
  })

  it('is truncated like the output of any tool, and stored completely', async () => {
    const line = `${'x'.repeat(99)}\n`
    const long = { content: [{ type: 'text', text: line.repeat(1000) }] } as const
    const here = world({ s: { tools: [{ name: 't' }], answer: () => long } })
    const [tool] = await here.give(['*'])
    const { text } = await call(here, tool)
    expect(text.length).toBeLessThan(51_000)
    const [, id = ''] = /read "output:(\w+)" from offset/.exec(text) ?? []
    expect(here.box.outputs.find(id, undefined)).toBe(line.repeat(1000))
    const ofModel = world(
      { s: { tools: [{ name: 't' }], answer: () => long } },
      { scope: { at: [{ kind: 'turn', index: 0 }] } },
    )
    const [same] = await ofModel.give(['s__*'])
    expect((await call(ofModel, same)).text).toMatch(/^x[^]{600,700}\n\[cut: lines 8 to 988 of 1000 [^]{1000,1400}$/)
  })

  it('in plan mode is made only if a trusted server declares the tool as read-only', async () => {
    const tools = [{ name: 'look', readOnly: true }, { name: 'act' }]
    const here = world({ known: { tools, isTrusted: true }, other: { tools } })
    const offered = await here.give(['*'])
    here.box.plan.set('/somewhere/plan.md')
    for (const tool of offered) await call(here, tool)
    expect(here.mcp.calls).toEqual(['known look {}'])
    here.box.plan.set(undefined)
    const dry = withScope(here.context, { dry: 'changes' })
    for (const tool of offered) await call({ ...here, context: dry }, tool)
    expect(here.mcp.calls).toEqual(['known look {}', 'known look {}'])
  })

  it('is one of 200 at once that reach the server once each', async () => {
    const here = world({ s: { tools: [{ name: 't' }] } })
    const [tool] = await here.give(['*'])
    const results = await Promise.all(Array.from({ length: 200 }, (_, n) => call(here, tool, { n })))
    expect(results.map(({ text }) => text)).toEqual(Array.from({ length: 200 }, (_, n) => `t {"n":${n}}`))
    expect(new Set(here.mcp.calls).size).toBe(200)
  })
})

describe('a pack with capabilities', () => {
  const pack = (...mcp: readonly string[]): LimitedPack => ({
    identity: 'demo@tools',
    granted: { read: [], write: [], hosts: [], commands: [], env: [], models: [], mcp },
    ownFolders: [],
    keptFolders: [],
    executed: [],
    allow: [],
  })

  it('gets tools of the servers that they name', async () => {
    const here = world({ files, issues }, { packs: [pack('files')] })
    expect(names(await here.give(['files__read']))).toEqual(['files__read'])
    await expect(here.give(['issues__*'])).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: 'tools: demo@tools may not use the MCP server issues: its capabilities do not include it',
    })
    expect(names(await here.give(['*']))).toEqual(['files__read', 'files__write'])
    expect([here.mcp.started, here.warnings()]).toEqual([['files'], []])
    expect(names(await world({ files, issues }, { packs: [pack('*')] }).give(['*']))).toHaveLength(3)
  })

  it('cannot call a tool that an earlier version was given', async () => {
    const here = world({ files })
    const [tool] = await here.give(['files__read'])
    const held = narrow(here.context, { pack: pack() })
    expect(await call({ ...here, context: held }, tool)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/may not use the MCP server/),
    })
    expect(here.mcp.calls).toEqual([])
  })
})

describe('the arguments of a tool', () => {
  const ofName = (name: JsonObject): JsonObject => ({ type: 'object', properties: { name }, required: ['name'] })

  it.each<[string, JsonObject]>([
    ['a Python pattern', ofName({ type: 'string', pattern: '^(?P<first>\\w+)\\Z' })],
    ['a Go pattern', ofName({ type: 'string', pattern: '^(?i)[a-z]+$' })],
    ['a POSIX class', ofName({ type: 'string', pattern: '^[[:alpha:]]+$' })],
    ['keys named by a POSIX class', { type: 'object', patternProperties: { '^[[:alpha:]]+$': { type: 'number' } } }],
    ['a boolean exclusiveMinimum, as in draft-04', ofName({ minimum: 0, exclusiveMinimum: true })],
    ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#', ...ofName({ type: 'string' }) }],
    ['a reference to nothing', ofName({ $ref: '#/$defs/Missing' })],
    ['a reference to a file', ofName({ $ref: 'common.json#/name' })],
    ['references that form a cycle', { $ref: '#' }],
  ])('are not checked by a schema with %s, which is reported once', async (_, input) => {
    const here = world({ notes: { tools: [{ name: 'add', input }] } })
    const [tool] = await here.give(['notes__add'])
    expect(await call(here, tool, { name: 'Ada' })).toMatchObject({ text: 'add {"name":"Ada"}' })
    expect(await call(here, tool, { title: 1 })).toMatchObject({ text: 'add {"title":1}' })
    expect(await call(here, tool, '[1]')).toMatchObject({ isError: true })
    expect(here.warnings()).toEqual([
      expect.stringMatching(
        /^the arguments of the tool notes__add are not checked: the schema from its MCP server is not understood: ./,
      ),
    ])
  })
})
