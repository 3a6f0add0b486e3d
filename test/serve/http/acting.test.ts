import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { approverOf } from '../../../src/library/approvals.ts'
import { beginRun } from '../../../src/library/runs.ts'
import { startRun } from '../../../src/runner.ts'
import { follow, type HttpServed, rowsOf, serveTree, type ServedOptions } from '../../helpers/http-served.ts'
import { workersOf } from '../../helpers/worker-processes.ts'
import { callsTools, startToolModel } from '../../helpers/tool-model.ts'

// Actions on runs over HTTP.

const steps = { todos: [{ content: 'Look', status: 'pending' }] }
const tree = {
  'say.md': '+++\nagent = "say.lua"\n+++\nHi\n',
  'say.lua': 'return "said"',
  'slow.md': '+++\nmodel = "m"\n+++\nHi\n',
  'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nHi\n',
}
/** A model that holds back its first answer until `open` is called, and then answers twice immediately. */
async function slowModel() {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const model = await startToolModel([{ text: 'first', gate }, { text: 'second' }, { text: 'third' }])
  const isAsked = () => expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(1)
  return { env: { BATON_GATEWAY_URL: model.url }, open, isAsked }
}

const serve = (options: ServedOptions = {}) => serveTree(tree, options)

interface Detail {
  readonly run: { readonly status: string; readonly exit: number | null; readonly file: string }
  readonly canResume: boolean
  readonly owned: boolean
  readonly approvals: readonly { readonly id: string; readonly tool: string }[]
  readonly answers: readonly { readonly text: string }[]
}

const detailOf = async ({ get }: HttpServed, id: string) => (await get(`/api/runs/${id}`)).body as unknown as Detail
const statusOf = async (served: HttpServed, id: string) => (await detailOf(served, id)).run.status
const begun = async ({ post }: HttpServed, body: unknown): Promise<string> => {
  const answered = await post('/api/runs', body)
  expect(answered).toMatchObject({ status: 202, body: { id: expect.any(String) } })
  return String(answered.body['id'])
}
const ended = (served: HttpServed, id: string) =>
  expect.poll(async () => (await detailOf(served, id)).owned, { timeout: 20_000 }).toBe(false)

describe('starting a run', () => {
  it('of a file returns an id that can be read at once', async () => {
    const served = await serve()
    const id = await begun(served, { file: 'say.md' })
    await follow(served, `/api/runs/${id}/events`).ended
    await ended(served, id)
    expect(await detailOf(served, id)).toMatchObject({ run: { status: 'done' }, answers: [{ text: 'said' }] })
  })

  it('of a text with a model streams the answer of the model', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const model = await startToolModel([{ text: 'so it is', gate }])
    const served = await serve({ env: { BATON_GATEWAY_URL: model.url } })
    const id = await begun(served, { text: 'Is it so?', model: 'm' })
    const stream = follow(served, `/api/runs/${id}/events`)
    await expect.poll(() => rowsOf(stream.events).length, { timeout: 20_000 }).toBe(2)
    open()
    await stream.ended
    const heard = stream.events.filter(({ event }) => event === 'delta')
    expect(heard.map(({ data }) => data['text']).join('')).toBe('so it is')
    expect(heard[0]).not.toHaveProperty('id')
    expect(await detailOf(served, id)).toMatchObject({ answers: [{ text: 'so it is' }] })
  })

  it('with inputs, settings and variables uses those of the request', async () => {
    const model = await startToolModel([{ text: 'one' }, { text: 'two' }])
    const served = await serve({ env: { BATON_GATEWAY_URL: model.url } })
    const text = '+++\ntemplate = true\n+++\nHi {{input}}'
    const asked = { text, model: 'm', inputs: ['a', 'b'], mode: 'classic' }
    const id = await begun(served, asked)
    await ended(served, id)
    const { run, answers } = await detailOf(served, id)
    expect([run.status, answers.map(({ text }) => text).toSorted()]).toEqual(['done', ['one', 'two']])
    const limited = await begun(served, { ...asked, max_cost: 0.25 })
    await ended(served, limited)
    expect((await detailOf(served, limited)).run).toMatchObject({ error: expect.stringContaining('limit in dollars') })
  })

  it.each([
    ['nothing', {}, 400, 'file or text'],
    ['two things', { file: 'say.md', text: 'Hi' }, 400, 'file or text'],
    ['something else', { file: 'say.md', shell: 'x' }, 400, 'shell'],
    ['a file that is not there', { file: 'none.md' }, 400, 'none.md'],
    ['a NUL', { file: 'a\0.md' }, 400, 'NUL'],
    ['a wrong condition', { file: 'say.md', iter: 'soon' }, 400, 'soon'],
  ])('is refused for %s', async (_, body, status, words) => {
    const answered = await (await serve()).post('/api/runs', body)
    expect(answered).toMatchObject({ status, body: { error: { message: expect.stringContaining(words) } } })
  })

  it('is refused for an untrusted file with guarded keys: the hint says how to trust it', async () => {
    const served = await serve()
    writeFileSync(join(served.folder, 'baton.toml'), '[gateway]\nbase_url = "http://127.0.0.1:9/v1"\n')
    const answered = await served.post('/api/runs', { file: 'ask.md' })
    expect(answered).toMatchObject({
      status: 403,
      body: { error: { code: 'UNTRUSTED', hint: expect.stringContaining('baton trust') } },
    })
  })

  it('beyond the number of runs at the same time waits for its turn, and is shown as queued', async () => {
    const { env, open } = await slowModel()
    const served = await serve({ maxRuns: 1, env })
    const first = await begun(served, { file: 'slow.md' })
    const second = await begun(served, { file: 'say.md' })
    const third = await begun(served, { file: 'say.md' })
    expect(await detailOf(served, second)).toMatchObject({ run: { status: 'queued' }, owned: true, canResume: false })
    const queued = async () =>
      ((await served.get('/api/runs?state=queued')).body['runs'] as { id: string }[]).map(({ id }) => id)
    expect(await queued()).toEqual([third, second])
    const stream = follow(served, `/api/runs/${second}/events`)
    expect(await served.post(`/api/runs/${second}/resume`)).toMatchObject({ status: 409 })
    expect(await served.post(`/api/runs/${third}/cancel`)).toMatchObject({ status: 202 })
    expect(await detailOf(served, third)).toMatchObject({ run: { status: 'cancelled' }, owned: false, canResume: true })
    open()
    await stream.ended
    await ended(served, second)
    const shown = stream.events.flatMap(({ event, data }) => (event === 'run' ? [data['status']] : []))
    expect([shown[0], shown.at(-1)]).toEqual(['queued', 'done'])
    expect(shown).not.toContain('cancelled')
    expect(await detailOf(served, second)).toMatchObject({ run: { status: 'done' }, answers: [{ text: 'said' }] })
    expect(await statusOf(served, first)).toBe('done')
    expect(await queued()).toEqual([])
  })

  it.each([
    ['suspend', 'waiting_for_approval'],
    ['deny', 'done'],
  ])('with on_ask "%s" asks nobody, also after it has waited for its turn', async (on_ask, status) => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const model = await startToolModel([{ text: 'first', gate }, callsTools(['todo', steps]), { text: 'so be it' }])
    const served = await serve({ maxRuns: 1, env: { BATON_GATEWAY_URL: model.url } })
    await begun(served, { file: 'slow.md' })
    const id = await begun(served, { file: 'ask.md', on_ask })
    expect(await statusOf(served, id)).toBe('queued')
    open()
    await ended(served, id)
    expect(await statusOf(served, id)).toBe(status)
  })
})

describe('a run of the server', () => {
  it('can be cancelled, and resumed to its end', async () => {
    const { env, isAsked } = await slowModel()
    const served = await serve({ env })
    const id = await begun(served, { file: 'slow.md' })
    await isAsked()
    expect(await served.post(`/api/runs/${id}/resume`)).toMatchObject({ status: 409 })
    expect(await served.post(`/api/runs/${id}/cancel`)).toEqual({ status: 202, body: { id } })
    await ended(served, id)
    expect(await detailOf(served, id)).toMatchObject({ run: { status: 'cancelled' }, canResume: true })
    expect(await served.post(`/api/runs/${id}/cancel`)).toMatchObject({ status: 409 })
    expect(await served.post(`/api/runs/${id}/resume`)).toEqual({ status: 202, body: { id } })
    const stream = follow(served, `/api/runs/${id}/events`)
    await stream.ended
    expect(rowsOf(stream.events).find(({ place }) => place === 'task/0')).toMatchObject({ n: 0, state: 'done' })
    await ended(served, id)
    expect(await detailOf(served, id)).toMatchObject({ run: { status: 'done' }, canResume: false })
    expect(await served.post(`/api/runs/${id}/resume`)).toMatchObject({ status: 409 })
  })

  it('is stopped with the server, and another server resumes it', async () => {
    const { env, isAsked } = await slowModel()
    const served = await serve({ env })
    const id = await begun(served, { file: 'slow.md' })
    await isAsked()
    await served.serving.close()
    const again = await serveTree({}, { place: served, env })
    expect(await detailOf(again, id)).toMatchObject({ run: { status: 'cancelled' }, canResume: true })
    await again.post(`/api/runs/${id}/resume`)
    await ended(again, id)
    expect(await statusOf(again, id)).toBe('done')
  })

  it('whose process is killed is shown as interrupted and can be resumed; the server and other runs go on', async () => {
    const { env, open, isAsked } = await slowModel()
    const served = await serve({ env })
    const before = workersOf(process.pid)
    const id = await begun(served, { file: 'slow.md' })
    await isAsked()
    const [worker = 0] = workersOf(process.pid).filter((pid) => !before.includes(pid))
    const other = await begun(served, { file: 'slow.md' })
    process.kill(worker, 'SIGKILL')
    await ended(served, id)
    expect(await detailOf(served, id)).toMatchObject({ run: { status: 'interrupted' }, canResume: true })
    expect(served.problems).toEqual([`run ${id}: the process of the run has ended unexpectedly: SIGKILL`])
    open()
    await ended(served, other)
    expect(await statusOf(served, other)).toBe('done')
    expect(await served.post(`/api/runs/${id}/resume`)).toMatchObject({ status: 202 })
    await ended(served, id)
    expect(await statusOf(served, id)).toBe('done')
  })

  it('with a stopped command is resumed after the outcome was stated', async () => {
    const served = await serveTree({
      'wait.md': '+++\nagent = "wait.lua"\n+++\nHi\n',
      'wait.lua': 'aip.cmd.exec("sleep", {"600"}) return "done"',
    })
    const id = await begun(served, { file: 'wait.md' })
    const stream = follow(served, `/api/runs/${id}/events`)
    const commands = () => rowsOf(stream.events).flatMap(({ kind, state }) => (kind === 'command' ? [state] : []))
    await expect.poll(commands, { timeout: 20_000 }).toEqual(['running'])
    await served.post(`/api/runs/${id}/cancel`)
    await ended(served, id)
    const refused = await served.post(`/api/runs/${id}/resume`)
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'UNCERTAIN' } } })
    const [effect = ''] = /\b1\.\d+/.exec(JSON.stringify(refused.body)) ?? []
    expect((await served.get(`/api/runs/${id}`)).body['uncertain']).toMatchObject([{ id: effect, kind: 'command' }])
    // whoever has stopped it knows
    expect((await served.get('/api/inbox')).body['items']).toEqual([])
    expect(await served.post(`/api/runs/${id}/resume`, { uncertain: [`${effect}=done`] })).toMatchObject({
      status: 202,
    })
    await ended(served, id)
    expect(await detailOf(served, id)).toMatchObject({ run: { status: 'done' }, answers: [{ text: 'done' }] })
  })

  it('can be undone once', async () => {
    const served = await serveTree({
      'write.md': '+++\nagent = "write.lua"\n+++\nHi\n',
      'write.lua': 'aip.file.save("a.txt", "new\\n"); aip.file.save("b.txt", "new\\n")',
      'a.txt': 'old\n',
    })
    const id = await begun(served, { file: 'write.md' })
    await ended(served, id)
    const text = (name: string) => readFileSync(join(served.folder, name), 'utf8')
    expect(text('a.txt')).toBe('new\n')
    const answered = await served.post(`/api/runs/${id}/undo`, { paths: ['a.txt'] })
    expect(answered).toMatchObject({ status: 202 })
    expect([text('a.txt'), text('b.txt')]).toEqual(['old\n', 'new\n'])
    expect((await detailOf(served, String(answered.body['id']))).run).toMatchObject({ target: 'undo', status: 'done' })
    expect(await served.post(`/api/runs/${id}/undo`)).toMatchObject({ status: 202 })
    expect(existsSync(join(served.folder, 'b.txt'))).toBe(false)
    expect(await served.post(`/api/runs/${id}/undo`)).toMatchObject({ status: 409 })
    expect(await served.post(`/api/runs/${id}/undo`, { paths: ['../x'] })).toMatchObject({ status: 400 })
  })
})

describe('a question', () => {
  const asked = async () => {
    const model = await startToolModel([callsTools(['todo', steps]), { text: 'Done.' }])
    return { model, served: await serve({ env: { BATON_GATEWAY_URL: model.url } }) }
  }
  const waits = (served: HttpServed, id: string) =>
    expect
      .poll(async () => (await detailOf(served, id)).approvals, { timeout: 20_000 })
      .toMatchObject([{ id: '1', tool: 'todo' }])

  it.each([
    ['approve', {}, 'not denied'],
    ['reject', { reason: 'use a list' }, 'use a list'],
  ])('of a run of the server is open until it is answered: %s', async (verdict, body, told) => {
    const { model, served } = await asked()
    const id = await begun(served, { file: 'ask.md' })
    await waits(served, id)
    expect(await detailOf(served, id)).toMatchObject({ owned: true, run: { status: 'waiting', waits: 1 } })
    expect(await served.post(`/api/runs/${id}/approvals/2/${verdict}`, body)).toMatchObject({ status: 409 })
    expect(await served.post(`/api/runs/${id}/approvals/1/${verdict}`, body)).toEqual({
      status: 200,
      body: { open: [] },
    })
    await ended(served, id)
    expect(await detailOf(served, id)).toMatchObject({ run: { status: 'done' }, approvals: [] })
    const results = model.results().join('')
    expect(verdict === 'reject' ? results : 'not denied').toContain(told)
    expect(results.includes('use a list')).toBe(verdict === 'reject')
  })

  it('stays open when the server is stopped, and is answered at the next one', async () => {
    const { model, served } = await asked()
    const id = await begun(served, { file: 'ask.md' })
    await waits(served, id)
    await served.serving.close()
    const again = await serveTree({}, { place: served, env: { BATON_GATEWAY_URL: model.url } })
    expect(await detailOf(again, id)).toMatchObject({
      owned: false,
      canResume: true,
      run: { status: 'waiting_for_approval' },
      approvals: [{ id: '1' }],
    })
    expect(await again.post(`/api/runs/${id}/approvals/1/approve`)).toEqual({ status: 200, body: { open: [] } })
    expect(await again.post(`/api/runs/${id}/resume`)).toMatchObject({ status: 202 })
    await ended(again, id)
    expect(await detailOf(again, id)).toMatchObject({ run: { status: 'done' }, answers: [{ text: 'Done.' }] })
    // nothing was paid for twice
    expect(model.requests).toHaveLength(2)
  })

  it('of a suspended run is answered, and the run is then resumed', async () => {
    const { served } = await asked()
    const { runId: id } = await beginRun('ask.md', { approve: () => 'suspend' }, served.around).result
    await waits(served, id)
    expect(await statusOf(served, id)).toBe('waiting_for_approval')
    expect(await served.post(`/api/runs/${id}/approvals/7/approve`)).toMatchObject({ status: 400 })
    expect(await served.post(`/api/runs/${id}/approvals/1/approve`)).toEqual({ status: 200, body: { open: [] } })
    expect(await served.post(`/api/runs/${id}/resume`)).toMatchObject({ status: 202 })
    await ended(served, id)
    expect(await detailOf(served, id)).toMatchObject({ run: { status: 'done' }, answers: [{ text: 'Done.' }] })
  })

  it('of a run of another process is answered there', async () => {
    const { served } = await asked()
    let answer = (): void => {}
    const answered = new Promise<'allow'>((resolve) => (answer = () => resolve('allow')))
    let id = ''
    const run = startRun(
      'ask.md',
      { ...served.around, approver: approverOf(() => answered) },
      (event) => (id = event.run_id),
    )
    await expect.poll(() => id, { timeout: 20_000 }).not.toBe('')
    await waits(served, id)
    expect(await served.post(`/api/runs/${id}/approvals/1/approve`)).toMatchObject({ status: 409 })
    answer()
    expect((await run).exitCode).toBe(0)
  })
})
