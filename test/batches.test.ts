import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { isBatonError } from '../src/base/error.ts'
import type { EventBody, RunEvent } from '../src/event/event.ts'
import { startRun } from '../src/runner.ts'
import type { RunReport } from '../src/wiring/conduct.ts'
import { replayRun } from '../src/wiring/replay.ts'
import { resumeRun } from '../src/wiring/resume.ts'
import { type BatchScript, type BatchServer, startBatchServer } from './helpers/batch-server.ts'
import { tempTree } from './helpers/temp.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const config = `
[prices."gpt-test"]
input = 10
output = 20
[prices."claude-test"]
input = 10
output = 20
[providers.lab]
base_url = "URL"
format = "responses"
batch = true
[providers.plain]
base_url = "URL"
`

const apis = ['openai', 'anthropic'] as const
type Api = (typeof apis)[number]
const models: { readonly [api in Api]: string } = { openai: 'openai::gpt-test', anthropic: 'anthropic::claude-test' }
/** What one answer of the server costs at the prices above, made at once. */
const whole = (1000 * 10 + 100 * 20) / 1e6

interface World {
  readonly server: BatchServer
  readonly ask: (inputs: readonly string[], more?: Asked) => Promise<Ran>
  readonly resume: (folder: string, more?: Asked) => Promise<Ran>
  readonly replay: (folder: string) => Promise<Ran>
}

interface Asked {
  readonly overrides?: readonly string[]
  readonly signal?: AbortSignal
  readonly onEvent?: (event: RunEvent) => void
}

interface Ran {
  readonly report: RunReport
  readonly events: readonly RunEvent[]
  readonly folder: string
}

const prompt = (model: string): string =>
  `+++\nmodel = "${model}"\nbatch = true\ninput_concurrency = 2\ntemplate = true\n+++\nSay it.\n{{input}}\n`

async function world(api: Api, script?: BatchScript, file = prompt(models[api])): Promise<World> {
  const server = await startBatchServer(api, script)
  closing.push(server.close)
  const cwd = tempTree({ '.git/HEAD': '', 'ask.md': file })
  const home = tempTree({ 'baton/config/config.toml': config.replaceAll('URL', server.url) })
  const env = {
    BATON_HOME: join(home, 'baton'),
    OPENAI_API_KEY: 'sk-secret-of-openai',
    ANTHROPIC_API_KEY: 'sk-secret-of-anthropic',
    ...(api === 'openai' ? { OPENAI_BASE_URL: server.url } : { ANTHROPIC_BASE_URL: server.url }),
  }
  async function ran(
    start: (listener: (event: RunEvent) => void) => Promise<RunReport>,
    { onEvent }: Asked,
    folder: string,
  ): Promise<Ran> {
    const events: RunEvent[] = []
    const report = await start((event) => {
      events.push(event)
      onEvent?.(event)
    })
    return { report, events, folder: report.folder ?? folder }
  }
  return {
    server,
    ask: (inputs, more = {}) =>
      ran((listener) => startRun('ask.md', { cwd, home, env, inputs, ...more }, listener), more, ''),
    resume: (folder, more = {}) => ran((listener) => resumeRun({ folder, home, env, ...more }, listener), more, folder),
    replay: (folder) =>
      ran(
        (listener) =>
          replayRun(undefined, { record: { kind: 'run', folder }, observations: 'recorded', cwd, home, env }, listener),
        {},
        folder,
      ),
  }
}

function sentOf<Type extends EventBody['type']>(
  { events }: Ran,
  type: Type,
): readonly (RunEvent & { readonly type: Type })[] {
  return events.filter((event): event is RunEvent & { readonly type: Type } => event.type === type)
}

function messageOf({ report: { error } }: Ran): string | undefined {
  return isBatonError(error) ? error.message : undefined
}

function answersOf({ report }: Ran): readonly unknown[] {
  return report.tasks.map((task) => (task.status === 'done' ? task.content : task.status))
}

const five = ['one', 'two', 'three', 'four', 'five']

describe.each(apis)('a run with batch = true, with the API of %s', (api) => {
  it('sends the calls of all inputs in one batch at half the price, and matches results in any order by their ids', async () => {
    const all = await world(api, { lines: (lines) => lines.toReversed() })
    const ran = await all.ask(five)
    expect(answersOf(ran)).toEqual(five.map((one) => `answer to ${one}`))
    expect(all.server.batches.map(({ prompts }) => prompts.toSorted())).toEqual([five.toSorted()])
    expect(all.server.live).toEqual([])
    expect(ran.report.costUsd).toBeCloseTo(five.length * whole * 0.5, 9)
    expect(sentOf(ran, 'batch.sent')).toMatchObject([{ id: 'batch_1', model: models[api], calls: 5 }])
    expect(sentOf(ran, 'batch.completed')).toMatchObject([{ id: 'batch_1', calls: 5, answered: 5 }])
    const bodies = all.server.sent.map(({ body }) => body).join('\n')
    expect(bodies).not.toContain('"stream"')
    expect(bodies).not.toContain('sk-secret')
  })

  it('sends at once what the batch has not answered, and counts an answer that comes twice once', async () => {
    const fates = { two: { error: 'overloaded' }, three: { end: 'expired' }, four: { end: 'missing' } } as const
    const all = await world(api, {
      fate: (text) =>
        (fates as { readonly [text: string]: (typeof fates)[keyof typeof fates] })[text] ?? `answer to ${text}`,
      lines: (lines) => [...lines, ...lines, '{"custom_id":"of someone else"}'],
    })
    const ran = await all.ask(five)
    expect(answersOf(ran)).toEqual(['answer to one', 'live two', 'live three', 'live four', 'answer to five'])
    expect(all.server.batches).toHaveLength(1)
    expect(all.server.live.toSorted()).toEqual(['four', 'three', 'two'])
    expect(ran.report.costUsd).toBeCloseTo(2 * whole * 0.5 + 3 * whole, 9)
    expect(sentOf(ran, 'batch.completed')).toMatchObject([{ calls: 5, answered: 2 }])
  })

  it('is suspended after timeouts.batch; a resume gets the answers, pays nothing twice, and a replay needs no server', async () => {
    const all = await world(api, { held: true })
    const first = await all.ask(five, { overrides: ['timeouts.batch=0s'] })
    expect(first.report).toMatchObject({ stopReason: 'suspended', exitCode: 5, canResume: true, usage: { calls: 0 } })
    expect(first.report.error).toMatchObject({ code: 'SUSPENDED', message: expect.stringContaining('batch_1') })
    const again = await all.resume(first.folder)
    expect(again.report).toMatchObject({ stopReason: 'suspended', exitCode: 5, repeated: [] })
    all.server.end()
    const last = await all.resume(first.folder)
    expect(last.report).toMatchObject({ stopReason: 'done', exitCode: 0, usage: { calls: 5 }, repeated: [] })
    expect(answersOf(last)).toEqual(five.map((one) => `answer to ${one}`))
    expect(sentOf(last, 'batch.sent')).toMatchObject([{ id: 'batch_1', earlier: true }])
    expect(all.server.batches).toHaveLength(1)
    expect(all.server.live).toEqual([])
    const { asked } = all.server
    const before = asked.length
    const replayed = await all.replay(first.folder)
    expect(replayed.report).toMatchObject({ exitCode: 0 })
    expect(answersOf(replayed)).toEqual(answersOf(last))
    expect(asked).toHaveLength(before)
  })

  it('waits out a host that fails, and does not send a batch again whose creation was not answered', async () => {
    const faults = [503, 0, 500]
    const all = await world(api, { creating: [503, 200], faults, held: true })
    const ran = await all.ask(['one', 'two'], {
      onEvent: ({ type }) => (type === 'batch.sent' ? all.server.end() : undefined),
    })
    expect(answersOf(ran)).toEqual(['answer to one', 'answer to two'])
    expect(faults).toEqual([])
    expect(all.server.batches).toHaveLength(1)
    expect(all.server.live).toEqual([])
    const waits = sentOf(ran, 'batch.waiting').filter(({ error }) => error !== undefined)
    // two failures before it is sent, and one outage, which is told once
    expect(waits.map(({ id }) => id)).toEqual([undefined, undefined, 'batch_1'])
  })

  it('leaves the batch to a later process when it is stopped', async () => {
    const all = await world(api, { held: true })
    const stop = new AbortController()
    const first = await all.ask(['one', 'two'], {
      signal: stop.signal,
      onEvent: ({ type }) => (type === 'batch.sent' ? stop.abort(new Error('stopped')) : undefined),
    })
    expect(first.report.stopReason).toBe('cancelled')
    expect(first.report.costUsd).toBe(0)
    all.server.end()
    const last = await all.resume(first.folder)
    expect(last.report).toMatchObject({ exitCode: 0, usage: { calls: 2 }, repeated: [] })
    expect(last.report.costUsd).toBeCloseTo(whole, 9)
    expect(all.server.batches).toHaveLength(1)
  })

  it('fails if someone has canceled the batch, and sends a new one when it is resumed', async () => {
    const script: { -readonly [Key in keyof BatchScript]: BatchScript[Key] } = {
      status: 'cancelled',
      fate: () => ({ end: 'missing' }),
    }
    const all = await world(api, script)
    const first = await all.ask(['one', 'two'])
    expect(first.report).toMatchObject({ stopReason: 'error', exitCode: 1 })
    expect(messageOf(first)).toContain('the batch batch_1')
    expect(all.server.live).toEqual([])
    script.status = 'completed'
    script.fate = (text) => `late ${text}`
    const last = await all.resume(first.folder)
    expect(answersOf(last)).toEqual(['late one', 'late two'])
  })

  it('reserves half the price in a budget, and sends no call that does not fit', async () => {
    const estimate = await world(api)
    const ran = await estimate.ask(['one'], { overrides: [`budget.usd=${whole * 30}`] })
    expect(ran.report).toMatchObject({ exitCode: 0 })
    const tight = await world(api)
    // room for the output that is needed at least, at half the price, but not at the whole
    const room = (1024 * 20 * 0.75) / 1e6
    expect((await tight.ask(['one'], { overrides: [`budget.usd=${room}`] })).report).toMatchObject({ exitCode: 0 })
    const none = await tight.ask(['one'], { overrides: [`budget.usd=${room / 2}`] })
    expect(none.report).toMatchObject({ stopReason: 'budget', exitCode: 4 })
    expect(tight.server.batches).toHaveLength(1)
  })
})

it('the batch API of OpenAI is used with the format responses too, where a provider says that it has it', async () => {
  const all = await world('openai', {}, prompt('lab::gpt-test'))
  const ran = await all.ask(['one', 'two'])
  expect(answersOf(ran)).toEqual(['answer to one', 'answer to two'])
  expect(all.server.sent.map(({ body }) => body).join('')).toContain('"url":"/v1/responses"')
})

it('a provider of which it is not known whether it has a batch API is refused before anything is sent', async () => {
  const all = await world('openai', {}, prompt('plain::gpt-test'))
  const ran = await all.ask(['one', 'two'])
  expect(ran.report).toMatchObject({ exitCode: 2, error: { code: 'CONFIG_INVALID' } })
  expect(messageOf(ran)).toContain('plain::gpt-test')
  expect(all.server.asked).toEqual([])
})

it('a model without a batch API is called at once, with one line that says so', async () => {
  const all = await world('openai', {}, prompt('offline::extractive'))
  const ran = await all.ask(five)
  expect(ran.report.exitCode).toBe(0)
  expect(sentOf(ran, 'warning').map(({ message }) => message)).toEqual([
    'offline::extractive has no batch API: its calls are sent at once, at the full price',
  ])
})

it('a model that calls a tool in the batch goes on at once, with one line that says so', async () => {
  const all = await world(
    'openai',
    { fate: (text) => ({ tool: 'read', input: JSON.stringify({ path: `${text}.txt` }) }) },
    prompt('openai::gpt-test').replace('batch', 'tools = ["read"]\nbatch'),
  )
  const ran = await all.ask(['one', 'two'])
  expect(ran.report.exitCode).toBe(0)
  expect(all.server.batches).toHaveLength(1)
  expect(all.server.live).toHaveLength(2)
  expect(sentOf(ran, 'warning').filter(({ message }) => message.includes('at the full price'))).toHaveLength(1)
  expect(ran.report.costUsd).toBeCloseTo(2 * whole * 0.5 + 2 * whole, 9)
})

it('calls that wait for the budget do not hold up those that have it', async () => {
  const all = await world('openai')
  // room for the longest answers of two calls at half the price
  const overrides = [`budget.usd=${(2.2 * 10_000 * 20 * 0.5) / 1e6}`, 'max_tokens=10000']
  const ran = await all.ask(five, { overrides })
  expect(ran.report.exitCode).toBe(0)
  expect(all.server.live).toEqual([])
  expect(all.server.batches.flatMap(({ prompts }) => prompts).toSorted()).toEqual(five.toSorted())
  expect(all.server.batches.length).toBeGreaterThan(1)
})

const workflow = `+++
model = "openai::gpt-test"
batch = true
input_concurrency = 2
[[workflow.step]]
id = "each"
for_each = 'params.names'
instructions = "{{item}}"
[[workflow.step]]
id = "last"
needs = ["each"]
instructions = "sum"
[params]
names = ["one", "two", "three", "four", "five"]
+++
Do it.
`

it('the items of a workflow step are sent in one batch, and so are the steps after them', async () => {
  const all = await world('openai', {}, workflow)
  const ran = await all.ask([])
  expect(ran.report).toMatchObject({ exitCode: 0 })
  expect(all.server.batches.map(({ prompts }) => prompts.toSorted())).toEqual([five.toSorted(), ['sum']])
  expect(all.server.live).toEqual([])
})

const ensemble = `+++
model = "openai::gpt-test"
batch = true
template = true
[[ensemble.agents]]
model = "openai::gpt-test"
name = "a"
[[ensemble.agents]]
model = "openai::gpt-test"
name = "b"
+++
Say it.
{{input}}
`

it('the members of an ensemble are sent in one batch, for all inputs', async () => {
  const all = await world('openai', {}, ensemble)
  const ran = await all.ask(['one', 'two'])
  expect(messageOf(ran)).toBe(undefined)
  expect(all.server.batches[0]?.prompts.toSorted()).toEqual(['one', 'one', 'two', 'two'])
  // what combines the answers of both tasks
  expect(all.server.batches).toHaveLength(2)
  expect(all.server.live).toEqual([])
})
