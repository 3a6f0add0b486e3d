import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import {
  type Conversation,
  type ConversationEvent,
  conversationPrompts,
  createConversations,
  type Prompt,
} from '../../src/index.ts'
import { baton } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

interface World {
  readonly model: ToolModel
  readonly conversation: Conversation
  /** All events so far. */
  readonly seen: readonly ConversationEvent[]
  readonly manager: ReturnType<typeof createConversations>
  /** Resolves with the first event of a type. */
  readonly next: <T extends ConversationEvent['type']>(type: T) => Promise<Extract<ConversationEvent, { type: T }>>
}

async function world(replies: readonly ModelReply[], options: object = {}, config = ''): Promise<World> {
  const model = await startToolModel(replies)
  const home = tempTree({ 'config/config.toml': config })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: home }
  const manager = createConversations({ cwd: tempTree({}), env, home, model: 'm' })
  onTestFinished(() => manager.close())
  const conversation = manager.open(options)
  const seen: ConversationEvent[] = []
  const waiting = new Set<() => void>()
  void (async () => {
    for await (const event of conversation.events) {
      seen.push(event)
      for (const look of waiting) look()
    }
  })()
  return {
    model,
    conversation,
    seen,
    manager,
    next: (type) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = seen.find((event) => event.type === type)
          if (found !== undefined) resolve(found as never)
        }
        waiting.add(look)
        look()
      }),
  }
}

function texts(seen: readonly ConversationEvent[]): readonly string[] {
  return seen.flatMap((event) => (event.type === 'item.completed' ? [event.item.text] : []))
}

it('a conversation is opened with an id, takes operations in order, and ends with them and its events (R261, R262, R263, R264, R265)', async () => {
  const options = { userId: 'ada', instructions: 'Be brief.' }
  const { model, conversation, seen, manager } = await world([{ text: 'One.' }, { text: 'Two.' }], options)
  expect(manager.get(conversation.id)).toBe(conversation)
  conversation.submit({ type: 'prompt', text: 'First?' })
  conversation.submit({ type: 'prompt', text: 'Second?' })
  conversation.submit({ type: 'shutdown' })
  expect(() => conversation.submit({ type: 'interrupt' })).toThrow('has ended')
  expect(await conversation.ended).toMatchObject({ stopReason: 'done', exitCode: 0, runId: conversation.id })
  for await (const event of conversation.events) throw new Error(`no event comes behind the end: ${event.type}`)
  expect(texts(seen)).toEqual(['One.', 'Two.'])
  expect(seen.at(-1)?.type).toBe('run.completed')
  expect([...new Set(seen.map(({ user_id }) => user_id))]).toEqual(['ada'])
  expect(seen.find(({ type }) => type === 'prompt.created')).toMatchObject({ agent_id: 'main', user_id: 'ada' })
  const messages = model.requests.at(-1)?.body?.['messages'] as readonly { role: string; content: string }[]
  expect(messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    'system: Be brief.',
    'user: First?',
    'assistant: One.',
    'user: Second?',
  ])
  expect(manager.get(conversation.id)).toBeUndefined()
})

it('has the settings of its manager, its own, and those of the config at the time it is opened (R261)', async () => {
  const model = await startToolModel([{ text: '1' }, { text: '2' }, { text: '3' }])
  const home = tempTree({ 'config/config.toml': 'temperature = 0.1\n' })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: home }
  const manager = createConversations({ cwd: tempTree({}), env, home, model: 'shared' })
  const ask = async (options: { readonly model?: string }): Promise<void> => {
    const { submit, ended } = manager.open(options)
    submit({ type: 'prompt', text: 'Hi.' })
    submit({ type: 'shutdown' })
    expect(await ended).toMatchObject({ exitCode: 0 })
  }
  await ask({})
  writeFileSync(join(home, 'config/config.toml'), 'temperature = 0.7\n')
  await ask({})
  await ask({ model: 'own' })
  expect(model.requests.map(({ body }) => [body?.model, body?.['temperature']])).toEqual([
    ['shared', 0.1],
    ['shared', 0.7],
    ['own', 0.7],
  ])
})

it('is closed with the other conversations of its manager, even while it is ending by itself', async () => {
  const { conversation, manager } = await world([{ text: 'One.' }])
  const other = manager.open()
  conversation.submit({ type: 'prompt', text: 'First?' })
  conversation.submit({ type: 'shutdown' })
  await manager.close()
  expect(await conversation.ended).toMatchObject({ stopReason: 'done', exitCode: 0 })
  expect(await other.ended).toMatchObject({ stopReason: 'done', exitCode: 0 })
  // it has ended: there is nothing to shut down
  conversation.submit({ type: 'shutdown' })
})

it('has its questions answered by operations, each by its id', async () => {
  const fetch = callsTools(['webfetch', { url: 'https://page.example/' }])
  const options = { instructions: '+++\ntools = ["webfetch"]\n+++\nBe brief.' }
  const { model, conversation, next } = await world([fetch, { text: 'Well.' }], options)
  conversation.submit({ type: 'prompt', text: 'Look.' })
  const { id, tool } = await next('approval.requested')
  expect(tool).toBe('webfetch')
  conversation.submit({ type: 'reject', id: 'another', reason: 'never' })
  conversation.submit({ type: 'reject', id, reason: 'not that page' })
  await next('prompt.completed')
  expect(model.results()).toEqual([expect.stringContaining('not that page')])
  conversation.submit({ type: 'shutdown' })
  expect(await conversation.ended).toMatchObject({ exitCode: 0 })
})

it.each(['approval.requested', 'tool.started'] as const)(
  'continues with a call that is allowed by the id of its %s (R153)',
  async (named) => {
    const options = { instructions: '+++\ntools = ["todo"]\n+++\nBe brief.' }
    const replies = [callsTools(['todo', steps('one')], ['todo', steps('two')]), { text: 'Well.' }]
    const { model, conversation, next, seen } = await world(replies, options, '[permission]\ntodo = "ask"\n')
    conversation.submit({ type: 'prompt', text: 'Plan.' })
    await expect.poll(() => seen.filter(({ type }) => type === 'approval.requested')).toHaveLength(2)
    const ids = seen.flatMap((event) => (event.type === named ? [event.id] : []))
    conversation.submit({ type: 'approve', id: 'another' })
    conversation.submit({ type: 'reject', id: ids[1] ?? '', reason: 'one list is enough' })
    conversation.submit({ type: 'approve', id: ids[0] ?? '' })
    // already answered: nothing happens
    conversation.submit({ type: 'reject', id: ids[0] ?? '' })
    await next('prompt.completed')
    expect(model.results()).toEqual([expect.stringContaining('one'), expect.stringContaining('one list is enough')])
    conversation.submit({ type: 'prompt', text: 'And now?' })
    conversation.submit({ type: 'shutdown' })
    expect(await conversation.ended).toMatchObject({ exitCode: 0 })
  },
)

function steps(content: string): JsonObject {
  return { todos: [{ content, status: 'pending' }] }
}

it('stops the current prompt, and accepts further ones, which know what it had said', async () => {
  const slow = { text: 'So far.', chunks: ['So far', '.'], stallAfter: 1 }
  const { model, conversation, next, seen } = await world([slow, { text: 'Here.' }])
  conversation.submit({ type: 'prompt', text: 'First?' })
  await next('item.delta')
  conversation.submit({ type: 'interrupt' })
  expect(await next('prompt.error')).toMatchObject({ state: 'cancelled' })
  conversation.submit({ type: 'prompt', text: 'Second?' })
  conversation.submit({ type: 'shutdown' })
  expect(await conversation.ended).toMatchObject({ stopReason: 'done' })
  expect(texts(seen)).toEqual(['Here.'])
  const [first] = conversation.prompts()
  expect(first).toMatchObject({ state: 'cancelled', output: [{ type: 'text', text: 'So far' }] })
  expect(model.requests[1]?.body?.messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'First?'],
    ['assistant', 'So far\n\n[The user stopped this answer here.]'],
    ['user', 'Second?'],
  ])
})

it('ends with its signal, during a prompt and between prompts', async () => {
  const slow = { text: 'Slow.', gate: new Promise<void>(() => {}) }
  for (const replies of [[slow], [{ text: 'Here.' }]]) {
    const stop = new AbortController()
    const { model, conversation, next } = await world(replies, { signal: stop.signal })
    conversation.submit({ type: 'prompt', text: 'First?' })
    if (replies[0] === slow) await expect.poll(() => model.requests).toHaveLength(1)
    else await next('prompt.completed')
    stop.abort()
    expect(await conversation.ended).toMatchObject({ stopReason: 'cancelled' })
  }
})

it('ends with a signal that nothing else refers to', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { conversation, next } = await world([{ text: 'Here.' }], { signal: AbortSignal.timeout(1500) })
  conversation.submit({ type: 'prompt', text: 'First?' })
  await next('prompt.completed')
  collect()
  expect(await conversation.ended).toMatchObject({ stopReason: 'cancelled' })
})

it('is listed as a run, and can be continued only by its program', async () => {
  const cwd = tempTree({})
  const model = await startToolModel([{ text: 'Slow.', gate: new Promise<void>(() => {}) }])
  const home = tempTree({})
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: home }
  const stop = new AbortController()
  const conversation = createConversations({ cwd, env, home, model: 'm' }).open({ signal: stop.signal })
  conversation.submit({ type: 'prompt', text: 'First?' })
  await expect.poll(() => model.requests).toHaveLength(1)
  stop.abort()
  await conversation.ended
  const options = { cwd, env: { BATON_HOME: home } }
  expect(JSON.parse((await baton(['runs', '--json'], options)).stdout)).toMatchObject({ target: 'conversation' })
  expect((await baton(['runs', 'show', 'last'], options)).stdout).not.toContain('baton resume')
  const refused = await baton(['resume', conversation.id], options)
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('this run is a conversation, which only its program can continue\nhint: Open a new one'),
  ])
  const none = await baton(['resume', '--last'], options)
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('no run of this workspace can be resumed')])
})

it('returns its prompts, also after it has ended, and another conversation continues from the stored prompts (R192)', async () => {
  const replies = [{ text: '```js\noutput("It is " + 3); done()\n```' }, { text: 'Yes.' }]
  const { model, conversation, manager } = await world(replies)
  expect(conversation.prompts()).toEqual([])
  conversation.submit({ type: 'prompt', text: 'How many?', mode: 'code' })
  conversation.submit({ type: 'shutdown' })
  await conversation.ended
  const prompts = conversation.prompts()
  expect(prompts).toMatchObject([{ mode: 'code', state: 'completed', input: 'How many?', usage: { calls: 1 } }])
  const other = manager.open({ history: JSON.parse(JSON.stringify(prompts)) as readonly Prompt[] })
  other.submit({ type: 'prompt', text: 'Sure?' })
  other.submit({ type: 'shutdown' })
  await other.ended
  const messages = model.requests.at(-1)?.body?.['messages'] as readonly { role: string; content: string }[]
  expect(messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    'user: How many?',
    'assistant: output("It is " + 3); done()',
    'user: Execution result: null',
    'assistant: It is 3',
    'user: Sure?',
  ])
  expect(other.prompts().map(({ input, mode, state }) => [input, mode, state])).toEqual([
    ['How many?', 'code', 'completed'],
    ['Sure?', 'classic', 'completed'],
  ])
})

it('continues from the prompts of another conversation, and records nothing on request', async () => {
  const history = [
    {
      id: 'p',
      userId: 'ada',
      mode: 'classic',
      model: 'normal',
      visible: true,
      state: 'completed',
      input: 'Hi.',
      output: [{ type: 'text', text: 'Hello.', start: '2026-01-01T00:00:00.000Z' }],
    },
  ]
  const { model, conversation } = await world([{ text: 'Yes.' }], { history, record: false })
  conversation.submit({ type: 'prompt', text: 'Still there?' })
  conversation.submit({ type: 'shutdown' })
  expect((await conversation.ended).folder).toBeUndefined()
  const messages = model.requests.at(-1)?.body?.['messages'] as readonly { content: string }[]
  expect(messages.map(({ content }) => content)).toEqual(['Hi.', 'Hello.', 'Still there?'])
})

it('takes a model, a visibility and a state for each prompt, and refuses what would have no effect (R155, R161, R192)', async () => {
  const plugin = `export default { id: 'p', setup: ({ modes }) => modes.register({
    id: 'echo', name: 'Echo', createExecutor: ({ services, state }) =>
      services.executor(async ({ say }) => { say(JSON.stringify(state)); return 'done' }),
  }) }`
  const folder = tempTree({ 'p.mjs': plugin })
  const state = { name: 'ada', level: 1 }
  const config = `plugins = [${JSON.stringify(join(folder, 'p.mjs'))}]\n`
  const { model, conversation } = await world([{ text: 'One.' }, { text: 'Two.' }], { state }, config)
  conversation.submit({ type: 'prompt', text: 'First', model: 'high', visible: false })
  conversation.submit({ type: 'prompt', text: 'Second' })
  conversation.submit({ type: 'prompt', text: 'Third', mode: 'echo', state: { level: 2 } })
  conversation.submit({ type: 'prompt', text: 'Fourth', state: { level: 3 } })
  expect(() => conversation.submit({ type: 'prompt', text: 'x', resumePrompt: {} } as never)).toThrow(
    'a prompt that waits is not sent again',
  )
  expect(() => conversation.submit({ type: 'prompt', text: 'x', mood: 'code' } as never)).toThrow(
    'the operation "prompt" has no field "mood"',
  )
  expect(() => conversation.submit({ type: 'prompt' } as never)).toThrow('the operation "prompt" needs "text"')
  expect(() => conversation.submit({ type: 'stop' } as never)).toThrow('there is no operation "stop"')
  conversation.submit({ type: 'shutdown' })
  expect((await conversation.ended).error).toBeUndefined()
  expect(model.requests.map(({ body }) => body?.model)).toEqual(['high', 'm'])
  expect(conversation.prompts().map(({ visible, model: name, output }) => [visible, name, output])).toMatchObject([
    [false, 'high', [{ text: 'One.' }]],
    [true, 'normal', [{ text: 'Two.' }]],
    [true, 'normal', [{ text: JSON.stringify({ ...state, level: 2 }) }]],
  ])
})

it('gives the prompts of a recorded conversation back, of a program and of a chat, with what programs returned', async () => {
  const replies = [{ text: 'output("Six."); done(); ({ six: 6 })' }, { text: 'Seven.' }, { text: 'Eight.' }]
  const model = await startToolModel(replies)
  const place = { cwd: tempTree({}), env: { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree() }, home: tempTree() }
  const manager = createConversations({ ...place, model: 'm' })
  const conversation = manager.open()
  conversation.submit({ type: 'prompt', text: 'Count', mode: 'code' })
  conversation.submit({ type: 'shutdown' })
  await conversation.ended
  const own = await conversationPrompts(conversation.id, place)
  expect(own).toEqual(conversation.prompts())
  expect(own).toMatchObject([
    {
      mode: 'code',
      output: [
        { function: 'code.execute', result: { output: 'Execution result: {"six":6}', value: { six: 6 } } },
        { text: 'Six.' },
      ],
    },
  ])
  await baton(['chat', '-m', 'm'], { cwd: place.cwd, env: { ...place.env, HOME: place.home }, input: 'On\nMore\n' })
  const chat = await conversationPrompts('last', place)
  expect(chat).toMatchObject([
    { input: 'On', state: 'completed', mode: 'classic', output: [{ text: 'Seven.' }] },
    { input: 'More', output: [{ text: 'Eight.' }] },
  ])
  expect(await conversationPrompts(chat[0]?.id ?? '', place)).toEqual(chat)
  await expect(conversationPrompts('20200101-000000-abcdef', place)).rejects.toThrow('20200101-000000-abcdef')
  // another conversation continues it
  const next = manager.open({ history: chat })
  next.submit({ type: 'shutdown' })
  expect((await next.ended).exitCode).toBe(0)
})
