import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux } from '../helpers/tmux.ts'

type Notice = { readonly [key: string]: unknown }

const secret = 'the-secret-of-the-notices'
const patience = { timeout: 30_000 }

/** A file for each way in which a run may end. */
const files = {
  '.git/HEAD': '',
  'good.md': '+++\nmodel = "m"\n+++\nHello.\n',
  'bad.md': '+++\nmodel = "m"\n+++\nRefuse it.\n',
  'ask.md': '+++\nmodel = "m"\nwrite_mode = "ask"\n+++\nWrite it.\n',
  'spend.md': '+++\nmodel = "m"\ntemplate = true\ninput_concurrency = 1\n[budget]\ncalls = 5\n+++\n{{input}}\n',
}

async function startModel(): Promise<Readonly<Record<string, string>>> {
  const model = await startModelServer(({ body }) => {
    const asked = JSON.stringify(body?.messages.at(-1))
    if (asked.includes('Refuse')) return { status: 400, body: { error: { message: 'never' } } }
    const change = '<FILE_CHANGES>\n<FILE_NEW file_path="new.txt">\nx\n</FILE_NEW>\n</FILE_CHANGES>'
    return { text: asked.includes('Write') ? change : 'Hello.' }
  })
  onTestFinished(() => model.close())
  return { BATON_GATEWAY_URL: model.url }
}

/** The notices that a webhook on loopback gets; each is signed. */
async function startWebhook(): Promise<{ readonly url: string; readonly notices: Notice[] }> {
  const notices: Notice[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      const time = String(request.headers['baton-time'])
      const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
      if (request.headers['baton-signature'] === `sha256=${signature}`) notices.push(JSON.parse(body) as Notice)
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, notices }
}

/** A home whose notices are lines of a file there. */
function homeWithCommand(): {
  readonly env: Readonly<Record<string, string>>
  readonly notices: () => readonly Notice[]
} {
  const home = tempTree({ 'baton/config/config.toml': '[notify]\ncommand = "(cat; echo) >> notices"\n' })
  return {
    env: { HOME: home, BATON_HOME: join(home, 'baton') },
    notices: () => (existsSync(join(home, 'notices')) ? jsonLines(readFileSync(join(home, 'notices'), 'utf8')) : []),
  }
}

const told = (notices: readonly Notice[]) => notices.map(({ event, file, status }) => ({ event, file, status }))

it('each run of a watch session tells how it ended, and the session ends when its last notice is delivered', async () => {
  const { env, notices } = homeWithCommand()
  const cwd = tempTree(files)
  let kill: (signal: NodeJS.Signals) => void = () => undefined
  let stderr = ''
  const session = baton(['run', 'good.md', '--watch'], {
    cwd,
    env: { ...env, ...(await startModel()) },
    onError: (written, stop) => void ([stderr, kill] = [written, stop]),
  })
  await expect.poll(() => told(notices()), patience).toEqual([{ event: 'ends', file: 'good.md', status: 'done' }])
  writeFileSync(join(cwd, 'good.md'), files['bad.md'])
  const failed = { event: 'fails', file: 'good.md', status: 'failed' }
  await expect.poll(() => told(notices()).at(-1), patience).toEqual(failed)
  writeFileSync(join(cwd, 'good.md'), '+++\nmodel = "m"\n[budget]\ncalls = 3\n+++\nHello again.\n')
  await expect
    .poll(() => told(notices()).slice(2), patience)
    .toEqual([
      { event: 'budget', file: 'good.md', status: 'running' },
      { event: 'ends', file: 'good.md', status: 'done' },
    ])
  expect(notices()[2]).toMatchObject({ budget: { limit: 'calls', used: 3, of: 3 } })
  // a later run of the session is refused, and does not tell of the budget again
  writeFileSync(join(cwd, 'good.md'), '+++\nmodel = "m"\n[budget]\ncalls = 3\n+++\nHello once more.\n')
  await expect
    .poll(() => told(notices()).slice(4), patience)
    .toEqual([{ event: 'fails', file: 'good.md', status: 'budget' }])
  // Ctrl-C during a run ends only the run
  await expect.poll(() => stderr.split('── run ').at(-1), patience).toContain('watching ')
  kill('SIGINT')
  expect((await session).code).toBe(130)
  expect(notices()).toHaveLength(5)
})

it('runs of a server tell from their worker processes, signed: ends, failures, budgets, and questions that nobody answers', async () => {
  const { url, notices } = await startWebhook()
  const home = tempTree({ 'config/config.toml': `[notify]\nwebhook = "${url}"\nsecret_env = "NOTICES"\n` })
  const cwd = tempTree(files)
  const child: ChildProcess = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), 'serve', '--json'], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      BATON_HOME: home,
      BATON_LOCAL_SERVERS: 'off',
      BATON_SERVE_SECRET: 's'.repeat(43),
      NOTICES: secret,
      ...(await startModel()),
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text))
  await expect.poll(() => printed, patience).toContain('\n')
  const { origin } = new URL(String(jsonLines(printed)[0]?.['url']))
  const headers = { authorization: `Bearer ${'s'.repeat(43)}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object): Promise<Notice> => {
    const answered = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await answered.json()) as Notice
  }
  const { id: good } = await post('/api/runs', { file: 'good.md' })
  await expect.poll(() => notices, patience).toMatchObject([{ event: 'ends', run: good, status: 'done', exit_code: 0 }])
  await post('/api/runs', { file: 'bad.md' })
  await expect.poll(() => notices[1], patience).toMatchObject({ event: 'fails', file: 'bad.md', exit_code: 1 })
  await post('/api/runs', { file: 'spend.md', inputs: ['a', 'b', 'c', 'd'] })
  await expect
    .poll(() => told(notices.slice(2)), patience)
    .toEqual([
      { event: 'budget', file: 'spend.md', status: 'running' },
      { event: 'ends', file: 'spend.md', status: 'done' },
    ])
  const { id: asking } = await post('/api/runs', { file: 'ask.md' })
  await expect
    .poll(() => notices[4], patience)
    .toMatchObject({
      event: 'waits',
      run: asking,
      status: 'running',
      approvals: [{ id: '1', tool: 'write' }],
    })
  await post(`/api/runs/${String(asking)}/approvals/1/approve`, {})
  await expect.poll(() => notices[5], patience).toMatchObject({ event: 'ends', run: asking, status: 'done' })
  const { conversationId } = await post('/prompt', { input: 'Hello.', model: 'm' })
  expect(conversationId).toBeDefined()
  await expect.poll(() => notices[6], patience).toMatchObject({ event: 'ends', status: 'done' })
})

it('the run of a trigger tells like any other', async () => {
  const { env, notices } = homeWithCommand()
  const trigger = (name: string) => `[[trigger]]\nname = "${name}"\nfile = "${name}.md"\nfiles = ["none/**"]\n`
  const config = join(env['BATON_HOME'] ?? '', 'config', 'config.toml')
  writeFileSync(config, `${readFileSync(config, 'utf8')}${trigger('good')}${trigger('bad')}${trigger('ask')}`)
  const around = { cwd: tempTree(files), env: { ...env, ...(await startModel()) }, process: 'own' } as const
  for (const name of ['good', 'bad', 'ask']) await baton(['serve', '--once', name], around)
  expect(told(notices())).toEqual([
    { event: 'ends', file: 'good.md', status: 'done' },
    { event: 'fails', file: 'bad.md', status: 'failed' },
    { event: 'waits', file: 'ask.md', status: 'waiting_for_approval' },
  ])
})

it.skipIf(!hasTmux)('a chat tells that it has answered and waits for the next message (needs tmux)', async () => {
  const { env, notices } = homeWithCommand()
  const command = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat -m m`
  const around = { ...env, ...(await startModel()), BATON_LOCAL_SERVERS: 'off' }
  const screen = inTmux(command, around, tempTree(files))
  await expect.poll(() => screen.lines().at(-1), patience).toBe('>')
  screen.type('Hello.', 'Enter')
  await expect
    .poll(notices, patience)
    .toMatchObject([
      { event: 'waits', status: 'done', text: expect.stringContaining('has answered and waits for your next message') },
    ])
  screen.type('C-d')
  await expect.poll(screen.output, patience).toContain('code 0')
  expect(notices()).toHaveLength(1)
})
