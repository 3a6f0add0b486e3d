import { expect, it } from 'vitest'
import { unlessAborted } from '../../../src/base/concurrency.ts'
import { BatonError } from '../../../src/base/error.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import type { AgentDefinition, AgentExecutor } from '../../../src/event/agent.ts'
import { withServices } from '../../../src/event/context.ts'
import { decorate, type Effects } from '../../../src/event/effects.ts'
import type { EventBody } from '../../../src/event/event.ts'
import type { Inbox } from '../../../src/event/inbox.ts'
import { textOf } from '../../../src/event/message.ts'
import type { Place } from '../../../src/event/place.ts'
import type { Permit } from '../../../src/event/permission.ts'
import { agentIdAt } from '../../../src/event/sub-agents.ts'
import { listForm } from '../../../src/team/delegate/list-form.ts'
import { openStore } from '../../../src/team/delegate/store.ts'
import { createWorkers } from '../../../src/team/delegate/workers.ts'
import { createToolbox } from '../../../src/tool/toolbox/toolbox.ts'
import { testContext } from '../../helpers/context.ts'
import { placeAt } from '../../helpers/effects.ts'
import { usualDefinition } from '../../helpers/task-world.ts'

const noMail: Inbox = { isOpen: () => false, waiting: () => [], know: () => {}, next: async () => false }

function definitionOf(name: string): AgentDefinition {
  const agent = { kind: 'prompt', name, file: `/${name}.md`, text: '' } as const
  return { name, description: `the ${name}`, origin: '', from: 'prompt', agent, ...usualDefinition, instructions: '' }
}

interface WorldOptions {
  readonly maxWorkers?: number
  readonly hasLeft?: boolean
  readonly effects?: Effects
}

/** The tools of a leader whose workers end when they are let go, with their last message in angle brackets. */
function world({ maxWorkers = 2, hasLeft = false, effects }: WorldOptions = {}) {
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => (go = resolve))
  const asked: (readonly string[])[] = []
  const ended: string[] = []
  const files: { state?: string; list?: string } = {}
  const unused = (): never => expect.unreachable()
  const agents: AgentExecutor = {
    run: unused,
    open: unused,
    async converse({ messages }, { services }) {
      const given = messages('')
      const texts = given.map((message) => textOf(message))
      asked.push(texts)
      if (texts.at(-1) === 'ask') throw new BatonError('WAITING_FOR_APPROVAL', 'wants to write')
      await unlessAborted(gate, services.signal)
      const text = `<${texts.at(-1)}>`
      return { end: 'done', text, messages: given, changes: [], planned: [] }
    },
  }
  const told: EventBody[] = []
  const events = (_: Place, event: EventBody): void => void told.push(event)
  const context = withServices(testContext({ agents }), { events, ...(effects === undefined ? {} : { effects }) })
  const box = createToolbox({ baseDir: '/nowhere' })
  const workers = createWorkers({
    store: openStore({
      team: 'team-1',
      name: 'list',
      form: listForm('json'),
      file: { read: () => files.state, write: (text) => void (files.state = text) },
      list: {
        read: () => files.list,
        write: (text) => {
          files.list = text
          return true
        },
      },
      watch: { onItem: () => {}, onConflicts: () => {}, onUnreadable: () => {} },
      pause: async () => {},
    }),
    workers: new Map([
      ['coder', definitionOf('coder')],
      ['tester', definitionOf('tester')],
    ]),
    maxWorkers,
    waits: { defaultMs: 30_000, minMs: 1, maxMs: 300_000 },
    context,
    baseDir: '/nowhere',
    hasLeft: () => hasLeft,
    seatOf: () => ({ tools: [], inbox: noMail }),
    stallAfterMs: 120_000,
    bind: () => ({ tools: [], close: async () => {} }) as never,
    box,
    onEnd: async (handle) => ended.push(handle),
  })
  let calls = 0
  return {
    workers,
    asked,
    ended,
    told,
    go: () => go(),
    call: async (name: string, input: JsonObject): Promise<string> => {
      const kind = workers.kinds.find((one) => one.name === name)
      const at = placeAt(`task/0/ask/turn/${calls}/tool/0:${name}`)
      calls += 1
      const output = await kind?.run(input, { context, at, box, permit: {} as Permit })
      return `${output?.isError === true ? 'refused: ' : ''}${output?.text}`
    },
  }
}

it('a leader waits for all that are at work if it names nobody', async () => {
  const { call, go } = world()
  const { agent_id: id } = JSON.parse(await call('spawn_agent', { role: 'coder', message: 'build' })) as JsonObject
  const waited = call('wait', {})
  go()
  expect(JSON.parse(await waited)).toMatchObject({ status: { [String(id)]: { completed: '<build>' } } })
  expect(await call('wait', {})).toBe('refused: no worker is running')
})

it('a leader starts workers in the background, lists them, and waits for their answers', async () => {
  const { workers, call, go, asked, ended } = world()
  const first = JSON.parse(await call('spawn_agent', { role: 'coder', message: 'build' })) as JsonObject
  const second = JSON.parse(await call('spawn_agent', { role: 'tester', message: 'test' })) as JsonObject
  const [coder, tester] = [String(first['name']), String(second['name'])]
  expect(workers.areAtWork()).toBe(true)
  expect(workers.lines()).toEqual([
    `${coder}, id ${String(first['agent_id'])}: running`,
    `${tester}, id ${String(second['agent_id'])}: running`,
  ])
  const waited = call('wait', { ids: [coder, String(second['agent_id']), 'nobody'] })
  go()
  expect(JSON.parse(await waited)).toMatchObject({
    status: {
      [coder]: { completed: '<build>' },
      [String(second['agent_id'])]: { completed: '<test>' },
      nobody: 'not_found',
    },
    timed_out: false,
  })
  expect(asked).toEqual([['build'], ['test']])
  expect(workers.areAtWork()).toBe(false)
  await expect.poll(() => ended).toEqual([coder, tester])
})

it('more work is only for a worker that has ended: a new one continues its conversation', async () => {
  const { workers, call, go, asked } = world()
  const { name, agent_id: id } = JSON.parse(
    await call('spawn_agent', { role: 'coder', message: 'build' }),
  ) as JsonObject
  expect(await call('send_input', { id: String(name), message: 'more' })).toMatch(/^refused: .* is still running/)
  go()
  await call('wait', { ids: [String(name)] })
  const next = JSON.parse(await call('send_input', { id: String(id), message: 'more' })) as JsonObject
  expect(next['agent_id']).not.toBe(id)
  expect(JSON.parse(await call('wait', { ids: [String(id)] }))).toMatchObject({
    status: { [String(id)]: { completed: '<more>' } },
  })
  expect(asked.at(-1)).toEqual(['build', 'more'])
  expect(workers.children.all()).toHaveLength(2)
})

it.each<readonly [string, Parameters<typeof world>[0], string]>([
  ['coder', { hasLeft: true }, 'you have left delegate mode: no worker can be started'],
  ['writer', {}, 'there is no worker writer: coder, tester'],
  ['coder', { maxWorkers: 0 }, 'worker limit reached (max 0): wait until one has ended, or close one'],
])('a leader gets no %s under %j', async (role, options, why) => {
  const { workers, call } = world(options)
  expect(await call('spawn_agent', { role, message: 'build' })).toBe(`refused: ${why}`)
  expect(workers.children.all()).toEqual([])
})

it('a worker that is closed has ended before the call returns, and all stop together', async () => {
  const { workers, call, ended } = world()
  const { name } = JSON.parse(await call('spawn_agent', { role: 'coder', message: 'build' })) as JsonObject
  await call('spawn_agent', { role: 'tester', message: 'test' })
  expect(await call('close_agent', { id: String(name) })).toContain('{"status":"running"}')
  expect(ended).toEqual([name])
  await workers.stopAll()
  expect(workers.areAtWork()).toBe(false)
  expect(await call('close_agent', { id: 'nobody' })).toMatch(/^refused: there is no worker nobody; known workers: /)
})

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

it('each call of a leader tells its begin and its end, with the id of the worker, which is a UUID (R115 to R118)', async () => {
  const { call, go, told } = world({ maxWorkers: 1 })
  const of = (type: EventBody['type']): readonly object[] => told.filter((event) => event.type === type)
  const { agent_id: id } = JSON.parse(await call('spawn_agent', { role: 'coder', message: 'build' })) as JsonObject
  await call('spawn_agent', { role: 'coder', message: 'build too' })
  go()
  await call('wait', { ids: ['coder-1', 'nobody'], timeout_seconds: 60 })
  await call('send_input', { id: 'coder-1', message: 'more' })
  await call('wait', { ids: ['coder-2'] })
  await call('close_agent', { id: 'coder-2' })
  await call('close_agent', { id: 'nobody' })
  expect(id).toMatch(uuid)
  const sender = { sender_id: 'root', call_id: expect.any(String) }
  const ended = of('collab.spawn_end').map((event) => (event as { readonly thread_id: unknown }).thread_id)
  const [, , next] = ended
  expect(next).toMatch(uuid)
  expect(ended).toEqual([id, null, next])
  expect(of('collab.spawn_begin')).toMatchObject([
    { ...sender, prompt: 'build', role: 'coder' },
    { prompt: 'build too' },
    { prompt: 'more' },
  ])
  expect(of('collab.spawn_end')).toMatchObject([
    { ...sender, status: 'pending_init' },
    { status: 'not_found', refused: 'worker limit reached (max 1): wait until one has ended, or close one' },
    { status: 'pending_init' },
  ])
  expect(of('collab.waiting_begin')).toMatchObject([
    { ...sender, thread_ids: [id, 'nobody'], return_when: 'all', timeout_seconds: 60 },
    { thread_ids: [next], timeout_seconds: 30 },
  ])
  expect(of('collab.waiting_end')).toMatchObject([
    { ...sender, statuses: { [String(id)]: { completed: '<build>' }, nobody: 'not_found' }, timed_out: false },
    { statuses: { [String(next)]: { completed: '<more>' } } },
  ])
  expect(of('collab.interaction_begin')).toMatchObject([{ ...sender, thread_id: id, prompt: 'more', interrupt: false }])
  expect(of('collab.interaction_end')).toMatchObject([{ ...sender, thread_id: id, status: { completed: '<build>' } }])
  expect(of('collab.close_begin')).toMatchObject([
    { ...sender, thread_id: next, status: { completed: '<more>' } },
    { thread_id: 'nobody', status: 'not_found' },
  ])
  expect(of('collab.close_end')).toMatchObject([
    { ...sender, thread_id: next, status: { completed: '<more>' } },
    { thread_id: 'nobody', status: 'not_found' },
  ])
  expect(of('collab.status').map((event) => ({ ...event, thread_id: undefined }))).toMatchObject(
    [
      ['coder-1', 'pending_init'],
      ['coder-1', 'running'],
      ['coder-1', { completed: '<build>' }],
      ['coder-2', 'pending_init'],
      ['coder-2', 'running'],
      ['coder-2', { completed: '<more>' }],
      ['coder-2', 'shutdown'],
    ].map(([name, status]) => ({ name, role: 'coder', status })),
  )
  expect(of('agent.started')).toMatchObject([{ id }, { id: next }])
})

it('a worker that an earlier version has recorded keeps the id that its leader was told, and sends no more events than then', async () => {
  const effects = decorate(testContext({}).services.effects, () => ({
    observeAsync: async () => ({ handle: 'coder-1' }) as never,
  }))
  const { call, told } = world({ effects })
  const { agent_id: id, name } = JSON.parse(
    await call('spawn_agent', { role: 'coder', message: 'build' }),
  ) as JsonObject
  expect([id, name]).toEqual([agentIdAt(placeAt('task/0/ask/turn/0')), 'coder-1'])
  await call('close_agent', { id: 'coder-1' })
  expect(told.filter(({ type }) => type.startsWith('collab.'))).toEqual([])
})

it('a leader that waits for a worker that waits for the user is suspended with it, and one that closes it has its items back', async () => {
  const { call, ended, told } = world()
  const { agent_id: id } = JSON.parse(await call('spawn_agent', { role: 'coder', message: 'ask' })) as JsonObject
  await expect(call('wait', { ids: [String(id)] })).rejects.toMatchObject({ code: 'WAITING_FOR_APPROVAL' })
  expect(ended).toEqual([])
  expect(await call('close_agent', { id: String(id) })).toContain('{"status":"running"}')
  expect(ended).toEqual(['coder-1'])
  expect(await call('close_agent', { id: String(id) })).toContain('{"status":"shutdown"}')
  expect(JSON.parse(await call('send_input', { id: 'coder-1', message: 'go on without' }))).toMatchObject({
    name: 'coder-2',
  })
  expect(told).toContainEqual({
    type: 'collab.status',
    thread_id: id,
    name: 'coder-1',
    role: 'coder',
    status: 'shutdown',
  })
})
