import { describe, expect, it } from 'vitest'
import { narrow, withServices } from '../../../src/event/context.ts'
import type { EventBody } from '../../../src/event/event.ts'
import type { LimitedPack, ToolRule } from '../../../src/event/permission.ts'
import { toolRules } from '../../../src/tool/rule-list.ts'
import { type FakeMcp, fakeMcp, type FakeServer } from '../../helpers/fake-mcp.ts'
import { tempTree } from '../../helpers/temp.ts'
import { type HostSection, hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

interface World {
  readonly mcp: FakeMcp
  readonly host: HostSection
  readonly sent: readonly EventBody[]
  readonly run: (code: string) => Promise<unknown>
}

const allowed: ToolRule = { tool: 'mcp', effect: 'allow', origin: 'test' }

function world(
  servers: { readonly [name: string]: FakeServer },
  rules: readonly ToolRule[] = [allowed],
  pack?: LimitedPack,
): World {
  const host = hostSection(tempTree({}))
  const mcp = fakeMcp(servers)
  const limits = { rules: toolRules(rules), ...(pack && { pack }) }
  const sent: EventBody[] = []
  const context = withServices(host.section.context, { mcp, events: (_, event) => void sent.push(event) })
  const section = { ...host.section, context: narrow(context, limits) }
  return { mcp, host, sent, run: (code) => runLua({ ...host, section }, code) }
}

const weather: FakeServer = {
  tools: [{ name: 'now', description: 'The weather.', output: { type: 'object' }, readOnly: true }, { name: 'set.it' }],
  answer: (tool, input) => ({
    content: [
      { type: 'text', text: `${tool} in ${String(input['city'])}` },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ],
    structured: { degrees: 4, of: input },
  }),
}

describe('aip.mcp.call', () => {
  it('returns the result of the tool, as texts, parts and a table', async () => {
    const { run, mcp, host } = world({ weather })
    const code = 'local r = aip.mcp.call("weather", "now", { city = "Oslo", days = { 1, 2 } })\nreturn r'
    expect(await run(code)).toEqual({
      text: 'now in Oslo',
      content: [
        { type: 'text', text: 'now in Oslo' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
      structured: { degrees: 4, of: { city: 'Oslo', days: [1, 2] } },
      is_error: false,
    })
    expect(mcp.calls).toEqual(['weather now {"city":"Oslo","days":[1,2]}'])
    expect(host.records.filter(({ k }) => k === 'started')).toMatchObject([{ kind: 'mcp', repeat: 'unsafe' }])
  })

  it('has no arguments if none are given, or an empty table', async () => {
    const { run, mcp } = world({ s: { tools: [] } })
    await run('aip.mcp.call("s", "a")\naip.mcp.call("s", "b", {})')
    expect(mcp.calls).toEqual(['s a {}', 's b {}'])
    await expect(run('aip.mcp.call("s", "a", { 1 })')).rejects.toThrow('the arguments must be a table with keys')
  })

  it('returns a failure of a tool, and throws for a failure of the server', async () => {
    const failing: FakeServer = {
      tools: [],
      answer: () => ({ content: [{ type: 'text', text: 'no such city' }], isError: true }),
    }
    const { run } = world({ failing, broken: { tools: [], broken: 'no such program' } })
    expect(await run('return aip.mcp.call("failing", "t")')).toMatchObject({ is_error: true, text: 'no such city' })
    await expect(run('aip.mcp.call("broken", "t")')).rejects.toThrow(
      'the MCP server broken cannot be started: no such program',
    )
    await expect(run('aip.mcp.call("other", "t")')).rejects.toThrow('there is no MCP server "other"')
    const caught = 'local ok, err = pcall(aip.mcp.call, "broken", "t")\nreturn { ok, tostring(err) }'
    expect(await run(caught)).toEqual([false, expect.stringContaining('cannot be started')])
  })

  it('sends the progress of the tool, and its end', async () => {
    const slow: FakeServer = {
      tools: [{ name: 'index' }],
      async answer(_, __, { onProgress }) {
        onProgress?.({ done: 1, total: 2, message: 'reading' })
        onProgress?.({ done: 2, total: 2 })
        return { content: [{ type: 'text', text: 'done' }] }
      },
    }
    const { run, sent } = world({ slow }, [allowed, { ...allowed, tool: 'slow__index' }])
    await run('aip.mcp.call("slow", "in.dex")')
    const progress = { type: 'tool.progress', id: expect.stringMatching(/#0$/), name: 'slow__in_dex', server: 'slow' }
    expect(sent.filter(({ type }) => type === 'tool.progress')).toEqual([
      { ...progress, done: 1, total: 2, message: 'reading' },
      { ...progress, done: 2, total: 2 },
      { ...progress, done: 2, total: 2, ended: true },
    ])
    const before = sent.length
    await run('aip.code.run("return await tools[\\"slow__index\\"]({})", { tools = { "slow__index" } })')
    expect(sent.slice(before).filter(({ type }) => type === 'tool.progress')).toMatchObject([
      { name: 'slow__index', server: 'slow', id: expect.stringMatching(/0:slow__index$/), done: 1 },
      { done: 2 },
      { done: 2, ended: true },
    ])
  })

  it('may be repeated after a crash if a trusted server declares the tool as read-only', async () => {
    const { run, host } = world({ weather: { ...weather, isTrusted: true } })
    await run('aip.mcp.call("weather", "now")\naip.mcp.call("weather", "set.it")')
    const begun = host.records.flatMap((record) => (record.k === 'started' ? [record.repeat] : []))
    expect(begun).toEqual(['safe', 'unsafe'])
  })
})

describe('aip.mcp.list', () => {
  it('names the tools of one server, or of all', async () => {
    const { run, mcp } = world({ weather, s: { tools: [{ name: 'a' }] } })
    expect(await run('return aip.mcp.list("weather")')).toEqual([
      {
        server: 'weather',
        name: 'weather__now',
        tool: 'now',
        description: 'The weather.',
        input: { type: 'object' },
        output: { type: 'object' },
        read_only: true,
      },
      { server: 'weather', name: 'weather__set_it', tool: 'set.it', input: { type: 'object' } },
    ])
    expect(mcp.started).toEqual(['weather'])
    expect(
      await run('local names = {}\nfor i, t in ipairs(aip.mcp.list()) do names[i] = t.name end\nreturn names'),
    ).toEqual(['weather__now', 'weather__set_it', 's__a'])
    expect(await world({}).run('return #aip.mcp.list()')).toBe(0)
  })
})

describe('aip.code.run', () => {
  it('has tools of servers as functions, which return the value of the tool', async () => {
    const { run, mcp } = world({ weather })
    const code = (program: string): string => `return aip.code.run([[${program}]], { tools = { "weather__*" } })`
    expect(await run(code('weatherNow({ city: "Oslo" })'))).toEqual({ degrees: 4, of: { city: 'Oslo' } })
    expect(await run(code('tools["weather__set_it"]({}).degrees'))).toBe(4)
    expect(mcp.calls).toEqual(['weather now {"city":"Oslo"}', 'weather set.it {}'])
    await expect(run('aip.code.run("1", { tools = { "wether__now" } })')).rejects.toThrow(
      'there is no MCP server with a tool "wether__now"',
    )
  })

  it('applies the rules for models to them', async () => {
    const { run, mcp } = world({ weather }, [])
    const code = 'return aip.code.run("try { weatherNow({}) } catch (error) { error.message }", { tools = { "*" } })'
    const allowing = 'permission denied; to allow it set [permission] weather__now = "allow"'
    expect(await run(code)).toBe(`Tool "weather__now" failed: ${allowing}`)
    expect(mcp.calls).toEqual([])
  })
})

it('a pack with capabilities may use the servers that they name', async () => {
  const granted = { read: [], write: [], hosts: [], commands: [], env: [], models: [], mcp: ['weather'] }
  const places = { ownFolders: [], keptFolders: [], executed: [], allow: [] }
  const { run, mcp } = world({ weather, s: { tools: [] } }, [], { identity: 'demo@tools', granted, ...places })
  expect(await run('return aip.mcp.call("weather", "now").is_error')).toBe(false)
  const refused = 'demo@tools may not use the MCP server s: its capabilities do not include it'
  await expect(run('aip.mcp.call("s", "t")')).rejects.toThrow(`aip.mcp.call: ${refused}`)
  await expect(run('aip.mcp.list("s")')).rejects.toThrow(`aip.mcp.list: ${refused}`)
  expect(mcp.started).toEqual(['weather'])
})
