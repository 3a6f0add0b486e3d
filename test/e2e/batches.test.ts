import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonOptions, jsonLines, snapshot } from '../helpers/baton.ts'
import { type BatchScript, type BatchServer, startBatchServer } from '../helpers/batch-server.ts'
import { tempTree } from '../helpers/temp.ts'
import type { Range } from '../../src/plan/ask.ts'

const file = `+++
template = true
batch = true
+++
Say it.
{{input}}
`

async function world(api: 'openai' | 'anthropic', script: BatchScript) {
  const server = await startBatchServer(api, script)
  onTestFinished(server.close)
  const cwd = tempTree({ 'ask.md': file, '.git/HEAD': '' })
  const env = {
    BATON_HOME: join(tempTree(), 'baton'),
    OPENAI_API_KEY: 'sk-secret-of-openai',
    ANTHROPIC_API_KEY: 'sk-secret-of-anthropic',
    OPENAI_BASE_URL: server.url,
    ANTHROPIC_BASE_URL: server.url,
  }
  const model = api === 'openai' ? 'openai::gpt-test' : 'anthropic::claude-test'
  const run = (args: readonly string[], more: Partial<BatonOptions> = {}) => baton(args, { cwd, env, ...more })
  return { server, run, home: env.BATON_HOME, ask: ['ask.md', '-m', model, '-i', 'one', '-i', 'two'] }
}

function expectAnswers({ batches, live }: BatchServer): void {
  expect(batches.map(({ prompts }) => prompts.toSorted())).toEqual([['one', 'two']])
  expect(live).toEqual([])
}

it.each(['openai', 'anthropic'] as const)(
  'a run that is killed while it waits for a batch gets its answers when it is resumed, with the API of %s',
  async (api) => {
    const { server, run, ask } = await world(api, { held: true })
    const killed = await run(ask, {
      onError: (text, kill) => void (text.includes('at half the price') && kill('SIGKILL')),
    })
    expect(killed.code).toBeNull()
    expect(killed.stderr).toMatch(/batch batch_1 with 2 calls to \S+ at half the price/)
    const { stdout: runs } = await run(['runs'])
    expect(runs).toContain('interrupted')
    server.end()
    const resumed = await run(['resume', '--last'])
    expect(resumed.stderr).toContain('batch_1 with 2 calls to')
    expect(resumed.stderr).not.toContain('repeated')
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringMatching(/answer to one[^]*answer to two/) })
    expectAnswers(server)
  },
)

it.each(['openai', 'anthropic'] as const)(
  'a batch whose creation was not answered before the run was killed is found at the host, with the API of %s',
  async (api) => {
    const { server, run, ask } = await world(api, { held: true, creating: [-1] })
    let kill: (signal: NodeJS.Signals) => void = () => undefined
    const ended = run([...ask, '--json'], { onOutput: (_, stop) => (kill = stop) })
    await expect.poll(() => server.batches.length, { timeout: 20_000 }).toBe(1)
    kill('SIGKILL')
    expect((await ended).code).toBeNull()
    server.end()
    const resumed = await run(['resume', '--last', '--json'])
    expect(resumed.code).toBe(0)
    const events = jsonLines(resumed.stdout).filter(({ type }) => String(type).startsWith('batch.'))
    expect(events).toMatchObject([
      { type: 'batch.sent', id: 'batch_1', calls: 2, earlier: true },
      { type: 'batch.completed', id: 'batch_1', calls: 2, answered: 2 },
    ])
    expectAnswers(server)
  },
)

it('a run that may not wait exits with 5 and names the command that goes on; no file of it has the key', async () => {
  const { server, run, ask, home } = await world('openai', { held: true })
  const first = await run([...ask, '-c', 'timeouts.batch=0s'])
  expect(first).toMatchObject({ code: 5, stdout: '' })
  expect(first.stderr).toContain('suspended: the batch batch_1 to openai::gpt-test with 2 calls has not ended yet')
  expect(first.stderr).toMatch(/resume: baton resume \S+/)
  const [id = ''] = (await run(['runs', '--ids'])).stdout.split('\n')
  const shown = await run(['runs', 'show', id])
  expect(shown.stdout).toContain('batch of 2 calls to openai::gpt-test')
  server.end()
  const again = await run(['resume', '--last', '-c', 'timeouts.batch=0s'])
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('answer to two') })
  expect(server.sent.every(({ headers }) => headers.authorization === 'Bearer sk-secret-of-openai')).toBe(true)
  expectAnswers(server)
  expect(Object.values(snapshot(home)).join('\n')).not.toContain('sk-secret')
})

it.each(['openai', 'anthropic'] as const)(
  'a batch that nobody waits for any more is canceled with the record of its run, with the API of %s',
  async (api) => {
    const { server, run, ask } = await world(api, { held: true })
    expect((await run([...ask, '-c', 'timeouts.batch=0s'])).code).toBe(5)
    const planned = await run(['runs', 'rm', 'last', '--dry-run'])
    expect(planned.stdout).toMatch(/^would remove \S+ and cancel the batch batch_1 to \S+ with 2 calls\n$/)
    expect(server.canceled).toEqual([])
    const removed = await run(['runs', 'rm', 'last'])
    expect(removed).toMatchObject({ code: 0, stderr: '' })
    expect(removed.stdout).toMatch(/^canceled the batch batch_1 to \S+ with 2 calls; .*\nremoved \S+\n$/)
    expect(server.canceled).toEqual(['batch_1'])
  },
)

it('a run whose batch cannot be canceled is removed, and it is said that the batch goes on', async () => {
  const { server, run, ask } = await world('openai', { held: true })
  expect((await run([...ask, '-c', 'timeouts.batch=0s'])).code).toBe(5)
  await server.close()
  const removed = await run(['runs', 'rm', 'last', '-q'])
  expect(removed.code).toBe(0)
  expect(removed.stderr).toMatch(
    /^warning: the batch batch_1 to openai::gpt-test with 2 calls was not canceled: .*refused.*\n {2}The host may go on with it, and charge for it\. Cancel it in the console of the host\.\n$/,
  )
  expect((await run(['runs', '--ids'])).stdout).toBe('')
})

it.each([
  ['openai', 'canceled', ['batch_1']],
  // it may be of someone else
  ['anthropic', 'unknown', []],
] as const)(
  'a batch whose id was lost is looked for before the record is removed, and one that has ended stays, with the API of %s',
  async (api, state, canceled) => {
    const { server, run, ask } = await world(api, { held: true, creating: [-1] })
    let kill: (signal: NodeJS.Signals) => void = () => undefined
    const ended = run([...ask, '--json'], { onOutput: (_, stop) => (kill = stop) })
    await expect.poll(() => server.batches.length, { timeout: 20_000 }).toBe(1)
    kill('SIGKILL')
    await ended
    const [removed] = jsonLines((await run(['runs', 'rm', 'last', '--json'])).stdout)
    expect(removed).toMatchObject({ removed: true, batches: [{ id: 'batch_1', calls: 2, state }] })
    expect(server.canceled).toEqual(canceled)
    expect((await run([...ask, '-c', 'timeouts.batch=0s'])).code).toBe(5)
    server.end()
    const [line] = jsonLines((await run(['runs', 'rm', 'last', '--json'])).stdout)
    expect(line).toMatchObject({ removed: true, batches: [{ id: 'batch_2', state: 'ended' }] })
    expect(server.canceled).toEqual(canceled)
  },
)

it('--batch does the same as batch = true', async () => {
  const { server, run } = await world('openai', {})
  const args = ['-p', 'Say it.', '-m', 'openai::gpt-test', '--batch']
  expect(await run(args)).toMatchObject({ code: 0, stdout: 'answer to Say it.\n' })
  expect(server.live).toEqual([])
})

it('a plan shows the price at once and in a batch', async () => {
  const { run, server } = await world('openai', {})
  const args = [
    'plan',
    'ask.md',
    '-m',
    'anthropic::claude-sonnet-5-5',
    '-i',
    'one',
    '-i',
    'two',
    '-c',
    'max_tokens=1000',
  ]
  const env = { ANTHROPIC_API_KEY: 'k' }
  const [plain, batch, json] = await Promise.all([
    run([...args, '-c', 'batch=false'], { env }),
    run(args, { env }),
    run([...args, '--format', 'json'], { env }),
  ])
  expect(plain.stdout).not.toContain('in a batch')
  expect(batch.stdout).toMatch(/at most .*\n {2}in a batch {2}\$\d\.\d+ as written;/)
  const { total } = JSON.parse(json.stdout) as { readonly total: { readonly usd: Range; readonly batch_usd: Range } }
  expect(total.batch_usd.as_written).toBeCloseTo(total.usd.as_written / 2, 12)
  // what the batch does not answer is sent at once
  expect(total.batch_usd.at_most).toBe(total.usd.at_most)
  expect(server.asked).toEqual([])
})
