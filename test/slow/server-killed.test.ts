import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished, vi } from 'vitest'
import { jsonLines, root } from '../helpers/baton.ts'
import { secret } from '../helpers/http-served.ts'
import { tempTree } from '../helpers/temp.ts'
import { startToolModel } from '../helpers/tool-model.ts'
import { isAlive, workersOf } from '../helpers/worker-processes.ts'

const files = {
  '.git/HEAD': 'x\n',
  'baton.toml': 'model = "gpt-5-mini"\n',
  'ask.md': '+++\nwrite_mode = "ask"\n+++\nWrite it.\n',
  'slow.md': 'Say it slowly.\n',
}

interface Killable {
  readonly child: ChildProcessWithoutNullStreams
  readonly ask: (path: string, body?: object) => Promise<Record<string, unknown>>
}

/** Servers of one workspace as processes that can be killed, with a model that never ends some answers. */
async function world(): Promise<{
  readonly cwd: string
  readonly start: () => Promise<Killable>
  readonly open: () => void
}> {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const { url } = await startToolModel(({ body }) => {
    const text = body?.messages.at(-1)?.content ?? ''
    if (text.includes('slowly')) return { text: 'one two three', chunks: ['one ', 'two ', 'three'], gate, gateAfter: 2 }
    return { text: `I write it.\n\n<FILE_CHANGES>\n<FILE_NEW file_path="a.txt">\nhi\n</FILE_NEW>\n</FILE_CHANGES>\n` }
  })
  const cwd = tempTree(files)
  const home = tempTree()
  const around = { HOME: home, BATON_HOME: home, BATON_LOCAL_SERVERS: 'off', BATON_GATEWAY_URL: url }
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }

  async function start(): Promise<Killable> {
    const child = spawn(process.execPath, [join(root, 'dist/bin/baton.js'), 'serve', '--json', '--max-runs', '2'], {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', BATON_SERVE_SECRET: secret, ...around },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const { origin } = new URL(String(jsonLines(line)[0]?.['url']))
    return {
      child,
      async ask(path, body) {
        const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
        return (await (await fetch(`${origin}${path}`, { headers, ...init })).json()) as Record<string, unknown>
      },
    }
  }
  return { cwd, start, open: () => open() }
}

const statusOf = async ({ ask }: Killable, id: unknown): Promise<unknown> => {
  const { run } = (await ask(`/api/runs/${String(id)}`)) as { readonly run?: { readonly status: string } }
  return run?.status
}

const until = (served: Killable, id: unknown, status: string) =>
  vi.waitFor(async () => expect(await statusOf(served, id)).toBe(status), 20_000)

async function kill({ child }: Killable): Promise<void> {
  const workers = workersOf(child.pid ?? 0)
  child.kill('SIGKILL')
  await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]), 20_000)
}

it('what waits, runs and is queued in a server that is killed can be answered and resumed in the next one', async () => {
  const { cwd, start, open } = await world()
  const first = await start()
  const { id: waiting } = await first.ask('/api/runs', { file: 'ask.md' })
  await until(first, waiting, 'waiting')
  const { id: running } = await first.ask('/api/runs', { file: 'slow.md' })
  await until(first, running, 'running')
  const { id: queued } = await first.ask('/api/runs', { file: 'slow.md' })
  await until(first, queued, 'queued')
  await kill(first)

  const second = await start()
  expect(await second.ask('/api/inbox')).toMatchObject({ items: [{ run: { id: waiting }, approvals: 1 }] })
  expect([await statusOf(second, running), await statusOf(second, queued)]).toEqual(['cancelled', 'cancelled'])
  open()
  for (const id of [running, queued]) {
    expect(await second.ask(`/api/runs/${String(id)}`)).toMatchObject({ canResume: true })
    await second.ask(`/api/runs/${String(id)}/resume`, {})
    await until(second, id, 'done')
  }
  const [call] = (await second.ask(`/api/runs/${String(waiting)}`))['approvals'] as readonly { readonly id: string }[]
  await second.ask(`/api/runs/${String(waiting)}/approvals/${call?.id}/approve`, {})
  await second.ask(`/api/runs/${String(waiting)}/resume`, {})
  await until(second, waiting, 'done')
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('hi\n')
})

it('the process of a conversation that is killed while it answers ends that prompt alone; the next one goes on', async () => {
  const { start, open } = await world()
  const served = await start()
  const { conversationId, promptId } = await served.ask('/prompt', { input: 'Say it slowly.' })
  await until(served, promptId, 'running')
  const { id: other } = await served.ask('/api/runs', { file: 'ask.md' })
  await until(served, other, 'waiting')
  const folder = new RegExp(String(promptId))
  const [worker = 0] = workersOf(served.child.pid ?? 0).filter((pid) => opens(pid, folder))
  process.kill(worker, 'SIGKILL')
  await until(served, promptId, 'interrupted')
  expect(await statusOf(served, other)).toBe('waiting')
  open()
  const { promptId: next } = await served.ask('/prompt', {
    input: 'Once more, slowly.',
    conversationId: String(conversationId),
  })
  await until(served, next, 'done')
  expect(await served.ask(`/api/conversations/${String(conversationId)}`)).toMatchObject({
    messages: [
      { text: 'Say it slowly.', answer: null, run: { status: 'interrupted' } },
      { text: 'Once more, slowly.', answer: 'one two three' },
    ],
  })
})

/** Whether a process has a file open whose path fits. */
function opens(pid: number, path: RegExp): boolean {
  const fds = `/proc/${pid}/fd`
  return readdirSync(fds).some((fd) => path.test(linkAt(join(fds, fd))))
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
