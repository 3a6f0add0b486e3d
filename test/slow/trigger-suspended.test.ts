import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { type HttpServed, serveTree } from '../helpers/http-served.ts'
import { startToolModel } from '../helpers/tool-model.ts'

const hookSecret = 'the secret of a hook, 0123456789'

const files = {
  'baton.toml': 'model = "gpt-5-mini"\n',
  'write.md': '+++\ntemplate = true\nwrite_mode = "ask"\n+++\nWrite {{input.file}}.\n',
}

const config = (overlap: string): string =>
  `[[trigger]]\nname = "write"\nfile = "write.md"\nsecret_env = "HOOK_SECRET"\noverlap = "${overlap}"\n`

async function serve(overlap: string): Promise<HttpServed> {
  const { url } = await startToolModel(({ body }) => {
    const name = /Write (\w+\.txt)/.exec(body?.messages.at(-1)?.content ?? '')?.[1] ?? 'none.txt'
    return { text: `I write it.\n\n<FILE_CHANGES>\n<FILE_NEW file_path="${name}">\nhi\n</FILE_NEW>\n</FILE_CHANGES>\n` }
  })
  return serveTree(files, { config: config(overlap), env: { HOOK_SECRET: hookSecret, BATON_GATEWAY_URL: url } })
}

/** Sends a webhook that names a file; returns what the server answers. */
async function send({ serving }: HttpServed, file: string): Promise<Record<string, string>> {
  const time = String(Math.floor(Date.now() / 1000))
  const body = JSON.stringify({ file })
  const signature = createHmac('sha256', hookSecret).update(`${time}.${body}`).digest('hex')
  const headers = {
    'content-type': 'application/json',
    'baton-time': time,
    'baton-signature': `sha256=${signature}`,
  }
  const response = await fetch(`${serving.url}/hooks/write`, { method: 'POST', headers, body })
  return (await response.json()) as Record<string, string>
}

const seen = async ({ get }: HttpServed): Promise<unknown> =>
  ((await get('/api/triggers')).body['triggers'] as readonly unknown[])[0]

const until = (served: HttpServed, expected: object) =>
  vi.waitFor(async () => expect(await seen(served)).toMatchObject(expected), 15_000)

interface Item {
  readonly run: { readonly id: string }
  readonly approvals: number
}

/** Approves what is in the inbox, and resumes its run, as the page does. */
async function approveInInbox({ get, post }: HttpServed, id: string): Promise<void> {
  const items = (await get('/api/inbox')).body['items'] as readonly Item[]
  expect(items).toMatchObject([{ run: { id }, approvals: 1 }])
  const [call] = (await get(`/api/runs/${id}`)).body['approvals'] as readonly { readonly id: string }[]
  expect(await post(`/api/runs/${id}/approvals/${call?.id}/approve`)).toMatchObject({ status: 200, body: { open: [] } })
  expect((await post(`/api/runs/${id}/resume`)).status).toBe(202)
}

describe('the run of a trigger that needs approval', () => {
  it('waits in the inbox, and is resumed by the answer there; what is sent meanwhile starts when it has ended', async () => {
    const served = await serve('queue')
    const { id = '' } = await send(served, 'one.txt')
    await until(served, {
      state: 'waiting',
      running: [id],
      last: { run: id, outcome: 'started', status: 'waiting_for_approval' },
    })
    expect(await send(served, 'two.txt')).toEqual({ state: 'queued' })
    expect(await seen(served)).toMatchObject({ state: 'waiting', waiting: 1 })
    await approveInInbox(served, id)
    await vi.waitFor(() => expect(readFileSync(join(served.folder, 'one.txt'), 'utf8')).toBe('hi\n'), 15_000)
    expect((await served.get(`/api/runs/${id}`)).body).toMatchObject({ run: { status: 'done' } })
    await vi.waitFor(async () => {
      const { running } = (await seen(served)) as { readonly running: readonly string[] }
      expect(running).toEqual([expect.not.stringMatching(id)])
    }, 15_000)
    await until(served, { state: 'waiting', waiting: 0, last: { status: 'waiting_for_approval' } })
  })

  it('keeps the next one from starting, also in the next server, and says how it has ended', async () => {
    const first = await serve('skip')
    const { id = '' } = await send(first, 'one.txt')
    await until(first, { state: 'waiting' })
    await first.serving.close()
    const served = await serveTree({}, { place: first, env: { ...first.around.env, HOOK_SECRET: hookSecret } })
    await until(served, { state: 'waiting', running: [id] })
    expect(await send(served, 'two.txt')).toEqual({ state: 'skipped', reason: `run ${id} waits for an answer` })
    await approveInInbox(served, id)
    await until(served, { state: 'ready', running: [], last: { outcome: 'skipped' } })
    expect(existsSync(join(served.folder, 'two.txt'))).toBe(false)
    const next = await send(served, 'three.txt')
    await until(served, { state: 'waiting', last: { run: next['id'], status: 'waiting_for_approval' } })
    await approveInInbox(served, next['id'] ?? '')
    await until(served, { state: 'ready', last: { run: next['id'], status: 'done' } })
  })
})
