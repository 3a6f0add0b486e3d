import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { hasBox } from '../helpers/box.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'
import { isAlive } from '../helpers/worker-processes.ts'

/** Starts the built command, and kills it with SIGKILL once a process has written its id to a file. */
async function killedAt(file: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
  const command = join(root, 'dist/bin/baton.js')
  const child: ChildProcess = spawn(process.execPath, [command, ...args], { ...options, stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const number = await written(file)
  // a command without a shell starts before it is recorded
  await recorded(join(String(options.env['BATON_HOME']), 'state/runs'))
  child.kill('SIGKILL')
  await exited
  return number
}

/** Until a journal in this folder names the process of a command. */
async function recorded(runs: string): Promise<void> {
  const isThere = (): boolean =>
    existsSync(runs) &&
    readdirSync(runs, { recursive: true, encoding: 'utf8' }).some(
      (name) => name.endsWith('.jsonl') && readFileSync(join(runs, name), 'utf8').includes('"k":"process"'),
    )
  await expect.poll(isThere, { timeout: 20_000 }).toBe(true)
}

async function written(file: string): Promise<number> {
  for (let tries = 0; tries < 1500; tries += 1) {
    if (existsSync(file) && readFileSync(file, 'utf8').endsWith('\n')) return Number(readFileSync(file, 'utf8'))
    await sleep(20)
  }
  throw new Error(`nothing was written to ${file}`)
}

async function gone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 250 && isAlive(pid); tries += 1) await sleep(20)
  return !isAlive(pid)
}

const env = (home: string) => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  BATON_HOME: join(home, 'baton'),
  CI: '1',
})

it('a command of a killed run that is still running is ended by resume, before it asks about its outcome', async () => {
  const folder = tempTree({
    'slow.lua': 'return aip.cmd.exec("sh", {"-c", "echo $$ > pid; sleep 300 & wait"})\n',
    'also.lua': 'return 1\n',
  })
  const given = env(tempTree())
  const pid = await killedAt(join(folder, 'pid'), ['slow.lua'], { cwd: folder, env: given })
  expect(isAlive(pid)).toBe(true)
  onTestFinished(() => void (isAlive(pid) && process.kill(-pid, 'SIGKILL')))
  const asks = await baton(['resume', '--last'], { cwd: folder, env: given })
  expect(asks, asks.stderr).toMatchObject({ code: 5 })
  expect(asks.stderr).toContain(`the killed run left a command running, which was terminated: process ${pid} of `)
  expect(await gone(pid)).toBe(true)
  const id = /--uncertain (\S+)=redo/.exec(asks.stderr)?.[1] ?? ''
  expect(asks.stderr).not.toContain('=tell')
  const told = await baton(['resume', '--last', '--uncertain', `${id}=tell`], { cwd: folder, env: given })
  expect([told.code, told.stderr]).toEqual([2, expect.stringContaining(`--uncertain ${id}=tell: no model called `)])
  // nobody watches: what no model has called is still for a person to decide
  expect((await baton(['resume', '--last', '--unattended'], { cwd: folder, env: given })).code).toBe(5)
  const failed = await baton(
    ['resume', '--last', '--uncertain', /--uncertain (\S+)=redo/.exec(asks.stderr)?.[1] + '=fail'],
    {
      cwd: folder,
      env: given,
    },
  )
  expect(failed.stderr).not.toContain('had left')
})

it.skipIf(!hasBox)('a run that is killed during a command of its model asks about its outcome (in a box)', async () => {
  const line = 'echo started; sleep 30 && echo done'
  const model = await startToolModel([callsTools(['bash', { command: line }]), { text: 'Done.' }])
  const folder = tempTree({ 'ask.md': '+++\nmodel = "m"\ntools = ["bash"]\nwrite_mode = true\n+++\nLook.\n' })
  const home = tempTree({ 'baton/config/config.toml': '[permission]\nbash = "allow"\n' })
  const given = { ...env(home), BATON_GATEWAY_URL: model.url }
  const child = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), 'ask.md', '--json'], {
    cwd: folder,
    env: given,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.stdout.resume()
  await recorded(join(home, 'baton/state/runs'))
  child.kill('SIGKILL')
  await exited
  const asks = await baton(['resume', '--last'], { cwd: folder, env: given })
  expect(asks, asks.stderr).toMatchObject({ code: 5 })
  expect(asks.stderr).toContain(line)
  // the placeholders created by the killed run's box are removed once its command has ended
  await expect.poll(() => existsSync(join(folder, '.mcp.json')), { timeout: 20_000 }).toBe(false)
  const choice = /--uncertain (\S+)=done/.exec(asks.stderr)?.[1] ?? ''
  const end = await baton(['resume', '--last', '--uncertain', `${choice}=done`], { cwd: folder, env: given })
  expect(end, end.stderr).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(model.results()).toEqual(['[it counts as done; its output is unknown]'])
  expect(model.requests.length).toBe(2)
})

it('a model is told that its command was interrupted, by choice or where nobody watches, and decides; a replay agrees', async () => {
  const line = 'echo $$ > pid; sleep 300'
  const model = await startToolModel([
    callsTools(['bash', { command: line }]),
    callsTools(['bash', { command: 'cat pid | wc -l' }]),
    { text: 'It had started.' },
    callsTools(['bash', { command: 'cat pid | wc -l' }]),
    { text: 'It had started.' },
  ])
  const folder = tempTree({ 'ask.md': '+++\nmodel = "m"\ntools = ["bash"]\nwrite_mode = true\n+++\nLook.\n' })
  const config = '[permission]\nbash = "allow"\n[sandbox]\nmode = "danger-full-access"\n'
  const home = tempTree({ 'baton/config/config.toml': config })
  const pid = await killedAt(join(folder, 'pid'), ['ask.md'], {
    cwd: folder,
    env: { ...env(home), BATON_GATEWAY_URL: model.url },
  })
  onTestFinished(() => void (isAlive(pid) && process.kill(-pid, 'SIGKILL')))
  const copy = tempTree()
  cpSync(home, copy, { recursive: true })
  const resumed = async (at: string, ...args: readonly string[]) =>
    baton([...args], { cwd: folder, env: { ...env(at), BATON_GATEWAY_URL: model.url } })
  const asks = await resumed(home, 'resume', '--last')
  const choice = /--uncertain (\S+=tell) {2}the model is told that its outcome is unknown, and decides$/m.exec(
    asks.stderr,
  )
  expect([asks.code, choice?.length], asks.stderr).toEqual([5, 2])
  const chosen = await resumed(home, 'resume', '--last', '--uncertain', choice?.[1] ?? '')
  const alone = await resumed(copy, 'resume', '--last', '--unattended')
  for (const { code, stdout, stderr } of [chosen, alone]) {
    expect([code, stdout], stderr).toEqual([0, 'It had started.\n'])
    expect(stderr).toContain('the outcome of a call is unknown, and the model is told so: task/0/')
  }
  const told = model.requests.flatMap(({ body }) => body?.messages.filter(({ role }) => role === 'tool') ?? [])
  expect(told[0]?.content).toMatch(
    /^Error: Error in tool "bash": interrupted: this call had started when the process of the run ended/,
  )
  expect(told.at(-1)?.content).toMatch(/^1\b/)
  // nothing was paid twice, and neither a replay nor another resume asks the model
  expect(model.requests).toHaveLength(5)
  expect(await resumed(home, 'run', '--replay', 'last')).toMatchObject({ code: 0, stdout: 'It had started.\n' })
  const id = (await resumed(copy, 'runs', '--ids')).stdout.trim()
  expect(await resumed(copy, 'resume', id)).toMatchObject({ code: 0, stdout: 'It had started.\n' })
  expect((await resumed(home, 'runs', 'show', 'last', '--all')).stdout).toContain(
    'was told that its outcome is unknown',
  )
  expect(model.requests).toHaveLength(5)
})
