import type { ElicitRequestFormParams } from '@modelcontextprotocol/client'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectTo as connect, type Era, serveFiles, textOf } from '../helpers/mcp-served.ts'

// Questions of MCP servers in runs of our server are forwarded to the client that has called it.

const program = join(import.meta.dirname, '../fixtures/mcp/stdio.mjs')
const config = `[mcp_servers.test]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(program)}]\n`

const tree = {
  'once.lua': 'return aip.mcp.call("test", "ask", {}).text',
  'twice.lua': `local one = aip.mcp.call("test", "ask", {}).text
return one .. " " .. aip.mcp.call("test", "ask", { message = "And who else?" }).text`,
  'open.lua': 'return aip.mcp.call("test", "ask", { url = "https://login.example/" }).text',
  'odd.lua': 'return aip.mcp.call("test", "ask", { schema = { properties = { a = { type = "object" } } } }).text',
}

const serve = (answerMs?: number) =>
  serveFiles(Object.keys(tree), tree, { config, ...(answerMs !== undefined && { answerMs }) })

const accepts = (name: string) => ({ action: 'accept' as const, content: { name } })

describe.each(['newer', 'older'] as const)('a client of the %s protocol that can ask its person', (era: Era) => {
  it('is given the questions of a server, and the run continues with the answers', async () => {
    const client = await connect(await serve(), era, { capabilities: { elicitation: {} } })
    const asked: unknown[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push([params.message, (params as ElicitRequestFormParams).requestedSchema])
      return accepts(`N${asked.length}`)
    })
    const end = await client.callTool({ name: 'twice', arguments: {} })
    expect(textOf(end)).toBe('{"action":"accept","content":{"name":"N1"}} {"action":"accept","content":{"name":"N2"}}')
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    expect(asked).toEqual([
      ['The MCP server test asks:\n\nWho are you?', schema],
      ['The MCP server test asks:\n\nAnd who else?', schema],
    ])
  })

  it.each(['decline', 'cancel'] as const)('says no for it (%s)', async (action) => {
    const client = await connect(await serve(), era, { capabilities: { elicitation: {} } })
    client.setRequestHandler('elicitation/create', () => ({ action }))
    expect(textOf(await client.callTool({ name: 'once', arguments: {} }))).toBe(`{"action":"${action}"}`)
  })

  it('opens an address when it says that it can, and is not given one otherwise', async () => {
    const served = await serve()
    const opens = await connect(served, era, { capabilities: { elicitation: { url: {} } } })
    const asked: unknown[] = []
    opens.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push((params as { readonly url?: string }).url)
      return { action: 'accept' }
    })
    expect(textOf(await opens.callTool({ name: 'open', arguments: {} }))).toBe('{"action":"accept"}')
    expect(asked).toEqual(['https://login.example/'])
    const shows = await connect(served, era, { capabilities: { elicitation: { form: {} } } })
    const end = await shows.callTool({ name: 'open', arguments: {} })
    expect(textOf(end)).toContain('{"action":"decline"}\n\nQuestions of MCP servers that were declined:\n- ')
  })

  it('is not given a form that no client could show', async () => {
    const client = await connect(await serve(), era, { capabilities: { elicitation: {} } })
    client.setRequestHandler('elicitation/create', () => accepts('never'))
    expect(textOf(await client.callTool({ name: 'odd', arguments: {} }))).toContain('"error"')
  })

  it('that cannot ask: the question is declined, which the result and the log say', async () => {
    const served = await serve()
    const end = await (await connect(served, era)).callTool({ name: 'once', arguments: {} })
    const why = 'the MCP server test asked the user a question: the client cannot show forms'
    expect(textOf(end)).toContain(`{"action":"decline"}`)
    expect(textOf(end)).toContain(why)
    expect(served.logged).toEqual([expect.stringMatching(`once: ${why} .* it was declined`)])
  })
})

it('a call that is cancelled in the middle of a question stops its run', async () => {
  const client = await connect(await serve(), 'older', { capabilities: { elicitation: {} } })
  const stop = new AbortController()
  client.setRequestHandler('elicitation/create', () => {
    stop.abort()
    return new Promise(() => {})
  })
  await expect(client.callTool({ name: 'once', arguments: {} }, { signal: stop.signal })).rejects.toThrow()
  const titles = async () => (await client.listResources()).resources.map(({ title }) => title)
  await expect.poll(titles, { timeout: 20_000 }).toEqual([expect.stringMatching('once.lua: cancelled$')])
})

describe('answers that come by hand', () => {
  const asked = async (answerMs?: number) => {
    const client = await connect(await serve(answerMs), 'newer', {
      capabilities: { elicitation: {} },
      inputRequired: { autoFulfill: false },
    })
    const call = (more: object = {}) =>
      client.callTool({ name: 'once', arguments: {}, ...more }, { allowInputRequired: true }) as Promise<object>
    const first = (await call()) as { readonly requestState: string; readonly inputRequests: object }
    const titles = async () => (await client.listResources()).resources.map(({ title }) => title)
    return { call, first, titles }
  }

  it('are asked for again where they are missing, and count once', async () => {
    const { call, first } = await asked()
    const { requestState } = first
    expect(Object.keys(first.inputRequests)).toEqual(['test'])
    const again = await call({ requestState, inputResponses: { other: accepts('Eve') } })
    expect(again).toMatchObject({ inputRequests: first.inputRequests })
    const right = { requestState, inputResponses: { test: accepts('Ada') } }
    expect(JSON.stringify(await call(right))).toContain('Ada')
    expect(await call(right)).toMatchObject({ isError: true })
  })

  it('come too late when the run was stopped meanwhile', async () => {
    const { call, first, titles } = await asked(1)
    await expect.poll(titles, { timeout: 20_000 }).toEqual([expect.stringMatching('once.lua: cancelled$')])
    const late = await call({ requestState: first.requestState, inputResponses: { test: accepts('Ada') } })
    expect(late).toMatchObject({ isError: true })
    expect(JSON.stringify(late)).toContain('is no longer waiting for these answers')
  })
})
