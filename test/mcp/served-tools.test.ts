import { expect, it } from 'vitest'
import { giveTools } from '../../src/team/tools.ts'
import type { Tool } from '../../src/event/agent.ts'
import { below, narrow, type RunContext, withServices } from '../../src/event/context.ts'
import { textMessage } from '../../src/event/message.ts'
import type { ModelProvider } from '../../src/model/provider.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import { type Switches, stdioServer, testServers, type TestServers } from '../helpers/mcp-server.ts'
import { sessionWorld } from '../helpers/session-world.ts'
import { tempTree } from '../helpers/temp.ts'

interface World {
  readonly context: RunContext
  readonly tools: readonly Tool[]
  readonly call: (tool: string, input?: object) => ReturnType<Tool['run']>
  readonly give: () => Promise<readonly Tool[]>
}

const silent: ModelProvider = { name: 'none', async *stream() {} }

/** The tools of a server in a separate process, as a model gets them. */
async function world(mcp: TestServers, provider: ModelProvider = silent): Promise<World> {
  const workspace = tempTree({})
  const { context: around } = await sessionWorld({ provider, workspace })
  const rules = toolRules([{ tool: 'test__*', effect: 'allow', origin: 'test' }])
  const context = withServices(narrow(around, { rules }), { mcp })
  let given = 0
  let calls = 0
  const give = async (): Promise<readonly Tool[]> => {
    const at = below(context, { kind: 'step', index: given++, name: 'given' })
    return (await giveTools([], { named: { tools: ['test__*'] }, baseDir: workspace }, at)).tools
  }
  const tools = await give()
  return {
    context,
    tools,
    give,
    call: async (name, input = {}) => {
      const tool = tools.find((one) => one.name === `test__${name}`)
      const at = below(context, { kind: 'tool', index: calls++, name })
      return (await tool?.run(JSON.stringify(input), at)) ?? { text: `no tool ${name}`, isError: true }
    },
  }
}

function served(switches: Switches = {}): TestServers {
  return testServers([stdioServer(switches)])
}

it('a model has the tools of a stdio server, and their results', async () => {
  await using mcp = served()
  const { tools, call } = await world(mcp)
  const add = tools.find(({ name }) => name === 'test__add')
  expect(add).toMatchObject({
    description: 'A tool of the MCP server "test", in its words: Adds two numbers.',
    output: { type: 'object', properties: { sum: { type: 'number' } } },
    server: 'test',
  })
  expect(await call('add', { a: 2, b: 3 })).toEqual({ text: '5\n{"sum":5}', structured: { sum: 5 } })
  expect(await call('add', { a: 2 })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/do not fit its schema/),
  })
  expect(await call('fail')).toEqual({ text: 'it did not work', isError: true })
  const { text, files } = await call('picture')
  expect(text.split('\n')).toEqual([
    'here they are',
    expect.stringMatching(/^\[image \(image\/png, .*\)\]$/),
    '[audio (audio/wav, 0.1kb): models are given only text, images and PDF documents]',
    '[resource one (text/plain): memo://one: the first memo]',
    '[resource memo://two]',
    'the second memo',
  ])
  expect(files).toMatchObject([{ type: 'file', mediaType: 'image/png' }])
})

it('errors of a server are returned to the model, and the next call starts the server again', async () => {
  await using mcp = served()
  const { call } = await world(mcp)
  expect(await call('refuse')).toMatchObject({ isError: true, text: expect.stringMatching(/I do not do that/) })
  expect(await call('nonsense')).toMatchObject({ isError: true })
  expect(await call('crash')).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^Error in tool "test__crash": /),
  })
  expect(await call('echo', { text: 'again' })).toEqual({ text: 'again' })
})

it('a changed list of a server applies to the next conversation', async () => {
  await using mcp = served()
  const { tools, give, call } = await world(mcp)
  await call('change')
  const later = await give()
  expect(Math.abs(later.length - tools.length)).toBe(1)
})

it('200 calls of one turn reach one server, and their results are in order', async () => {
  await using mcp = served()
  const numbers = Array.from({ length: 200 }, (_, n) => n)
  const { context, tools } = await world(mcp, {
    name: 'scripted',
    async *stream({ messages }) {
      const isDone = messages.some(({ role }) => role === 'tool')
      for (const n of isDone ? [] : numbers) {
        const input = JSON.stringify({ text: `n${n}` })
        yield { type: 'tool_call', block: n, id: `call_${n}`, name: 'test__echo', input }
      }
      if (isDone) yield { type: 'text', block: 0, text: 'done' }
      yield { type: 'finish', reason: isDone ? 'stop' : 'tool_calls' }
    },
  })
  const agent = { kind: 'llm', name: 'main', settings: { model: 'm' }, tools } as const
  const { calls, text } = await context.services.agents.run(
    { kind: 'model', agent, messages: [textMessage('user', 'Go.')] },
    context,
  )
  expect(text).toBe('done')
  expect(calls.map(({ output }) => output)).toEqual(numbers.map((n) => `n${n}`))
  expect(mcp.pids).toHaveLength(1)
})

it('a program makes 200 calls at once, and gets the output that a tool describes', async () => {
  await using mcp = served()
  let told = ''
  const { context, tools } = await world(mcp, {
    name: 'scripted',
    async *stream({ messages }) {
      told = JSON.stringify(messages)
      const calls = 'Array.from({ length: 200 }, (_, n) => ({ tool: "test__add", input: { a: n, b: 1 } }))'
      yield {
        type: 'text',
        block: 0,
        text: `output(parallel(${calls}).reduce((all, one) => all + one.sum, 0)); done()`,
      }
      yield { type: 'finish', reason: 'stop' }
    },
  })
  const agent = { kind: 'llm', name: 'main', settings: { model: 'm' }, tools, mode: 'code' } as const
  const { text } = await context.services.agents.run(
    { kind: 'model', agent, messages: [textMessage('user', 'Go.')] },
    context,
  )
  expect(text).toBe(String((199 * 200) / 2 + 200))
  expect(JSON.parse(told).flatMap((message: { parts: { text: string }[] }) => message.parts)[0].text).toContain(
    'function testAdd(input: {\n  a: number\n  b: number\n}): {\n  sum: number\n}',
  )
})
