import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { beginRun } from '../../src/library/runs.ts'
import { connectTo, type Era, secret, type Served, serveFiles, textOf } from '../helpers/mcp-served.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

// Clients of our server that send malicious requests, or vanish.

const steps = { todos: [{ content: 'Look', status: 'pending' }] }
const asks = '+++\nmodel = "m"\ntools = ["todo"]\n+++\nHi\n'
const scripted = (script: string): string => `+++\nagent = "${script}"\n+++\nHi\n`
const plain = { 'a.md': scripted('say.lua'), 'b.md': scripted('say.lua'), 'say.lua': 'return "said"' }

/** A client that answers questions to its user manually, and calls again with the state that it received. */
async function askedOf(served: Served, tool: string) {
  const client = await connectTo(served, 'newer', {
    capabilities: { elicitation: {} },
    inputRequired: { autoFulfill: false },
  })
  const call = (name: string, more: object = {}) =>
    client.callTool({ name, arguments: {}, ...more }, { allowInputRequired: true }) as Promise<JsonObject>
  const first = await call(tool)
  const { requestState, inputRequests } = first as { requestState: string; inputRequests: JsonObject }
  const answers = (decision: string) => ({
    requestState,
    inputResponses: Object.fromEntries(
      Object.keys(inputRequests).map((id) => [id, { action: 'accept', content: { decision } }]),
    ),
  })
  return { call, answers, requestState, inputRequests }
}

const words = (result: JsonObject): string => textOf(result as unknown as { content: readonly object[] })

describe('answers of a person', () => {
  const serveAsking = async (options: { overrides?: readonly string[] } = {}) => {
    const model = await startToolModel([callsTools(['todo', steps]), { text: 'Done.' }])
    const tree = { 'ask.md': asks, 'other.md': asks }
    const served = await serveFiles(['ask.md', 'other.md'], tree, { env: { BATON_GATEWAY_URL: model.url }, ...options })
    return { model, served }
  }

  it('that are forged, or of a call of another tool, do nothing; the right ones do, once', async () => {
    const { model, served } = await serveAsking()
    const { call, answers } = await askedOf(served, 'ask')
    const right = answers('allow')
    const forged = `${right.requestState.slice(0, -4)}AAAA`
    await expect(call('ask', { ...right, requestState: forged })).rejects.toThrow(/requestState/)
    expect(await call('other', right)).toMatchObject({ isError: true })
    expect(model.requests).toHaveLength(1)
    expect(words(await call('ask', right))).toBe('Done.')
    const again = await call('ask', right)
    expect([again['isError'], words(again)]).toEqual([true, expect.stringContaining('is already decided')])
    expect(model.requests).toHaveLength(2)
  })

  it('that contradict each other at the same time: one counts', async () => {
    const { model, served } = await serveAsking()
    const { call, answers } = await askedOf(served, 'ask')
    const ends = await Promise.all([call('ask', answers('allow')), call('ask', answers('deny'))])
    expect(ends.map((end) => end['isError'] === true).toSorted()).toEqual([false, true])
    expect(model.requests).toHaveLength(2)
  })

  it('find a run that is kept where a setting of the command line says', async () => {
    const { served } = await serveAsking({ overrides: ['runs.dir=elsewhere'] })
    const { call, answers } = await askedOf(served, 'ask')
    expect(words(await call('ask', answers('allow')))).toBe('Done.')
  })
})

describe('a client', () => {
  it('reads no run of another file, and learns no id of one', async () => {
    const served = await serveFiles(['a.md'], plain)
    const place = {
      cwd: served.folder,
      home: served.home,
      env: { BATON_HOME: served.home, BATON_LOCAL_SERVERS: 'off' },
    }
    const { runId: own } = await beginRun('a.md', {}, place).result
    const { runId: foreign } = await beginRun('b.md', {}, place).result
    const client = await connectTo(served, 'newer')
    const read = async (id: string) => client.readResource({ uri: `baton://runs/${id}` })
    await expect(read(own)).resolves.toMatchObject({ contents: [expect.anything()] })
    for (const id of [foreign, foreign.slice(0, -1), own.slice(0, -1), '2', 'last', '../../x', '..%2f..%2fx', '%00']) {
      const said = await read(id).then(() => 'a run', String)
      expect([id, said], id).toEqual([id, expect.stringContaining('this server has no run')])
      expect(said.replace(id, '')).not.toContain(foreign)
    }
  })

  it('is told where a served file is wrong by now, and has it again once it is mended', async () => {
    const served = await serveFiles(['a.md'], plain)
    const client = await connectTo(served, 'newer')
    const file = join(served.folder, 'a.md')
    writeFileSync(file, '+++\nagent = \n+++\nHi\n')
    const wrong = await client.callTool({ name: 'a', arguments: {} })
    expect([wrong.isError, textOf(wrong)]).toEqual([true, expect.stringContaining('a.md:2')])
    rmSync(file)
    expect(await client.callTool({ name: 'a', arguments: {} })).toMatchObject({ isError: true })
    writeFileSync(file, scripted('say.lua'))
    expect(textOf(await client.callTool({ name: 'a', arguments: {} }))).toBe('said')
  })

  it('is told an error as it is, with what to do', async () => {
    const tree = { 'a.md': scripted('fails.lua'), 'fails.lua': 'error("no ../x and ../y")' }
    const client = await connectTo(await serveFiles(['a.md'], tree), 'newer')
    const said = textOf(await client.callTool({ name: 'a', arguments: {} }))
    expect(said).toMatch(/no \.\.\/x and \.\.\/y \([^)]*fails\.lua:1\)\. Fix this line[^.]*\.$/)
  })

  it('sees no secret of the environment, in texts or in values', async () => {
    const schema = 'schema = { type = "object", properties = { key = { type = "string" } } }'
    const tree = {
      'a.md': `+++\nagent = "say.lua"\n[output]\n${schema}\n+++\nHi\n`,
      'say.lua': `return '{"key": "' .. aip.cmd.exec("printenv", {"SOME_API_KEY"}).stdout:gsub("%s", "") .. '"}'`,
    }
    const key = 'sk-of-nobody-else-0123456789'
    const client = await connectTo(await serveFiles(['a.md'], tree, { env: { SOME_API_KEY: key } }), 'newer')
    const result = await client.callTool({ name: 'a', arguments: {} })
    expect(result.structuredContent).toMatchObject({ key: expect.any(String) })
    expect(JSON.stringify(result)).not.toContain(key)
  })

  it.each(['newer', 'older'] as const)('of the %s protocol that vanishes leaves nothing running', async (era) => {
    const mark = `4${process.pid}${era === 'newer' ? 1 : 2}`
    const tree = { 'a.md': scripted('slow.lua'), 'slow.lua': `aip.cmd.exec("sleep", {"${mark}"})` }
    const served = await serveFiles(['a.md'], tree)
    const dropped = await callByHand(served, era)
    await expect.poll(() => isRunning(mark), { timeout: 20_000 }).toBe(true)
    dropped.destroy()
    await expect.poll(() => isRunning(mark), { timeout: 20_000 }).toBe(false)
    const client = await connectTo(served, era)
    await expect.poll(() => titles(client), { timeout: 20_000 }).toEqual([expect.stringContaining('cancelled')])
  })

  const titles = async (client: Client) => (await client.listResources()).resources.map(({ title }) => title)
})

function isRunning(mark: string): boolean {
  return execFileSync('ps', ['-eo', 'args']).toString().split('\n').includes(`sleep ${mark}`)
}

const usual = {
  authorization: `Bearer ${secret}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

/** Calls the tool `a` with a request that can be destroyed. */
async function callByHand(served: Served, era: Era) {
  const { url } = served.listening
  const post = (headers: object, method: string, params: object) => ({
    method: 'POST',
    headers: { ...usual, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const send = ({ body, ...options }: ReturnType<typeof post>) => {
    const sent = request(url, options)
    sent.on('error', () => {})
    sent.end(body)
    return sent
  }
  const params = { name: 'a', arguments: {} }
  const clientInfo = { name: 'by hand', version: '1' }
  if (era === 'newer') {
    const prefix = 'io.modelcontextprotocol/'
    const version = '2026-07-28'
    const meta = { protocolVersion: version, clientInfo, clientCapabilities: {} }
    const _meta = Object.fromEntries(Object.entries(meta).map(([key, value]) => [`${prefix}${key}`, value]))
    const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': 'a' }
    return send(post(headers, 'tools/call', { ...params, _meta }))
  }
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const response = await fetch(url, post({}, 'initialize', hello))
  await response.text()
  return send(post({ 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }, 'tools/call', params))
}

describe('a request', () => {
  it('that is too large, or no message, is refused, and the server goes on', async () => {
    const served = await serveFiles(['a.md'], plain)
    const post = async (body: string) =>
      (await fetch(served.listening.url, { method: 'POST', headers: usual, body })).status
    expect(await post(`{"x":"${'x'.repeat(17 * 1024 * 1024)}"}`)).toBe(413)
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`
    const deepCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":${deep}}}}`
    for (const body of ['{', '[]', 'null', '', '{"jsonrpc":"2.0"}', '['.repeat(100_000), deep, deepCall])
      expect(await post(body)).toBe(400)
    expect(textOf(await (await connectTo(served, 'older')).callTool({ name: 'a', arguments: {} }))).toBe('said')
  })

  it('by another name, or of a page of elsewhere, is refused', async () => {
    const { listening } = await serveFiles(['a.md'], plain)
    const port = Number(new URL(listening.url).port)
    const status = (headers: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () =>
          socket.write(
            `POST /mcp HTTP/1.1\r\n${headers}Authorization: Bearer ${secret}\r\nContent-Length: 2\r\n\r\n{}`,
          ),
        )
        socket.once('data', (answer) => {
          socket.destroy()
          resolve(answer.toString().slice(9, 12))
        })
        socket.once('error', reject)
      })
    const own = `Host: 127.0.0.1:${port}\r\n`
    const names = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      '127.0.0.1.evil.example',
      'localhost.',
      '127.0.0.1@evil.example',
      '127.0.0.1#x',
      '',
    ]
    for (const host of names)
      expect([host, await status(`Host: ${host}\r\n`)]).toEqual([host, expect.stringMatching(/40[03]/)])
    const foreign = ['null', 'file://', 'https://evil.example', '', `http://127.0.0.1:${port + 1}`, 'http://localhost']
    for (const origin of [...foreign, `http://localhost:${port}`, `https://127.0.0.1:${port}`])
      expect([origin, await status(`${own}Origin: ${origin}\r\n`)]).toEqual([origin, '403'])
    expect(await status(`${own}Sec-Fetch-Site: same-site\r\n`)).toBe('403')
    expect(await status(own)).toBe('415')
    expect(await status(`${own}Origin: http://127.0.0.1:${port}\r\n`)).toBe('415')
    const inUrl = await fetch(`${listening.url}?secret=${encodeURIComponent(secret)}`, { method: 'POST' })
    expect(inUrl.status).toBe(401)
    expect(inUrl.headers.get('x-content-type-options')).toBe('nosniff')
  })
})
