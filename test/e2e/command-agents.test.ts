import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { processStatus } from '../../src/base/process-group.ts'
import { baton, root } from '../helpers/baton.ts'
import { playing, stream } from '../helpers/command-world.ts'
import { tempTree } from '../helpers/temp.ts'

const shout = `let text = ''
for await (const piece of process.stdin) text += piece
console.log(text.toUpperCase())
`

const definition = (name: string, script: string) => `[agents.${name}]
command = "node"
args = ["${script}"]
sandbox = { mode = "danger-full-access" }
`

const everywhere = `+++
agent = "shout"
sub_agents = ["count"]

${definition('shout', 'shout.mjs')}
${definition('count', 'count.mjs')}
+++
Say what this is.
`

const steps = `+++
[[workflow.step]]
id = "first"
agent = "shout"
input = "one"

[[workflow.step]]
id = "second"
agent = "count"
needs = ["first"]

${definition('shout', 'shout.mjs')}
${definition('count', 'count.mjs')}
+++
`

const count = `let text = ''
for await (const piece of process.stdin) text += piece
console.log(\`It has \${text.trim().length} characters.\`)
`

/** The trust decisions are kept for later runs. */
const at = (cwd: string) => ({ BATON_HOME: join(cwd, '.home') })

it('a command-line agent is the main agent, a sub-agent and a step of a workflow; a replay needs no program', async () => {
  const cwd = tempTree({ 'ask.md': everywhere, 'steps.md': steps, 'shout.mjs': shout, 'count.mjs': count })
  const refused = await baton(['ask.md'], { cwd, env: at(cwd) })
  expect(refused).toMatchObject({ code: 6, stdout: '' })
  expect(refused.stderr).toContain('"agents.shout.sandbox.mode" may not be "danger-full-access" in ask.md')
  for (const file of ['ask.md', 'steps.md']) await baton(['trust', file], { cwd, env: at(cwd) })
  const asked = await baton(['ask.md', '--record', 'ask.cassette'], { cwd, env: at(cwd) })
  expect(asked, asked.stderr).toMatchObject({ code: 0, stdout: 'SAY WHAT THIS IS.\n\nIT HAS 17 CHARACTERS.\n' })
  const worked = await baton(['steps.md'], { cwd, env: at(cwd) })
  expect(worked, worked.stderr).toMatchObject({ code: 0, stdout: 'It has 3 characters.\n' })
  rmSync(join(cwd, 'shout.mjs'))
  // it is no longer what was trusted
  await baton(['trust', 'ask.md'], { cwd, env: at(cwd) })
  const again = await baton(['ask.md', '--replay', 'ask.cassette'], { cwd, env: { ...at(cwd), PATH: '/nowhere' } })
  expect(again, again.stderr).toMatchObject({ code: 0, stdout: asked.stdout })
})

it('a known command-line agent is run by its name, gets our sandbox mode, and its cost is counted by the run', async () => {
  const config = `[agents.mine]\npreset = "claude"\ncommand = ${JSON.stringify(playing(stream('claude')))}\n`
  const cwd = tempTree({ 'ask.md': `+++\nagent = "mine"\n${config}+++\nWhat is here?\n` })
  await baton(['trust', 'ask.md'], { cwd, env: at(cwd) })
  const { code, stdout, stderr } = await baton(['ask.md', '--json'], { cwd, env: at(cwd) })
  expect(code, stderr).toBe(0)
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(events).toContainEqual(expect.objectContaining({ type: 'agent.started', name: 'mine', kind: 'command' }))
  expect(events).toContainEqual(expect.objectContaining({ type: 'tool.started', name: 'Bash' }))
  expect(events.at(-1)).toMatchObject({
    type: 'run.completed',
    cost_usd: expect.closeTo(0.00248, 7) as number,
    unpriced: [],
  })
})

it('a known command-line agent that is not installed is reported where it is started, with the way to install it', async () => {
  const cwd = tempTree({ 'ask.md': '+++\nagent = "gemini"\n+++\nWhat is here?\n' })
  const { code, stderr } = await baton(['ask.md'], { cwd, env: { PATH: '/nowhere' } })
  expect(code).toBe(1)
  expect(stderr).toContain('agent "gemini" cannot be started: there is no program "gemini" in PATH')
  expect(stderr).toContain('npm install -g @google/gemini-cli')
})

interface Killed {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Ids of the program and of its process group. */
  readonly pid: number
  readonly group: number
}

/** A killed process may exist until its parent reaps it. */
function isAlive(pid: number): boolean {
  return (processStatus(pid)?.state ?? 'Z') !== 'Z'
}

/** A run that was killed while its program was running. */
async function killedRun(): Promise<Killed> {
  const script = `import { existsSync, renameSync, writeFileSync } from 'node:fs'
if (existsSync('pids')) console.log('finished')
else {
  writeFileSync('pids.new', JSON.stringify([process.pid, process.ppid]))
  renameSync('pids.new', 'pids')
  setInterval(() => {}, 1000)
}
`
  const cwd = tempTree({
    'ask.md': `+++\nagent = "slow"\n${definition('slow', 'slow.mjs')}+++\nWait.\n`,
    'slow.mjs': script,
  })
  const env = { PATH: process.env['PATH'] ?? '', HOME: cwd, BATON_HOME: join(cwd, 'home'), CI: '1' }
  await baton(['trust', 'ask.md'], { cwd, env })
  const child = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), 'ask.md'], { cwd, env, stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  while (!existsSync(join(cwd, 'pids'))) await sleep(20)
  child.kill('SIGKILL')
  await exited
  const [pid = 0, group = 0] = JSON.parse(readFileSync(join(cwd, 'pids'), 'utf8')) as readonly number[]
  return { cwd, env, pid, group }
}

it.concurrent('a program that ran when its run was killed is ended soon, without a resume', async () => {
  const { pid, group } = await killedRun()
  await vi.waitFor(() => expect([pid, group].filter(isAlive)).toEqual([]), { timeout: 30_000, interval: 100 })
})

it.concurrent('a program that ran when its run was killed is ended by resume, which asks about its outcome', async () => {
  const { cwd, env, group } = await killedRun()
  const asks = await baton(['resume', '--last'], { cwd, env })
  expect(asks, asks.stderr).toMatchObject({ code: 5 })
  expect(asks.stderr).toContain(`which was terminated: process ${group} of task/0/ask#0`)
  const choice = `${/--uncertain (\S+)=redo/.exec(asks.stderr)?.[1]}=redo`
  const done = await baton(['resume', '--last', '--uncertain', choice], { cwd, env })
  expect(done, done.stderr).toMatchObject({ code: 0, stdout: 'finished\n' })
})

it('a crashed program is run again by resume, which reports how it ended', async () => {
  const script = `import { existsSync, writeFileSync } from 'node:fs'
if (existsSync('tried')) console.log('better now')
else {
  writeFileSync('tried', '')
  console.error('no memory left')
  process.exitCode = 7
}
`
  const cwd = tempTree({
    'ask.md': `+++\nagent = "frail"\n${definition('frail', 'frail.mjs')}+++\nTry.\n`,
    'frail.mjs': script,
  })
  const env = { BATON_HOME: join(cwd, 'home') }
  await baton(['trust', 'ask.md'], { cwd, env })
  const crashed = await baton(['ask.md'], { cwd, env })
  expect(crashed, crashed.stderr).toMatchObject({ code: 1 })
  const again = await baton(['resume', '--last'], { cwd, env })
  expect(again, again.stderr).toMatchObject({ code: 0, stdout: 'better now\n' })
  expect(again.stderr).toContain('retrying: agent "frail" exited with code 7: no memory left')
})

it.each([
  ['of the file that is run', (agents: string) => ({ 'ask.md': `+++\nagent = "lab"\n${agents}+++\nTry.\n` }), 'ask.md'],
  [
    'of a prompt file that a script runs',
    (agents: string) => ({
      'ask.md': '+++\nagent = "run.lua"\n+++\nTry.\n',
      'run.lua': 'return aip.agent.run("child.md", { input = "Try." })\n',
      'child.md': `+++\nagent = "lab"\n${agents}+++\nTry.\n`,
    }),
    'child.md',
  ],
])('a secret in the variables of a program %s is neither in the record nor in errors', async (_, files, trusted) => {
  const script = `console.error(\`the key \${process.env.LAB_KEY} is refused\`)\nprocess.exitCode = 1\n`
  const agents = `${definition('lab', 'lab.mjs')}env = { LAB_KEY = "lab-4711-key" }\n`
  const cwd = tempTree({ ...files(agents), 'lab.mjs': script })
  const env = { BATON_HOME: join(cwd, 'home') }
  await baton(['trust', trusted], { cwd, env })
  const { code, stderr } = await baton(['ask.md'], { cwd, env })
  expect(code).toBe(1)
  expect(stderr).toContain('the key «secret:agents.lab.env.LAB_KEY» is refused')
  const kept = readdirSync(join(cwd, 'home'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  const texts = kept.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
  expect(texts.filter((text) => text.includes('lab-4711-key'))).toEqual([])
  expect(texts.length).toBeGreaterThan(0)
})

it('the cost of a program counts towards the budget of a resumed run, which does not run it again', async () => {
  const agents = `[agents.one]\npreset = "claude"\ncommand = ${JSON.stringify(playing(stream('claude')))}\n`
  const step = (id: string, more = ''): string =>
    `[[workflow.step]]\nid = "${id}"\nagent = "one"\ninput = "x"\n${more}\n`
  const text = `+++\nbudget = { usd = 0.002 }\n${step('a')}${step('b', 'needs = ["a"]')}${agents}+++\n`
  const cwd = tempTree({ 'ask.md': text })
  const env = { BATON_HOME: join(cwd, 'home') }
  await baton(['trust', 'ask.md'], { cwd, env })
  const first = await baton(['ask.md'], { cwd, env })
  expect(first, first.stderr).toMatchObject({ code: 4 })
  const again = await baton(['resume', '--last', '--json'], { cwd, env })
  expect(again, again.stderr).toMatchObject({ code: 4 })
  expect(again.stdout).toContain('"cost_usd":0.00248')
  const raised = await baton(['resume', '--last', '-c', 'budget.usd=1'], { cwd, env })
  expect(raised, raised.stderr).toMatchObject({ code: 0, stdout: 'The folder holds notes.txt.\n' })
  const last = text.replace(step('b', 'needs = ["a"]'), '').replace('usd = 0.002', 'usd = 0.001')
  writeFileSync(join(cwd, 'ask.md'), last)
  await baton(['trust', 'ask.md'], { cwd, env })
  const over = await baton(['ask.md'], { cwd, env })
  expect([over.code, over.stderr]).toEqual([0, expect.stringContaining('above its limit, budget.usd = 0.001')])
})

it('a script runs a program by its name', async () => {
  const lua = 'print(aip.agent.run("shout", { input = "hello" }))\n'
  const text = `+++\nsub_agents = ["./call.lua"]\n${definition('shout', 'shout.mjs')}+++\nx\n`
  const cwd = tempTree({ 'ask.md': text, 'call.lua': lua, 'shout.mjs': shout })
  await baton(['trust', 'ask.md'], { cwd, env: at(cwd) })
  const { code, stdout, stderr } = await baton(['ask.md', '-m', 'offline::extractive'], { cwd, env: at(cwd) })
  expect(code, stderr).toBe(0)
  expect(`${stdout}${stderr}`).toContain('HELLO')
})
