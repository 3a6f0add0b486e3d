import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelReply, ModelScript } from '../../helpers/model-server.ts'
import * as schemas from '../../../src/serve/http/schemas.ts'
import { follow, type HttpServed, serveTree } from '../../helpers/http-served.ts'
import { workersOf } from '../../helpers/worker-processes.ts'
import { callsTools, startToolModel, type ToolModel } from '../../helpers/tool-model.ts'

// Conversations over HTTP: each prompt is a run.

interface World extends HttpServed {
  readonly model: ToolModel
  /** Sends a prompt and waits for the end of its run. */
  readonly ask: (asked: object) => Promise<{ readonly conversationId: string; readonly promptId: string }>
  readonly begin: World['ask']
}

async function world(replies: ModelScript, tree: Readonly<Record<string, string>> = {}, config = ''): Promise<World> {
  const model = await startToolModel(replies)
  const env = { BATON_GATEWAY_URL: model.url }
  const served = await serveTree({ 'baton.toml': 'model = "m"\ntools = ["todo"]\n', ...tree }, { env, config })
  const begin: World['ask'] = async (asked) => {
    const { status, body } = await served.post('/prompt', asked)
    expect(status, JSON.stringify(body)).toBe(202)
    return schemas.promptBegun.parse(body)
  }
  return {
    ...served,
    model,
    begin,
    async ask(asked) {
      const begun = await begin(asked)
      await follow(served, `/api/runs/${begun.promptId}/events`).ended
      const isOwned = async () => (await served.get(`/api/runs/${begun.promptId}`)).body['owned']
      await expect.poll(isOwned, { timeout: 20_000 }).toBe(false)
      return begun
    },
  }
}

/** As the mode `code` answers. */
const saying = (text: string): ModelReply => ({ text: `\`\`\`js\noutput(${JSON.stringify(text)}); done()\n\`\`\`` })

const steps = { todos: [{ content: 'Look', status: 'pending' }] }

describe('POST /prompt', () => {
  it('keeps the MCP servers of a conversation until the server ends', async () => {
    const server = [join(import.meta.dirname, '../../fixtures/mcp/stdio.mjs'), '{}']
    const config = `"calc__*" = "allow"\n[mcp_servers.calc]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify(server)}\n`
    const asks = callsTools(['calc__state', {}])
    const tree = { 'baton.toml': 'model = "m"\ntools = ["*"]\n' }
    const { ask, model, serving } = await world([asks, { text: 'One.' }, asks, { text: 'Two.' }], tree, config)
    const { conversationId } = await ask({ input: 'First' })
    await ask({ input: 'Second', conversationId })
    const results = model.requests.flatMap(({ body }) => {
      const last = body?.messages.at(-1)
      return last?.role === 'tool' ? [JSON.parse(last.content) as { readonly calls: number; readonly pid: number }] : []
    })
    expect(results.map(({ calls }) => calls)).toEqual([1, 2])
    const [pid = 0, other] = results.map((one) => one.pid)
    expect(other).toBe(pid)
    expect(process.kill(pid, 0)).toBe(true)
    await serving.close()
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  it('starts a conversation, or continues one whose model knows the earlier messages, in the given mode (R191, R192, R193)', async () => {
    const { ask, get, model } = await world([{ text: 'One.' }, saying('Two.'), { text: 'Three.' }])
    const { conversationId, promptId } = await ask({ input: 'First' })
    expect(promptId).toBe(conversationId)
    const second = await ask({ input: 'Second', conversationId, model: 'other', mode: 'code' })
    expect(second.conversationId).toBe(conversationId)
    await ask({ input: 'Third', conversationId })
    const [first, ...later] = model.requests.map(({ body }) => body)
    // they hold for the prompt that names them
    expect(later.map((body) => body?.model)).toEqual(['other', 'm'])
    expect(
      later
        .at(-1)
        ?.messages.filter(({ role }) => role !== 'system')
        .map(({ content }) => content),
    ).toEqual(['First', 'One.', 'Second', saying('Two.').text, 'Execution result: null', 'Two.', 'Third'])
    expect(later[0]?.messages[0]?.content).not.toBe(first?.messages[0]?.content)
    const list = schemas.conversationList.parse((await get('/api/conversations')).body)
    expect(list.conversations).toMatchObject([{ id: conversationId, messages: 3, text: 'First' }])
    const read = schemas.conversation.parse((await get(`/api/conversations/${conversationId}`)).body)
    expect(read.messages.map(({ text, answer, run }) => [text, answer, run.status])).toEqual([
      ['First', 'One.', 'done'],
      ['Second', 'Two.', 'done'],
      ['Third', 'Three.', 'done'],
    ])
  })

  it('that gets its turn as soon as it is recorded is answered', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const model = await startToolModel([{ text: 'First.', gate }, { text: 'Second.' }])
    const tree = { 'baton.toml': 'model = "m"\n' }
    const served = await serveTree(tree, { env: { BATON_GATEWAY_URL: model.url }, maxRuns: 1 })
    await served.post('/api/runs', { text: 'Hi' })
    await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(1)
    // its process starts for longer than the run before it takes to end
    const begun = served.post('/prompt', { input: 'Hello' })
    open()
    const { promptId } = schemas.promptBegun.parse((await begun).body)
    await follow(served, `/api/runs/${promptId}/events`).ended
    expect(served.problems).toEqual([])
    expect(await served.get(`/api/runs/${promptId}`)).toMatchObject({ body: { answers: [{ text: 'Second.' }] } })
  })

  it('has one process for all prompts of a conversation, until the conversation is closed', async () => {
    const { ask, get, post } = await world([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
    const before = workersOf(process.pid)
    const own = () => workersOf(process.pid).filter((pid) => !before.includes(pid))
    const { conversationId } = await ask({ input: 'First' })
    const [worker, ...more] = own()
    expect([worker, more]).toEqual([expect.any(Number), []])
    await ask({ input: 'Second', conversationId })
    expect(own()).toEqual([worker])
    const isOpen = async () => (await get(`/api/conversations/${conversationId}`)).body['open']
    const close = () => post(`/api/conversations/${conversationId}/close`)
    expect(await isOpen()).toBe(true)
    expect(await close()).toEqual({ status: 200, body: { closed: true } })
    await expect.poll(own, { timeout: 20_000 }).toEqual([])
    expect(await close()).toEqual({ status: 200, body: { closed: false } })
    expect(await isOpen()).toBe(false)
    await ask({ input: 'Third', conversationId })
  })

  it('that was canceled is resumed while its conversation is open, and the conversation goes on', async () => {
    const { begin, ask, get, post, model } = await world([
      { text: 'Never.', gate: new Promise(() => undefined) },
      { text: 'One.' },
      { text: 'Two.' },
    ])
    const { conversationId, promptId } = await begin({ input: 'First' })
    await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(1)
    const status = async () => ((await get(`/api/runs/${promptId}`)).body['run'] as { status: string }).status
    const isOwned = async () => (await get(`/api/runs/${promptId}`)).body['owned']
    expect(await post(`/api/runs/${promptId}/cancel`)).toMatchObject({ status: 202 })
    await expect.poll(status, { timeout: 20_000 }).toBe('cancelled')
    await expect.poll(isOwned, { timeout: 20_000 }).toBe(false)
    expect(await post(`/api/runs/${promptId}/resume`)).toEqual({ status: 202, body: { id: promptId } })
    await expect.poll(status, { timeout: 20_000 }).toBe('done')
    await expect.poll(isOwned, { timeout: 20_000 }).toBe(false)
    await ask({ input: 'Second', conversationId })
    const sent = model.requests
      .at(-1)
      ?.body?.messages.flatMap(({ role, content }) => (role === 'system' ? [] : content))
    expect(sent).toEqual(['First', 'One.', 'Second'])
  })

  it('keeps the mode and the model that its conversation was started with, if it names no others (R191, R193, R217)', async () => {
    const replies = [saying('One.'), { text: 'Two.' }, saying('Three.')]
    const { ask, model } = await world(replies)
    const { conversationId } = await ask({ input: 'First', mode: 'code', model: 'high' })
    await ask({ input: 'Second', conversationId, mode: 'classic', model: 'normal' })
    await ask({ input: 'Third', conversationId })
    expect(model.requests.map(({ body }) => body?.model)).toEqual(['high', 'normal', 'high'])
    const isCode = model.requests.map(({ body }) =>
      body?.messages.some(({ content }) => content.includes('output(text')),
    )
    expect(isCode).toEqual([true, false, true])
  })

  it('of a prompt file uses its front matter; a continued conversation uses no other file', async () => {
    const { ask, post, model } = await world([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }], {
      'own.md': '+++\nmodel = "own"\n+++\nNot asked.\n',
      'other.md': 'Other.\n',
    })
    const { conversationId } = await ask({ input: 'Hello', file: 'own.md' })
    expect(model.requests[0]?.body?.model).toBe('own')
    expect(JSON.stringify(model.requests[0]?.body?.messages)).not.toContain('Not asked')
    await ask({ input: 'Again', conversationId, file: './own.md' })
    expect(await post('/prompt', { input: 'x', conversationId, file: 'other.md' })).toMatchObject({
      status: 409,
      body: {
        error: { message: `conversation ${conversationId} is of own.md, so it cannot use other.md` },
      },
    })
    const without = await ask({ input: 'Hello' })
    expect(await post('/prompt', { input: 'x', conversationId: without.conversationId, file: 'own.md' })).toMatchObject(
      {
        status: 409,
        body: {
          error: { message: `conversation ${without.conversationId} has no prompt file, so it cannot use own.md` },
        },
      },
    )
  })

  it('says why it does not take fields of other interfaces (R155, R161, R192)', async () => {
    const { post } = await world([])
    for (const [key, why] of [
      ['state', 'is for modes of plug-ins in a program'],
      ['visible', 'each prompt is a run, and is listed'],
      ['resumePrompt', 'answer it with POST /prompts/ID/approve or /reject'],
    ] as const) {
      expect(await post('/prompt', { input: 'x', [key]: {} })).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining(why) } },
      })
    }
  })

  it('refuses an unknown conversation, one that is answering, and a body without a prompt', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const { ask, begin, post, get, model } = await world([{ text: 'One.' }, { text: 'Two.', gate }])
    const { conversationId } = await ask({ input: 'First' })
    const { promptId } = await begin({ input: 'Second', conversationId })
    await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(2)
    expect(await post('/prompt', { input: 'Third', conversationId })).toMatchObject({
      status: 409,
      body: { error: { message: `conversation ${conversationId} is answering a prompt` } },
    })
    open()
    await expect.poll(async () => (await get(`/api/runs/${promptId}`)).body['owned'], { timeout: 20_000 }).toBe(false)
    for (const id of ['nobody', '../x', conversationId.slice(0, 8), 'last']) {
      expect((await post('/prompt', { input: 'x', conversationId: id })).status).toBe(404)
      expect((await get(`/api/conversations/${encodeURIComponent(id)}`)).status).toBe(404)
    }
    for (const body of [{}, { input: '' }, { input: 1 }, { input: 'x', other: 1 }, { input: 'x', file: '' }]) {
      expect((await post('/prompt', body)).status).toBe(400)
    }
  })
})

describe('a prompt that waits for an approval', () => {
  it.each([
    ['approve', {}, '- [ ] Look'],
    ['reject', { reason: 'not now' }, 'not now'],
  ] as const)('is answered by POST /prompts/:id/%s (R194)', async (verdict, body, told) => {
    const { begin, post, get, model } = await world([callsTools(['todo', steps]), { text: 'Done.' }])
    const { promptId } = await begin({ input: 'Plan it' })
    const waits = async () => ((await get(`/api/runs/${promptId}`)).body['approvals'] as readonly unknown[]).length
    await expect.poll(waits, { timeout: 20_000 }).toBe(1)
    expect((await post(`/prompts/${promptId}/${verdict}`, { call: '77' })).status).toBe(409)
    expect(await post(`/prompts/${promptId}/${verdict}`, body)).toEqual({ status: 200, body: { open: [] } })
    await expect.poll(async () => (await get(`/api/runs/${promptId}`)).body['owned'], { timeout: 20_000 }).toBe(false)
    expect(model.results()[0]).toContain(told)
    expect(await post(`/prompts/${promptId}/${verdict}`, body)).toMatchObject({ status: 409 })
    expect((await post('/prompts/nobody/approve')).status).toBe(404)
  })
})
