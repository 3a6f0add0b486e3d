import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { chatEvents, type ModelReply, type ModelScript, startModelServer } from '../helpers/model-server.ts'
import { startNativeServer } from '../helpers/native-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { sseText } from '../helpers/wire.ts'

const key = 'sk-test-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c'

interface Asked extends BatonResult {
  readonly folder: string
  readonly requests: number
}

/** Runs a prompt file against a server that plays the script; every answer is "fine" once the script is used up. */
async function ask(script: ModelScript, ...args: readonly string[]): Promise<Asked> {
  const server = await startModelServer(
    typeof script === 'function' ? script : (_, index) => script[index] ?? { text: 'fine' },
  )
  onTestFinished(() => server.close())
  const folder = tempTree({
    '.git/HEAD': 'ref: refs/heads/main\n',
    'ask.md': '+++\ntemplate = true\n+++\nSay fine.\n\n====\n',
  })
  const env = { BATON_GATEWAY_URL: server.url, BATON_GATEWAY_KEY: key }
  const result = await baton(['ask.md', '-m', 'm', ...args], { cwd: folder, env })
  expectNoKey(result, folder)
  return { ...result, folder, requests: server.requests.length }
}

/** The key must not appear in anything that a run wrote. */
function expectNoKey({ stdout, stderr, home }: BatonResult, folder: string): void {
  const written = [home, folder].filter(existsSync).flatMap((root) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')),
  )
  for (const text of [stdout, stderr, ...written]) expect(text).not.toContain(key.slice(0, 16))
}

const echo = { error: { message: `key ${key} is not welcome` } }
const failing = (status: number, more: ModelReply = {}): ModelReply => ({ status, body: echo, ...more })

describe('temporary failures are retried', () => {
  it.each<readonly [string, ModelReply]>([
    ['500', failing(500)],
    ['a connection reset before the answer', { reset: true }],
    ['a connection reset in the middle of the answer', { text: 'a b c d', cutAfter: 2 }],
    ['an answer that ends without its end mark', { text: 'a b', finish: null, doneMark: false }],
    ['503 with Retry-After 0', failing(503, { headers: { 'retry-after': '0' } })],
    ['529 with Retry-After 0', failing(529, { headers: { 'retry-after': '0' } })],
    ['429 with Retry-After 0', failing(429, { headers: { 'retry-after': '0' } })],
    [
      'an error inside the stream',
      { rawChunks: [Buffer.from('data: {"error":{"message":"overheated","code":502}}\n\n')] },
    ],
  ])('%s', async (_, reply) => {
    const { code, stdout, stderr, requests } = await ask([reply])
    expect([code, stdout, requests]).toEqual([0, 'fine\n', 2])
    expect(stderr).toMatch(/^retry in /)
    expect(stderr).toContain('(attempt 1 failed)')
  })

  it('three times in total, if the file says so', async () => {
    const { code, stderr, requests } = await ask(() => failing(500), '-c', 'retry.max_attempts=3')
    expect([code, requests]).toEqual([1, 3])
    expect(stderr).toContain('failed (status 500): key «secret» is not welcome (after 3 attempts)')
  })

  it('more than three times, while the server is down and may be started again', async () => {
    const { code, stdout, stderr, requests } = await ask([failing(500), failing(502), failing(504)])
    expect([code, stdout, requests]).toEqual([0, 'fine\n', 4])
    expect(stderr).toMatch(/^retry in \S+ \(attempt 1 failed\), trying for another 10m 00s: .*status 500/)
  })

  it('for hours where nobody watches, whatever the attempts are, by a flag or in the own config', async () => {
    const flagged = await ask([failing(408), failing(504)], '--unattended', '-c', 'retry.max_attempts=1')
    expect([flagged.code, flagged.stdout, flagged.requests]).toEqual([0, 'fine\n', 3])
    expect(flagged.stderr).toMatch(/^retry in \S+ \(attempt 1 failed\), trying for another 8h 00m: /)
    const set = await ask([{ reset: true }], '-c', 'run.unattended=true')
    expect(set.stderr).toContain('trying for another 8h 00m: ')
    const shorter = await ask([failing(500)], '--unattended', '-c', 'retry.patience=1h')
    expect(shorter.stderr).toContain('trying for another 1h 00m: ')
  })

  it('until the patience is used up, which is a failure', async () => {
    const { code, stderr, requests } = await ask(() => failing(500), '-c', 'retry.patience=900ms')
    expect(code).toBe(1)
    expect(requests).toBeGreaterThan(3)
    expect(stderr).toMatch(/is not welcome \(after \d+ attempts in \S+ m?s\)\n/)
    expect(stderr).toContain('raise retry.patience, for example with -c retry.patience=1h; it is 900 ms.')
    expect(stderr).toContain('resume: baton resume')
  })

  it('for an overloaded host without patience, as for one that fails', async () => {
    for (const status of [429, 503, 529]) {
      const { code, requests } = await ask(
        () => failing(status),
        '-c',
        'retry.patience=0s',
        '-c',
        'retry.max_attempts=2',
      )
      expect([status, code, requests]).toEqual([status, 1, 2])
    }
  })

  it('without any text of the failed call in the answer', async () => {
    const { stdout } = await ask([{ text: 'wrong words here', cutAfter: 2 }], '--json')
    const events = jsonLines(stdout)
    expect(events.some(({ type, text }) => type === 'item.delta' && String(text).startsWith('wrong'))).toBe(true)
    expect(events.find(({ type }) => type === 'retry')).toMatchObject({ attempt: 1, model: 'gateway::m' })
    expect(events.find(({ type }) => type === 'answer')).toMatchObject({ text: 'fine' })
  })
})

describe('a host that asks for more time than is left', () => {
  it('ends the run with exit code 4 and the time', async () => {
    const { code, stderr, requests } = await ask([failing(429, { headers: { 'retry-after': '3600' } })])
    expect([code, requests]).toEqual([4, 1])
    expect(stderr).toContain('the host asks to wait 1 h')
    expect(stderr).toMatch(/hint: Run it again at .* or later, or raise \[retry\] patience, which is 10 min\./)
  })

  it('ends it too once the patience is used up', async () => {
    const { code, stderr, requests } = await ask(() => failing(429), '-c', 'retry.patience=40ms')
    expect([code, requests]).toEqual([4, 2])
    expect(stderr).toContain('waited 40 ms')
  })
})

describe('permanent failures are reported at once', () => {
  it.each<readonly [string, ModelReply, number, string]>([
    ['a refused key', failing(401), 3, 'refused the key (status 401): key «secret» is not welcome'],
    [
      'an unknown model',
      { status: 404, body: { error: { message: 'no model m', code: 'model_not_found' } } },
      1,
      'does not know the model or the path (status 404): no model m',
    ],
    [
      'a prompt that is too long',
      { status: 400, body: { error: { message: 'maximum context length is 10', code: 'context_length_exceeded' } } },
      1,
      'the context window of the model is not known; the largest parts are the system text',
    ],
    [
      'invalid JSON',
      { body: '{"choices": [', headers: { 'content-type': 'application/json' } },
      1,
      'answered with invalid JSON',
    ],
    ['malformed events', { rawChunks: [Buffer.from('data: {oops\n\n')] }, 1, 'sent an event that is not a JSON object'],
    [
      'another content type',
      { body: '<html><title>Login</title></html>', headers: { 'content-type': 'text/html' } },
      1,
      'answered with text/html instead of a stream',
    ],
    ['an empty body', { body: '', headers: { 'content-type': 'text/event-stream' } }, 1, 'answered with an empty body'],
    [
      'a used up quota',
      { status: 429, body: { error: { message: 'no money', code: 'insufficient_quota' } } },
      1,
      'reports that the quota is used up (status 429): no money',
    ],
  ])('%s', async (_, reply, expected, message) => {
    const { code, stderr, stdout, requests } = await ask([reply])
    expect([code, stdout, requests]).toEqual([expected, '', 1])
    expect(stderr).toContain(message)
    expect(stderr).toContain('hint: ')
  })

  it('an answer without text, also in the transcript', async () => {
    const { code, stdout, stderr, folder, requests } = await ask([{ text: '' }, { text: '' }])
    expect([code, stdout, requests]).toEqual([1, '', 2])
    expect(stderr).toContain('returned an empty answer: asking it once more')
    expect(stderr).toContain('error: gateway::m returned an empty answer')
    expect(readFileSync(join(folder, 'ask.md'), 'utf8')).toMatch(
      /^\+\+\+\ntemplate = true\n\+\+\+\nSay fine\.\n\n====\n> .* · ask\.md · .*\n\nerror: gateway::m returned an empty answer\n$/,
    )
  })
})

describe('silence of a server', () => {
  it('is not limited to no time at all', async () => {
    const { code, stderr, requests } = await ask([], '-c', 'timeouts.headers=0s')
    expect([code, requests]).toEqual([2, 0])
    expect(stderr).toContain('a duration above zero')
  })

  it('before the answer ends at the headers limit', async () => {
    const reply = { gate: new Promise<void>(() => {}) }
    const { code, stderr, requests } = await ask(
      [reply, reply],
      '-c',
      'timeouts.headers=60ms',
      '-c',
      'retry.max_attempts=2',
    )
    expect([code, requests]).toEqual([1, 2])
    expect(stderr).toContain('did not start to answer within 0.06 s (after 2 attempts)')
    expect(stderr).toContain('raise headers in [timeouts]')
  })

  it('during the answer ends at the idle limit', async () => {
    const reply = { text: 'a b c', stallAfter: 2 }
    const { code, stderr } = await ask([reply], '-c', 'timeouts.stream_idle=60ms', '-c', 'retry.max_attempts=1')
    expect(code).toBe(1)
    expect(stderr).toContain('sent nothing for 0.06 s during the answer')
  })

  it('during the answer ends at the idle limit of its provider, if it has one (R306)', async () => {
    const server = await startModelServer([
      { text: 'a b c', stallAfter: 2 },
      { text: 'a b c', stallAfter: 2 },
    ])
    onTestFinished(() => server.close())
    const config = `[timeouts]\nstream_idle = "70ms"\n[retry]\nmax_attempts = 1\n[providers.lab]\nbase_url = "${server.url}"\nstream_idle_timeout_ms = 60\n[providers.hall]\nbase_url = "${server.url}"\n`
    const env = { BATON_HOME: tempTree({ 'config/config.toml': config }) }
    const cwd = tempTree({ '.git/HEAD': '', 'ask.md': 'Say fine.\n' })
    const ends = [
      ['lab', '0.06 s', 'stream_idle_timeout_ms in [providers.lab]'],
      ['hall', '0.07 s', 'stream_idle in [timeouts]'],
    ] as const
    for (const [provider, time, key] of ends) {
      const { code, stderr } = await baton(['ask.md', '-m', `${provider}::m`], { cwd, env })
      expect(code, stderr).toBe(1)
      expect(stderr).toContain(`sent nothing for ${time} during the answer`)
      expect(stderr).toContain(`raise ${key}.`)
    }
  })

  it('between small pieces of an endless answer ends at the request limit', async () => {
    const reply = { text: 'a b c', stallAfter: 1 }
    const { code, stderr } = await ask([reply], '-c', 'timeouts.request=80ms', '-c', 'retry.max_attempts=1')
    expect(code).toBe(1)
    expect(stderr).toContain('did not finish the answer within 0.08 s')
  })
})

it('an unreachable address is tried three times if configured, then reported', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const folder = tempTree({ '.git/HEAD': '', 'ask.md': 'Say fine.\n' })
  const { code, stderr } = await baton(['ask.md', '-m', 'm', '-c', 'retry.max_attempts=3'], {
    cwd: folder,
    env: { BATON_GATEWAY_URL: `http://127.0.0.1:${port}/v1` },
  })
  expect(code).toBe(1)
  expect(stderr).toContain(`127.0.0.1:${port} refused the connection: nothing is listening there (after 3 attempts)`)
})

it('text that is split inside a character arrives complete', async () => {
  const bytes = Buffer.from(chatEvents({ text: 'Grüße an 東京 🎉' }).join(''))
  const rawChunks = Array.from({ length: bytes.length }, (_, index) => bytes.subarray(index, index + 1))
  const { stdout } = await ask([{ rawChunks }])
  expect(stdout).toBe('Grüße an 東京 🎉\n')
})

it('unsupported settings are reported once for each model', async () => {
  const events = [
    { type: 'message_start', message: { id: 'x' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'fine' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ]
  const server = await startNativeServer({ writes: [sseText(...events)] })
  onTestFinished(() => server.close())
  const cwd = tempTree({
    '.git/HEAD': '',
    'ask.md': '+++\ntemplate = true\nseed = 7\ntop_p = 0.9\ntemperature = 0.3\n+++\nSay fine.\n',
  })
  const env = { ANTHROPIC_BASE_URL: server.origin, ANTHROPIC_API_KEY: key }
  const result = await baton(['ask.md', '-m', 'claude-haiku-4-5', '-i', 'one', '-i', 'two'], { cwd, env })
  expect(result.code).toBe(0)
  expect(server.requests).toHaveLength(2)
  expect(result.stderr.split('\n')).toEqual([
    'warning top_p is not sent: anthropic::claude-haiku-4-5 does not support it together with temperature = 0.3',
    '  Remove one of them.',
    'warning seed is not sent: anthropic::claude-haiku-4-5 is not known to support it',
    '  Remove seed, or use another model.',
    '',
  ])
})

it('an interrupted wait ends at once', async () => {
  const folder = tempTree({ '.git/HEAD': '', 'ask.md': 'Say fine.\n' })
  const server = await startModelServer(() => failing(429))
  onTestFinished(() => server.close())
  let isStopped = false
  const { code, stderr } = await baton(['ask.md', '-m', 'm'], {
    cwd: folder,
    env: { BATON_GATEWAY_URL: server.url },
    onError: (text, kill) => {
      // later output must not send a second signal, which would end the process immediately
      if (text.includes('retry in 5.0s') && !isStopped) {
        isStopped = true
        kill('SIGINT')
      }
    },
  })
  expect(code).toBe(130)
  expect(stderr).toContain('retry in 5.0s')
})

describe('fallback_models', () => {
  const front = '+++\ntemplate = true\nmodel = "big"\nfallback_models = ["small", "tiny"]\n+++\nSay fine.\n'

  async function run(
    script: ModelScript,
    text = front,
  ): Promise<BatonResult & { readonly models: readonly unknown[] }> {
    const server = await startModelServer(script)
    onTestFinished(() => server.close())
    const folder = tempTree({ '.git/HEAD': '', 'ask.md': text })
    const result = await baton(['ask.md', '-i', 'one', '-i', 'two', '-c', 'input_concurrency=1'], {
      cwd: folder,
      env: { BATON_GATEWAY_URL: server.url, BATON_GATEWAY_KEY: key },
    })
    expectNoKey(result, folder)
    return { ...result, models: server.requests.map(({ body }) => body?.model) }
  }

  it('take over when a model fails permanently, and the failed one cools down', async () => {
    const { code, stdout, stderr, models } = await run(({ body }) =>
      body?.model === 'big' ? failing(404) : { text: `from ${body?.model}` },
    )
    expect(code).toBe(0)
    expect(models).toEqual(['big', 'small', 'small'])
    expect(stdout).toContain('from small')
    expect(stderr).toContain('fallback to small: ')
  })

  it('do not wait for a host that refuses further requests', async () => {
    const limited = failing(429, { headers: { 'retry-after': '3600' } })
    const { code, models } = await run(({ body }) => (body?.model === 'big' ? limited : { text: 'fine' }))
    expect(code).toBe(0)
    expect(models).toEqual(['big', 'small', 'small'])
  })

  it('apply to agents if a config file names them, those of the prompt file do not', async () => {
    const server = await startModelServer(({ body }) => (body?.model === 'big' ? failing(404) : { text: 'fine' }))
    onTestFinished(() => server.close())
    const agent = '# Options\n\n```toml\nmodel = "big"\n```\n\n# User\n\nHi\n\n# Output\n\n```lua\nreturn nil\n```\n'
    const files = { '.git/HEAD': '', 'a.aip': agent, 'ask.md': '+++\nsub_agents = ["a.aip"]\n+++\nSay fine.\n' }
    const env = { BATON_GATEWAY_URL: server.url }
    const named = tempTree({ ...files, 'baton.toml': 'fallback_models = ["small"]\n' })
    expect(await baton(['ask.md', '-m', 'small'], { cwd: named, env })).toMatchObject({ code: 0 })
    const own = '+++\nsub_agents = ["a.aip"]\nfallback_models = ["small"]\n+++\nSay fine.\n'
    const front = tempTree({ ...files, 'ask.md': own })
    expect(await baton(['ask.md', '-m', 'small'], { cwd: front, env })).toMatchObject({ code: 1 })
  })

  it('all fail: the first reason is reported, and the last one too', async () => {
    const { code, stderr, models } = await run(() => failing(404))
    expect(code).toBe(1)
    expect(models.slice(0, 3)).toEqual(['big', 'small', 'tiny'])
    expect(stderr).toMatch(/error: big: .*; the fallback models failed too: tiny: /)
  })
})

describe('unavailable models stop a run before its first agent', () => {
  const files = {
    '.git/HEAD': '',
    'loud.lua': 'print("the agent ran")',
    'unknown.md': '+++\nsub_agents = ["loud.lua"]\nmodel = "gpt-5-mini"\nfallback_models = ["sonet"]\n+++\nHi\n',
    'keyless.md': '+++\nsub_agents = ["loud.lua"]\nmodel = "gpt-5-mini"\n+++\nHi\n',
    'second.md':
      '+++\nsub_agents = ["loud.lua"]\nmodel = "gpt-5-mini"\nfallback_models = ["offline::extractive"]\n+++\nHi\n',
  }

  it.each([
    ['unknown.md', 2, /unknown model "sonet"[^]*unknown\.md:4/],
    ['keyless.md', 3, /OPENAI_API_KEY is not set/],
  ])('%s', async (file, expected, message) => {
    const { code, stderr } = await baton([file], { cwd: tempTree(files), env: { OPENAI_BASE_URL: '' } })
    expect(code).toBe(expected)
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain('the agent ran')
  })

  it('but not while another one of the list is available, nor in a dry run', async () => {
    const cwd = tempTree(files)
    expect(await baton(['second.md'], { cwd })).toMatchObject({ code: 0 })
    expect(await baton(['keyless.md', '--dry', 'req'], { cwd })).toMatchObject({ code: 0 })
  })
})

it('a key with a trailing line break is shown nowhere, however the server splits it', async () => {
  const server = await startModelServer(() => ({ chunks: ['The key is ', key.slice(0, 20), key.slice(20), '.'] }))
  onTestFinished(() => server.close())
  const folder = tempTree({ '.git/HEAD': '', 'ask.md': 'Say fine.\n\n====\n' })
  const query = 'query-secret-0123456789'
  const env = { BATON_GATEWAY_URL: `${server.url}?k=${query}`, BATON_GATEWAY_KEY: `${key}\n` }
  const result = await baton(['ask.md', '-m', 'm', '--json'], { cwd: folder, env })
  expect(result.code).toBe(0)
  expectNoKey(result, folder)
  const deltas = jsonLines(result.stdout).flatMap(({ type, text }) => (type === 'item.delta' ? [text] : []))
  expect(deltas.join('')).toBe('The key is «secret:BATON_GATEWAY_KEY».')
  expect(server.requests[0]?.path).toContain(query)
  expect(result.stdout).not.toContain(query)
})

describe('budgets', () => {
  it('count every request that was sent, including failed ones', async () => {
    const { code, stderr, requests } = await ask(() => failing(500), '-c', 'budget.calls=2')
    expect([code, requests]).toEqual([4, 2])
    expect(stderr).toContain('the budget of 2 calls')
    const { stdout } = await ask([failing(500)], '--json')
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: 'run.completed', usage: { calls: 2 } })
  })

  const usage = { prompt_tokens: 400, completion_tokens: 100 }

  it('stop the run before a call that does not fit, with exit code 4', async () => {
    const { code, stderr, requests } = await ask(
      () => ({ text: 'fine', usage }),
      '-i',
      '1',
      '-i',
      '2',
      '-i',
      '3',
      '-c',
      'input_concurrency=1',
      '-c',
      'budget.tokens=2000',
    )
    expect([code, requests]).toEqual([4, 2])
    expect(stderr).toContain(
      'the budget of 2,000 tokens does not allow a call of gateway::m: 1,000 tokens spent so far',
    )
  })

  it('lower the output limit of a call that would not fit', async () => {
    const server = await startModelServer(() => ({ text: 'fine', usage }))
    onTestFinished(() => server.close())
    const folder = tempTree({ '.git/HEAD': '', 'ask.md': 'Say fine.\n' })
    const { code } = await baton(['ask.md', '-m', 'm', '-c', 'budget.tokens=3000'], {
      cwd: folder,
      env: { BATON_GATEWAY_URL: server.url },
    })
    expect(code).toBe(0)
    const limit = Number(server.requests[0]?.body?.['max_tokens'])
    expect(limit).toBeGreaterThan(2000)
    expect(limit).toBeLessThan(3000)
  })

  it('in dollars refuse a model without a price before a request is sent', async () => {
    const { code, stderr, requests } = await ask([], '--max-cost', '0.5')
    expect([code, requests]).toEqual([4, 0])
    expect(stderr).toContain('no price is known for gateway::m')
    const allowed = await ask([], '--max-cost', '.5', '-c', 'budget.unpriced=allow')
    expect([allowed.code, allowed.stdout]).toEqual([0, 'fine\n'])
  })

  it('are lowered by a sub-agent, for the calls after it', async () => {
    const server = await startModelServer(() => ({ text: 'fine', usage }))
    onTestFinished(() => server.close())
    const folder = tempTree({
      '.git/HEAD': '',
      'ask.md': '+++\nbudget = { calls = 5 }\nsub_agents = ["careful.lua"]\ninput_concurrency = 1\n+++\nSay fine.\n',
      'careful.lua': 'return { coder_params_patch = { budget = { calls = 1 } } }',
    })
    const { code, stderr } = await baton(['ask.md', '-m', 'm', '-i', '1', '-i', '2'], {
      cwd: folder,
      env: { BATON_GATEWAY_URL: server.url },
    })
    expect([code, server.requests.length]).toEqual([4, 1])
    expect(stderr).toContain('the budget of 1 call')
  })

  it('accept amounts only', async () => {
    const { code, stderr, requests } = await ask([], '--max-cost', 'much')
    expect([code, requests]).toEqual([2, 0])
    expect(stderr).toContain('--max-cost much is not an amount in US dollars')
  })
})

it('the cost of calls is counted, with the figure of the provider if it sends one', async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 2, cost: 0.0125 }
  const { stdout, stderr } = await ask(() => ({ text: 'fine', usage }), '-v', '-i', 'a', '-i', 'b')
  expect(stdout).toContain('fine')
  expect(stderr).toContain('model gateway::m 10 tokens in, 2 out, $0.013')
  expect(stderr).toContain('total 2 calls, 20 tokens in, 4 out, $0.025')
  const unpriced = await ask([], '--json')
  expect(jsonLines(unpriced.stdout).at(-1)).toMatchObject({ cost_usd: null, unpriced: ['gateway::m'] })
})
