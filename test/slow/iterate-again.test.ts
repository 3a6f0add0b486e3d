import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { setTimeout as wait } from 'node:timers/promises'
import { baton, type BatonResult, root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

interface World {
  readonly folder: string
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  readonly git: (...args: readonly string[]) => string
  /** What the model was asked since the last call of this function. */
  readonly asked: () => readonly string[]
}

/** A repository with a prompt file; each answer writes one more file. */
async function world(): Promise<World> {
  const asked: string[] = []
  let files = 0
  const server = await startModelServer(({ body }) => {
    asked.push(body?.messages.at(-1)?.content ?? '')
    files += 1
    return {
      text: `Done.\n\n<FILE_CHANGES>\n<FILE_NEW file_path="f${files}.txt">\n${files}\n</FILE_NEW>\n</FILE_CHANGES>`,
    }
  })
  onTestFinished(() => server.close())
  const folder = tempTree({ 'ask.md': '+++\nmodel = "m"\nwrite_mode = true\n+++\nGo on.\n' })
  const git: World['git'] = (...args) => execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
  const user = 'git config user.name Test && git config user.email test@example.com'
  execFileSync('sh', ['-c', `git init -q && ${user} && git add . && git commit -qm start`], { cwd: folder })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  return { folder, git, asked: () => asked.splice(0), run: (...args) => baton(args, { cwd: folder, env }) }
}

it('an iteration and those after it are repeated, with only the records before it', async () => {
  const { folder, run, git, asked } = await world()
  expect(await run('ask.md', '--iter', '5')).toMatchObject({ code: 0 })
  const first = git('rev-parse', 'HEAD~4').trim()
  git('reset', '-q', '--hard', first)
  const id = (await run('runs', '--ids')).stdout.trim()
  asked()
  expect(await run('resume', id, '--from', '1')).toMatchObject({ code: 0 })
  const [prompt = '', ...others] = asked()
  expect(others).toHaveLength(3)
  expect(prompt).toContain('## Progress\nIteration: 1 of 5\n')
  expect(prompt.match(/^### Iteration \d.*$/gm)).toEqual([`### Iteration 0 → commit ${first.slice(0, 9)}`])
  expect(git('log', '--format=%s').trim().split('\n')).toEqual([
    ...[4, 3, 2, 1, 0].map((number) => `[iter-${number}] Iteration ${number} changes`),
    'start',
  ])
  expect(['f2.txt', 'f5.txt', 'f6.txt', 'f9.txt'].map((name) => existsSync(join(folder, name)))).toEqual([
    false,
    false,
    true,
    true,
  ])
})

it('a repeat is refused if HEAD is another commit, unless forced, and never moves it', async () => {
  const { run, git, asked } = await world()
  expect(await run('ask.md', '--iter', '2')).toMatchObject({ code: 0 })
  const id = (await run('runs', '--ids')).stdout.trim()
  asked()
  const head = git('rev-parse', 'HEAD')
  const { code, stderr } = await run('resume', id, '--from', 'iteration/1')
  expect(code).toBe(2)
  expect(stderr).toContain(`iteration 1 began at commit ${git('rev-parse', 'HEAD~1').slice(0, 9)}`)
  expect({ head: git('rev-parse', 'HEAD'), asked: asked() }).toEqual({ head, asked: [] })
  git('commit', '-q', '--allow-empty', '-m', 'mine')
  expect(await run('resume', id, '--force')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--force needs --from\nhint: Name the iteration to start from'),
  })
  expect(await run('resume', id, '--from', 'iteration/1', '--force')).toMatchObject({ code: 0 })
  expect(git('log', '--format=%s', '-2')).toBe('[iter-1] Iteration 1 changes\nmine\n')
})

it('a run that ended is allowed more iterations, more time or another command, pays nothing again, and is replayed as it went', async () => {
  const server = await startModelServer((_, index) => ({ text: `answer ${index}` }))
  onTestFinished(() => server.close())
  const [folder, env] = [tempTree({ '.git/HEAD': '' }), { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }]
  const run = (...args: readonly string[]) => baton(args, { cwd: folder, env })
  const stalled = await run(
    '-p',
    'Go.',
    '-m',
    'm',
    '--iter',
    '2h',
    '-c',
    'iterate.stall=1',
    '-c',
    'iterate.commits=false',
  )
  expect(stalled.stderr).toContain('Iterations: 1/1 succeeded (0 failed), no more changes\n')
  const id = (await run('runs', '--ids')).stdout.trim()
  expect(await run('resume', id, '--iter', '1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('one iteration is done, so that --iter 1 allows none'),
  })
  // the stall starts again: one more iteration, whose command is not met
  const more = await run('resume', id, '--iter', '3h', '--until', 'test -e never')
  expect(more).toMatchObject({ code: 7, stdout: 'answer 1\n' })
  expect(more.stderr).toContain('no more changes')
  expect(more.stderr).toContain(`allow more with baton resume ${id} --iter N (the number in all)`)
  expect(await run('resume', id, '--iter', '5', '--until', 'true')).toMatchObject({ code: 0, stdout: 'answer 2\n' })
  expect(server.requests).toHaveLength(3)
  expect(await run('run', '--replay', id)).toMatchObject({ code: 0, stdout: 'answer 2\n' })
  await run('-p', 'Go.', '-m', 'm')
  const once = (await run('runs', '--ids', '--limit', '1')).stdout.trim()
  expect(await run('resume', once, '--iter', '2')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('this run has no iterations, so that --iter and --until have nothing to allow'),
  })
})

it('a resumed run gets the remaining time: breaks do not count', async () => {
  const folder = tempTree({ 'a.lua': 'return "x"' })
  const env = { BATON_HOME: tempTree() }
  const args = ['a.lua', '--iter', '3s', '--until', 'sleep 1; false', '-c', 'iterate.stall=0']
  const command = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  await new Promise<void>((resolve) => {
    command.stderr.setEncoding('utf8').on('data', (piece: string) => {
      stderr += piece
      if (stderr.includes('iteration 0 done')) command.kill('SIGKILL')
    })
    command.on('close', () => resolve())
  })
  await wait(3500)
  const resumed = await baton(['resume', 'last'], { cwd: folder, env })
  // more than the whole time has passed, and one iteration has ended: the others are still done
  expect(resumed.code).toBe(7)
  expect(resumed.stderr).toMatch(/^iteration 1 done/m)
  expect(resumed.stderr).toContain('time limit reached')
})
