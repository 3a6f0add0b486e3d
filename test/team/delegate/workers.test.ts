import { expect, it } from 'vitest'
import { unlessAborted } from '../../../src/base/concurrency.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import type { AgentDefinition, AgentExecutor } from '../../../src/event/agent.ts'
import type { Inbox } from '../../../src/event/inbox.ts'
import { textOf } from '../../../src/event/message.ts'
import type { Permit } from '../../../src/event/permission.ts'
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

/** The tools of a leader whose workers end when they are let go, with their last message in angle brackets. */
function world({ maxWorkers = 2, hasLeft = false } = {}) {
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
      await unlessAborted(gate, services.signal)
      const text = `<${texts.at(-1)}>`
      return { end: 'done', text, messages: given, changes: [], planned: [] }
    },
  }
  const context = testContext({ agents })
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
    watch: (_, inner) => inner,
    bind: () => ({ tools: [], close: async () => {} }) as never,
    box,
    onEnd: async (handle) => ended.push(handle),
  })
  let calls = 0
  return {
    workers,
    asked,
    ended,
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

it('a leader starts workers in the background, lists them, and waits for their answers', async () => {
  const { workers, call, go, asked, ended } = world()
  const first = JSON.parse(await call('spawn_agent', { role: 'coder', message: 'build' })) as JsonObject
  const second = JSON.parse(await call('spawn_agent', { role: 'tester', message: 'test' })) as JsonObject
  const [coder, tester] = [String(first['name']), String(second['name'])]
  expect([workers.areAtWork(), workers.atWork(), workers.isAtWork(coder)]).toEqual([true, [coder, tester], true])
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
  const { workers, call } = world()
  const { name } = JSON.parse(await call('spawn_agent', { role: 'coder', message: 'build' })) as JsonObject
  await call('spawn_agent', { role: 'tester', message: 'test' })
  expect(await call('close_agent', { id: String(name) })).toContain('{"status":"running"}')
  expect(workers.atWork()).toHaveLength(1)
  await workers.stopAll()
  expect(workers.areAtWork()).toBe(false)
  expect(await call('close_agent', { id: 'nobody' })).toMatch(/^refused: there is no worker nobody; known workers: /)
})
