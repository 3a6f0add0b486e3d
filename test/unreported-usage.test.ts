import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { RunEvent } from '../src/event/event.ts'
import { startRun } from '../src/runner.ts'
import { resumeRun } from '../src/wiring/resume.ts'
import { type ModelReply, type ModelScript, type ModelServer, startModelServer } from './helpers/model-server.ts'
import { startNativeServer } from './helpers/native-server.ts'
import { tempTree } from './helpers/temp.ts'
import { sseText } from './helpers/wire.ts'

const uncounted: ModelReply = { text: 'fine '.repeat(200), usage: null }

/** The end of an answer in each wire format, without usage. */
const wires = {
  chat: sseText({ choices: [{ index: 0, delta: { content: 'fine' }, finish_reason: 'stop' }] }, '[DONE]'),
  responses: sseText(
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'fine' },
    { type: 'response.completed', response: { status: 'completed' } },
  ),
  anthropic: sseText(
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'fine' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ),
  gemini: sseText({ candidates: [{ content: { parts: [{ text: 'fine' }] }, finishReason: 'STOP' }] }),
}

const files = {
  '.git/HEAD': '',
  'ask.md': '+++\ntemplate = true\ninput_concurrency = 1\n+++\nSay {{input}}.\n',
  'agent.md': '+++\nsub_agents = [{ name = "child.aip", stage = "pre" }]\n+++\nSay it.\n',
  'child.aip': '# Instruction\n\nSay it.\n\n# Output\n\n```lua\nreturn nil\n```\n',
}

type Options = Partial<Parameters<typeof startRun>[1]> & { readonly file?: string; readonly config?: string }

interface Played {
  readonly exitCode: number
  readonly events: readonly RunEvent[]
  readonly folder: string
  readonly place: { readonly env: Record<string, string>; readonly home: string; readonly cwd: string }
}

async function openServer(script: ModelScript): Promise<ModelServer> {
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  return server
}

async function play(url: string, { file = 'ask.md', config = '', ...options }: Options): Promise<Played> {
  const home = tempTree({ 'baton/config/config.toml': config })
  const cwd = tempTree(files)
  const env = { BATON_HOME: join(home, 'baton'), BATON_LOCAL_SERVERS: 'off', OLLAMA_HOST: url }
  const events: RunEvent[] = []
  let folder = ''
  const onRecord = (kept: string): void => void (folder = kept)
  const { exitCode } = await startRun(file, { cwd, home, env, model: 'ollama::m', onRecord, ...options }, (event) =>
    events.push(event),
  )
  return { exitCode, events, folder, place: { env, home, cwd } }
}

const warningsOf = (events: readonly RunEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))

const callsOf = (events: readonly RunEvent[]) => events.flatMap((event) => (event.type === 'usage' ? [event.call] : []))

const tokensOf = (events: readonly RunEvent[]): number =>
  callsOf(events).reduce((sum, { input, output }) => sum + input + output, 0)

const inputs = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const warning = 'ollama::m reports no usage: its tokens are estimated'

describe('a server that reports no usage', () => {
  it('has its tokens estimated: a token limit ends the run, with one warning', async () => {
    const server = await openServer(() => uncounted)
    const { exitCode, events } = await play(server.url, { inputs, overrides: ['budget.tokens=2000'] })
    expect(callsOf(events)[0]).toMatchObject({ calls: 1, output: 278, estimated: true })
    expect(callsOf(events)[0]?.input).toBeGreaterThan(0)
    expect(events.at(-1)).toMatchObject({ type: 'run.failed', stop_reason: 'budget', usage: { estimated: true } })
    expect([exitCode, server.requests.length]).toEqual([4, 3])
    expect(warningsOf(events)).toEqual([warning])
  })

  it('is counted in a resumed run as it was recorded', async () => {
    const server = await openServer(() => uncounted)
    const first = await play(server.url, { inputs, overrides: ['budget.tokens=2000'] })
    const again: RunEvent[] = []
    const { folder, place } = first
    const { exitCode, usage } = await resumeRun({ folder, ...place, overrides: ['budget.tokens=2400'] }, (event) =>
      again.push(event),
    )
    expect([exitCode, server.requests.length, warningsOf(again)]).toEqual([4, 4, [warning]])
    expect(usage.input + usage.output).toBe(tokensOf(first.events) + tokensOf(again))
    expect(usage.estimated).toBe(true)
  })

  it('gets no warning without a limit in tokens or dollars', async () => {
    const server = await openServer(() => uncounted)
    const { exitCode, events } = await play(server.url, { inputs: ['a'], overrides: ['budget.calls=9'] })
    expect([exitCode, warningsOf(events)]).toEqual([0, []])
    expect(callsOf(events)).toMatchObject([{ output: 278, estimated: true }])
  })

  it('is charged as estimated, so that a limit in dollars ends the run', async () => {
    const server = await openServer(() => uncounted)
    const config = '[prices]\n"ollama::m" = { input = 0, output = 1000 }\n'
    const options = { inputs, config, overrides: ['budget.usd=2'] }
    const { exitCode, events } = await play(server.url, options)
    expect([exitCode, server.requests.length]).toEqual([4, 4])
    expect(events.find(({ type }) => type === 'usage')).toMatchObject({ cost_usd: 0.278, call: { estimated: true } })
  })

  it.each(Object.entries(wires))('is detected in the wire format %s', async (format, body) => {
    const server = await startNativeServer({ writes: [body] })
    onTestFinished(() => server.close())
    const config = `[providers.lab]\nbase_url = "${server.origin}/v1"\nformat = "${format}"\n`
    const { exitCode, events } = await play(server.origin, { inputs: ['a'], config, model: 'lab::m' })
    expect(exitCode).toBe(0)
    expect(callsOf(events)).toMatchObject([{ calls: 1, output: 2, estimated: true }])
  })

  it('is detected by zero counts, and is counted for the agents of a run too', async () => {
    const server = await openServer(() => ({ ...uncounted, usage: { prompt_tokens: 0, completion_tokens: 0 } }))
    const { exitCode, events } = await play(server.url, { file: 'agent.md', overrides: ['budget.tokens=1300'] })
    expect([exitCode, server.requests.length]).toEqual([4, 1])
    expect(callsOf(events)).toMatchObject([{ output: 278, estimated: true }])
  })
})

it('a server that reports usage, and the offline model, are not estimated', async () => {
  const server = await openServer(() => ({ text: 'fine', usage: { prompt_tokens: 5, completion_tokens: 0 } }))
  const counted = await play(server.url, { inputs: ['a'] })
  expect(callsOf(counted.events)).toEqual([{ calls: 1, input: 5, output: 0, cached: 0, reasoning: 0 }])
  const offline = await play(server.url, { inputs: ['a'], model: 'offline::extractive' })
  expect(callsOf(offline.events)).toEqual([{ calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 }])
})
