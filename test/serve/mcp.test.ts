import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectTo as connect, secret, type Served, serveFiles, textOf } from '../helpers/mcp-served.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

const greet = `+++
name = "Greeter"
description = "Greets somebody."
agent = "agents/greet.lua"

[input.name]
required = true
description = "Whom to greet."

[input.times]
type = "integer"
default = 1
+++
Hello {{input.name}} {{input.times}}
`

const count = `+++
agent = "agents/count.lua"

[output]
schema = { type = "object", properties = { words = { type = "integer" } }, required = ["words"] }
+++
one two
`

const files = {
  'greet.md': greet,
  'count.md': count,
  'fails.md': '+++\nagent = "agents/fails.lua"\n+++\nHi\n',
  'slow.md': '+++\nagent = "agents/slow.lua"\n+++\nHi\n',
  'agents/greet.lua': 'return input.instruction .. (input.stdin or "")',
  'agents/count.lua': `return '{"words": 2}'`,
  'agents/fails.lua': 'error("no bread")',
  'agents/slow.lua': 'while true do end',
  'agents/double.lua': '-- Doubles a number.\nreturn input * 2',
}

const serve = (
  names: readonly string[],
  { tree = files, env = {} }: { tree?: Readonly<Record<string, string>>; env?: Record<string, string> } = {},
): Promise<Served> => serveFiles(names, tree, { env })

describe.each(['newer', 'older'] as const)('a client of the %s protocol', (era) => {
  it('is offered files with the schemas of their variables and answers', async () => {
    const client = await connect(await serve(['greet.md', 'count.md', 'agents/double.lua']), era)
    const { tools } = await client.listTools()
    expect(tools).toMatchObject([
      {
        name: 'greet',
        title: 'Greeter',
        description: 'Greets somebody.',
        inputSchema: {
          properties: {
            name: { type: 'string', description: 'Whom to greet.' },
            times: { type: 'integer', default: 1 },
            context: { type: 'string' },
          },
          required: ['name'],
        },
      },
      { name: 'count', outputSchema: { type: 'object', properties: { words: { type: 'integer' } } } },
      { name: 'double', description: 'Doubles a number.' },
    ])
  })

  it('gets answers, structured ones as the schema of the file says', async () => {
    const client = await connect(await serve(['greet.md', 'count.md', 'agents/double.lua']), era)
    const greeted = await client.callTool({ name: 'greet', arguments: { name: 'Ada', times: 3 } })
    expect([textOf(greeted), greeted.isError]).toEqual(['Hello Ada 3', undefined])
    expect(await client.callTool({ name: 'count', arguments: {} })).toMatchObject({ structuredContent: { words: 2 } })
    expect(textOf(await client.callTool({ name: 'double', arguments: { input: 21 } }))).toBe('42')
  })

  it('asks an agent definition with the argument input', async () => {
    const model = await startToolModel([{ text: 'fine' }])
    const tree = { 'agents/rev.md': '+++\nmodel = "m"\n+++\nYou review.\n' }
    const client = await connect(await serve(['agents/rev.md'], { tree, env: { BATON_GATEWAY_URL: model.url } }), era)
    const { tools } = await client.listTools()
    expect(tools).toMatchObject([{ name: 'rev', inputSchema: { properties: { input: { type: 'string' } } } }])
    expect(textOf(await client.callTool({ name: 'rev', arguments: { input: 'ZEBRA' } }))).toBe('fine')
    expect(model.requests.map(({ body }) => body?.messages?.at(-1)?.content)).toEqual(['ZEBRA'])
  })

  it('is told what is wrong: arguments, and a run that failed', async () => {
    const client = await connect(await serve(['greet.md', 'fails.md']), era)
    const wrong = await client.callTool({ name: 'greet', arguments: { nam: 'Ada' } })
    expect([wrong.isError, textOf(wrong)]).toEqual([true, expect.stringContaining('name')])
    const failed = await client.callTool({ name: 'fails', arguments: {} })
    expect([failed.isError, textOf(failed)]).toEqual([true, expect.stringContaining('no bread')])
  })

  it('reads runs of what is offered as resources', async () => {
    const client = await connect(await serve(['greet.md']), era)
    await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })
    const { resources } = await client.listResources()
    expect(resources).toHaveLength(1)
    const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' })
    expect(JSON.parse(String(contents[0] && 'text' in contents[0] && contents[0].text))).toMatchObject({
      status: 'done',
      exit: 0,
    })
    await expect(client.readResource({ uri: 'baton://runs/nope' })).rejects.toThrow(/nope/)
  })

  it('stops a call that it cancels', async () => {
    const world = await serve(['slow.md'])
    const client = await connect(world, era)
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 300)
    await expect(client.callTool({ name: 'slow', arguments: {} }, { signal: stop.signal })).rejects.toThrow()
    await expect
      .poll(async () => (await client.listResources()).resources.map(({ title }) => title), { timeout: 20_000 })
      .toEqual([expect.stringContaining('cancelled')])
  })

  const steps = { todos: [{ content: 'Look', status: 'pending' }] }
  const asking = async () => {
    const model = await startToolModel([callsTools(['todo', steps]), { text: 'Done.' }])
    const tree = { 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nHi\n' }
    return { model, world: await serve(['ask.md'], { tree, env: { BATON_GATEWAY_URL: model.url } }) }
  }

  it.each([
    [{ action: 'accept' as const, content: { decision: 'allow' } }, [expect.not.stringContaining('Error')]],
    [
      { action: 'accept' as const, content: { decision: 'deny', reason: 'think first' } },
      ['Error: rejected by the user: think first'],
    ],
    [{ action: 'decline' as const }, ['Error: rejected by the user']],
  ])('asks its person for an approval and goes on: %j', async (answer, results) => {
    const { model, world } = await asking()
    const client = await connect(world, era, { capabilities: { elicitation: {} } })
    const asked: string[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message)
      return answer
    })
    const end = await client.callTool({ name: 'ask', arguments: {} })
    expect([textOf(end).split('\n')[0], asked]).toEqual(['Done.', [expect.stringContaining('Allow todo?')]])
    expect([model.requests.length, model.results()]).toEqual([2, results])
  })

  it.each([
    [{ decision: 'allow', hunks: '2', reason: 'keep the first' }, '1\ntwo\n', 'They say:\n\nkeep the first'],
    [{ decision: 'allow', hunks: '' }, 'one\ntwo\n', undefined],
    [{ decision: 'allow', hunks: 'the second' }, '1\n2\n', undefined],
  ])('asks its person about the hunks of a change: %j', async (content, ends, said) => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join('')
    const text = `Two words.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="a.txt">\n@@\n-1\n+one\n@@\n-2\n+two\n</FILE_PATCH>\n</FILE_CHANGES>`
    const model = await startToolModel([{ text }, { text: 'Done.' }])
    const ask = '+++\nmodel = "m"\nwrite_mode = "ask"\ncontext_globs = ["*.txt"]\n+++\nHi\n'
    const tree = { 'ask.md': ask, 'a.txt': `1\n${lines}2\n` }
    const world = await serve(['ask.md'], { tree, env: { BATON_GATEWAY_URL: model.url } })
    const client = await connect(world, era, { capabilities: { elicitation: {} } })
    const asked: unknown[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params)
      return { action: 'accept', content }
    })
    await client.callTool({ name: 'ask', arguments: {} })
    expect(asked).toMatchObject([
      {
        message: expect.stringMatching(
          /^Two words\.\n\nAllow write\?\n\n[^]*a\.txt[^]*@@ hunk 1\n-1\n\+one\n[^]*@@ hunk 2\n/,
        ),
        requestedSchema: { properties: { hunks: { description: expect.stringContaining('these of the 2 hunks') } } },
      },
    ])
    expect(readFileSync(join(world.folder, 'a.txt'), 'utf8').replace(lines, '')).toBe(ends)
    const back = model.requests[1]?.body?.messages.at(-1)?.content
    expect(back).toEqual(said === undefined ? undefined : expect.stringContaining(said))
  })

  it('that cannot ask anybody is refused the call, and told what would allow it', async () => {
    const { world } = await asking()
    const end = await (await connect(world, era)).callTool({ name: 'ask', arguments: {} })
    expect(textOf(end)).toContain('to allow it set [permission] todo = "allow"')
  })

  it('sees progress', async () => {
    const { world } = await asking()
    const client = await connect(world, era, { capabilities: { elicitation: {} } })
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { decision: 'allow' } }))
    const messages: (string | undefined)[] = []
    await client.callTool(
      { name: 'ask', arguments: {} },
      { onprogress: ({ message }) => void messages.push(message), resetTimeoutOnProgress: true },
    )
    expect(messages).toContain('calling todo')
  })

  it('sees the progress that tools of other servers tell of', async () => {
    const args = JSON.stringify([join(import.meta.dirname, '../fixtures/mcp/stdio.mjs'), '{}'])
    const config = `mcp = "allow"\n[mcp_servers.s]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\n`
    const tree = { 'far.lua': 'return aip.mcp.call("s", "progress", { steps = 2 }).text' }
    const client = await connect(await serveFiles(['far.lua'], tree, { config }), era)
    const messages: (string | undefined)[] = []
    await client.callTool(
      { name: 'far', arguments: {} },
      { onprogress: ({ message }) => void messages.push(message), resetTimeoutOnProgress: true },
    )
    expect(messages.filter((text) => text?.startsWith('s__'))).toEqual([
      's__progress: 1 of 2: step 1',
      's__progress: 2 of 2: step 2',
    ])
  })

  it('makes twenty calls at once', async () => {
    const client = await connect(await serve(['greet.md']), era)
    const calls = Array.from({ length: 20 }, (_, index) =>
      client.callTool({ name: 'greet', arguments: { name: `N${index}` } }),
    )
    expect((await Promise.all(calls)).map(textOf)).toEqual(calls.map((_, index) => `Hello N${index} 1`))
  })
})

describe('a server that listens', () => {
  const post = (url: string, headers: Record<string, string>): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
    })

  it('answers nobody without its secret, no page of another origin, and to no other name', async () => {
    const { listening } = await serve(['greet.md'])
    const authorization = `Bearer ${secret}`
    expect((await post(listening.url, {})).status).toBe(401)
    expect((await post(listening.url, { authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await post(listening.url, { authorization, origin: 'https://evil.example' })).status).toBe(403)
    expect((await post(listening.url, { authorization, origin: 'null' })).status).toBe(403)
    expect((await post(listening.url.replace('/mcp', '/'), { authorization })).status).toBe(404)
  })

  it('refuses two files of one name', async () => {
    const tree = { ...files, 'other/greet.md': 'Hi\n' }
    await expect(serve(['greet.md', 'other/greet.md'], { tree })).rejects.toMatchObject({
      code: 'USAGE',
      message: 'greet.md and other/greet.md would both be offered as the tool "greet"',
    })
  })
})
