import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools } from '../helpers/tool-model.ts'

interface World {
  readonly server: ModelServer
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  /** The number of requests to each model. */
  readonly asked: () => JsonObject
}

type Answer = (model: string, results: readonly string[]) => ModelReply

async function world(
  files: Readonly<Record<string, string>>,
  answer: Answer,
  config = '',
  more: Readonly<Record<string, string>> = {},
): Promise<World> {
  const server = await startModelServer(({ body }) => {
    const results = (body?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
    return answer(body?.model ?? '', results)
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({ 'config/config.toml': config }), ...more }
  return {
    server,
    cwd,
    env,
    run: (...args) => baton(args, { cwd, env }),
    asked() {
      const counts: Record<string, number> = {}
      for (const { body } of server.requests) counts[body?.model ?? ''] = (counts[body?.model ?? ''] ?? 0) + 1
      return counts
    },
  }
}

const members = '[[ensemble.agents]]\nmodel = "a"\n[[ensemble.agents]]\nmodel = "b"\n[[ensemble.agents]]\nmodel = "c"\n'

it('a member that waits for an approval suspends the run when the others have answered, and nothing is paid twice', async () => {
  const { run, asked } = await world(
    { 'ask.md': `+++\nmodel = "main"\ntools = ["todo"]\n[ensemble]\n${members}+++\nWhat is it?\n` },
    (model, results) => {
      if (model !== 'b') return { text: `${model} says so` }
      if (results.length === 0) return callsTools(['todo', { todos: [{ content: 'look', status: 'pending' }] }])
      return { text: `b has ${results[0]}` }
    },
    '[permission]\ntodo = "ask"\n',
  )
  const waits = await run('ask.md', '--on-ask', 'suspend')
  expect([waits.code, waits.stdout]).toEqual([5, ''])
  expect(asked()).toEqual({ a: 1, b: 1, c: 1 })
  expect((await run('runs', '--waiting')).stdout).toContain('member/b')
  const done = await run('approve')
  expect([done.code, done.stdout]).toEqual([0, 'main says so\n'])
  expect(asked()).toEqual({ a: 1, b: 2, c: 1, main: 1 })
})

it('a replay needs no model and no program, and does not wait for members that were stopped', async () => {
  const program = (script: string): string =>
    `[[ensemble.agents]]\nname = "${script.slice(0, 4)}"\ncommand = "sh"\nargs = ["-c", "${script}"]\nsandbox.mode = "danger-full-access"\n`
  const front = `model = "main"\n[ensemble]\ntimeout = "3s"\nquorum = 3\n${members}${program('echo it is a program')}${program('wait; exec sleep 60')}`
  const { run, asked, server } = await world({ 'ask.md': `+++\n${front}+++\nWhat is it?\n` }, (model) =>
    model === 'c' ? { text: 'c begins', stallAfter: 1 } : { text: `${model} says so` },
  )
  const refused = await run('ask.md')
  expect(refused).toMatchObject({ code: 6, stdout: '' })
  expect(refused.stderr).toContain('"ensemble.agents[3].sandbox.mode" may not be "danger-full-access" in ask.md')
  await run('trust', 'ask.md')
  const ran = await run('ask.md')
  expect([ran.code, ran.stdout]).toEqual([0, 'main says so\n'])
  const missing = '2 of 5 members of the ensemble gave no answer'
  expect(ran.stderr).toContain(missing)
  await server.close()
  const before = asked()
  const again = await run('run', '--replay', 'last')
  expect([again.code, again.stdout]).toEqual([0, 'main says so\n'])
  expect(again.stderr).toContain(missing)
  expect(again.stderr).toContain('"c": it took longer than its timeout, 3 s')
  expect(asked()).toEqual(before)
})

it('a known program is a member by its name, read-only, with its usage', async () => {
  const stream = join(import.meta.dirname, '../fixtures/command/claude.jsonl')
  const bin = tempTree({ claude: `#!/bin/sh\necho "$@" > "$ARGS_FILE"\ncat '${stream}'\n` })
  chmodSync(join(bin, 'claude'), 0o755)
  const args = join(tempTree(), 'args')
  const claude = `[[ensemble.agents]]\npreset = "claude"\nenv = { ARGS_FILE = "${args}" }\n`
  const { run, cwd } = await world(
    {
      'ask.md': `+++\nmodel = "main"\nsub_agents = [{ name = "seen.lua", stage = "post_task" }]\n[ensemble]\n${claude}[[ensemble.agents]]\nmodel = "a"\n+++\nWhat is it?\n`,
      'seen.lua': 'aip.file.save("seen.json", aip.json.stringify(input.ai_response.members))\nreturn nil\n',
    },
    (model) => ({ text: `${model} says so` }),
    '',
    { PATH: `${bin}:${process.env['PATH']}` },
  )
  await run('trust', 'ask.md')
  const { code, stdout, stderr } = await run('ask.md')
  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'main says so\n' })
  expect(readFileSync(args, 'utf8')).toContain('--disallowedTools=Edit,Write,NotebookEdit,Bash')
  const [first] = JSON.parse(readFileSync(join(cwd, 'seen.json'), 'utf8')) as readonly JsonObject[]
  expect(first).toMatchObject({
    name: 'claude',
    id: 'ask-ensemble-claude',
    status: 'answered',
    content: 'The folder holds notes.txt.',
    model: expect.stringContaining('claude-opus-4-8') as unknown,
    cost_usd: expect.closeTo(0.00248, 7) as unknown,
  })
})

it('a run that goes on without a member says so, also if it was interrupted afterwards', async () => {
  const two = members.split('[[').slice(0, 3).join('[[')
  const file = `+++\nmodel = "main"\ninput_concurrency = 1\ntemplate = true\n[ensemble]\nquorum = 1\n${two}+++\nAbout {{input}}\n`
  let mainCalls = 0
  const { cwd, env, run } = await world({ 'ask.md': file }, (model) => {
    if (model === 'b') return { status: 400, body: { error: { message: 'no' } } }
    if (model === 'main') mainCalls += 1
    return model === 'main' && mainCalls === 2 ? { text: 'cut off', stallAfter: 1 } : { text: `${model} says so` }
  })
  const killed = await baton(['ask.md', '-i', 'one', '-i', 'two', '--json'], {
    cwd,
    env,
    onOutput: (text, kill) => void (mainCalls === 2 && text.includes('item.delta') && kill('SIGKILL')),
  })
  expect(killed.code).toBeNull()
  const resumed = await run('resume', '--last', '-q')
  expect(resumed.code).toBe(0)
  expect((await run('runs')).stdout).toContain('done, degraded')
  expect((await run('report')).stdout).toContain('done, degraded')
})
