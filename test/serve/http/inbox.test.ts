import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { noteRunOrder } from '../../../src/journal/find-run.ts'
import { beginRun } from '../../../src/library/runs.ts'
import * as schemas from '../../../src/serve/http/schemas.ts'
import { follow, type HttpServed, serveTree } from '../../helpers/http-served.ts'
import { callsTools, startToolModel } from '../../helpers/tool-model.ts'

// What waits for a person, in all runs of a workspace.

const steps = { todos: [{ content: 'Look', status: 'pending' }] }
const program = join(import.meta.dirname, '../../fixtures/mcp/stdio.mjs')
const servers = `[mcp_servers.test]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(program)}]\n`

const inboxOf = async ({ get }: HttpServed) => schemas.inbox.parse((await get('/api/inbox')).body)
const itemsOf = async (served: HttpServed) => (await inboxOf(served)).items
const detailOf = async ({ get }: HttpServed, id: string) => schemas.runDetail.parse((await get(`/api/runs/${id}`)).body)
const begun = async ({ post }: HttpServed, body: unknown): Promise<string> =>
  String((await post('/api/runs', body)).body['id'])
const isOver = (served: HttpServed, id: string) =>
  expect.poll(async () => (await detailOf(served, id)).owned, { timeout: 20_000 }).toBe(false)

describe('the inbox', () => {
  it('has a run while it waits for approval, also in the list and as an event, and no longer afterwards', async () => {
    const model = await startToolModel([callsTools(['todo', steps]), { text: 'Done.' }])
    const served = await serveTree(
      { 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nHi\n' },
      { env: { BATON_GATEWAY_URL: model.url } },
    )
    expect(await inboxOf(served)).toMatchObject({ workspace: { folder: served.folder }, items: [] })
    const stream = follow(served, '/api/events')
    await expect.poll(() => stream.events.length, { timeout: 20_000 }).toBe(1)
    const id = await begun(served, { file: 'ask.md' })
    await expect.poll(() => itemsOf(served), { timeout: 20_000 }).toHaveLength(1)
    const seen = () => stream.events.map(({ data }) => data['status'])
    await expect.poll(seen, { timeout: 20_000 }).toContain('waiting')
    expect(await itemsOf(served)).toMatchObject([
      { approvals: 1, questions: 0, uncertain: 0, run: { id, status: 'waiting', waits: 1, name: 'ask.md' } },
    ])
    const listed = async (state: string) =>
      schemas.runList.parse((await served.get(`/api/runs?state=${state}`)).body).runs.map((run) => run.id)
    expect([await listed('waiting'), await listed('running'), await listed('failed,waiting')]).toEqual([[id], [], [id]])
    await served.post(`/api/runs/${id}/approvals/1/approve`)
    await isOver(served, id)
    expect(await itemsOf(served)).toEqual([])
  })

  it('has the question of an MCP server, with its form, and names the fields that are wrong', async () => {
    const served = await serveTree(
      { 'who.lua': 'return aip.mcp.call("test", "ask", {}).text', 'who.md': '+++\nagent = "who.lua"\n+++\nHi\n' },
      { config: servers },
    )
    const id = await begun(served, { file: 'who.md' })
    await expect.poll(() => itemsOf(served), { timeout: 20_000 }).toHaveLength(1)
    expect(await itemsOf(served)).toMatchObject([{ approvals: 0, questions: 1, run: { status: 'waiting' } }])
    expect(await detailOf(served, id)).toMatchObject({
      run: { status: 'waiting' },
      questions: [
        { id: '1', server: 'test', asker: '', kind: 'form', message: 'Who are you?', schema: { required: ['name'] } },
      ],
    })
    const answer = (body: unknown) => served.post(`/api/runs/${id}/questions/1`, body)
    expect(await answer({ action: 'accept', content: {} })).toMatchObject({
      status: 400,
      body: { error: { message: 'name is required', fields: [{ field: 'content.name', message: 'is required' }] } },
    })
    expect(await answer({ action: 'accept', content: { name: 'Ada' } })).toMatchObject({ status: 200 })
    await isOver(served, id)
    expect((await detailOf(served, id)).answers).toMatchObject([
      { text: '{"action":"accept","content":{"name":"Ada"}}' },
    ])
    expect(await answer({ action: 'decline' })).toMatchObject({ status: 409 })
  })

  it('has a suspended run of another process until its call is answered', async () => {
    const model = await startToolModel([callsTools(['todo', steps]), { text: 'Done.' }])
    const served = await serveTree(
      { 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nHi\n' },
      { env: { BATON_GATEWAY_URL: model.url } },
    )
    const { runId } = await beginRun('ask.md', { approve: () => 'suspend' }, served.around).result
    expect(await itemsOf(served)).toMatchObject([{ approvals: 1, run: { id: runId, status: 'waiting_for_approval' } }])
    await served.post(`/api/runs/${runId}/approvals/1/reject`)
    expect(await itemsOf(served)).toEqual([])
  })
})

it('has a run that waits, however many there were after it, and its change is an event of the list', async () => {
  const model = await startToolModel([callsTools(['todo', steps]), { text: 'Done.' }])
  const served = await serveTree(
    { 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nHi\n' },
    { env: { BATON_GATEWAY_URL: model.url } },
  )
  const { runId, folder = '' } = await beginRun('ask.md', { approve: () => 'suspend' }, served.around).result
  const summary = JSON.parse(readFileSync(join(folder, 'summary.json'), 'utf8')) as object
  for (let number = 0; number < 1_001; number += 1) {
    const id = `20991231-000000-${number.toString(16).padStart(9, '0')}`
    const later = join(folder, '..', id)
    mkdirSync(later)
    writeFileSync(join(later, 'summary.json'), JSON.stringify({ ...summary, id, status: 'done', exit: 0 }))
    noteRunOrder(later)
  }
  const stream = follow(served, '/api/events')
  await expect.poll(() => stream.events.length, { timeout: 20_000 }).toBe(1)
  expect(await itemsOf(served)).toMatchObject([{ approvals: 1, run: { id: runId } }])
  await served.post(`/api/runs/${runId}/approvals/1/approve`)
  expect(await served.post(`/api/runs/${runId}/resume`)).toMatchObject({ status: 202 })
  const seen = () => stream.events.flatMap(({ data: { id, status } }) => (id === runId ? [status] : []))
  await expect.poll(seen, { timeout: 20_000 }).toContain('done')
  expect(await itemsOf(served)).toEqual([])
})

describe('a form', () => {
  const tree = {
    'greet.md': `+++
name = "Greet"
description = "Greets somebody."
agent = "greet.lua"
[input.language]
description = "Which one"
required = true
enum = ["de", "en"]
[input.times]
type = "integer"
default = 2
+++
Hi
`,
    'greet.lua': 'aip.file.save("out.txt", "x\\n"); return "said"',
  }

  it('describes the variables of a file, and a refused value is named by its field', async () => {
    const served = await serveTree(tree)
    const { body } = await served.get('/api/form?path=greet.md')
    expect(schemas.runForm.parse(body)).toMatchObject({
      title: 'Greet',
      description: 'Greets somebody.',
      takesInputs: true,
      variables: {
        required: ['language'],
        properties: {
          language: { type: 'string', enum: ['de', 'en'], description: 'Which one' },
          times: { type: 'integer', default: 2 },
        },
      },
    })
    const start = (vars: object) => served.post('/api/runs', { file: 'greet.md', vars })
    expect(await start({ language: 'fr', times: 'often', tone: 'x' })).toMatchObject({
      status: 400,
      body: {
        error: {
          fields: [
            { field: 'vars.tone', message: 'is not a variable of this file' },
            { field: 'vars.language', message: 'must be one of "de", "en"' },
            { field: 'vars.times', message: 'must be a whole number' },
          ],
        },
      },
    })
    expect(await start({})).toMatchObject({ body: { error: { fields: [{ field: 'vars.language' }] } } })
    expect(await served.post('/api/runs', { file: 'greet.md', max_cost: -1 })).toMatchObject({
      body: { error: { fields: [{ field: 'max_cost' }] } },
    })
    expect(await served.get('/api/form?path=none.md')).toMatchObject({ status: 400 })
    expect(schemas.choices.parse((await served.get('/api/choices')).body).modes).toContain('code')
  })

  it('can be filled with what an earlier run was given, and only a run that has changed files can be undone', async () => {
    const served = await serveTree(tree)
    const asked = {
      file: 'greet.md',
      vars: { language: 'de', times: '3' },
      mode: 'classic',
      max_cost: 0.5,
      dry: 'changes',
    }
    const id = await begun(served, asked)
    await isOver(served, id)
    const { again, canUndo } = await detailOf(served, id)
    expect([again, canUndo]).toEqual([asked, false])
    const next = await begun(served, { ...asked, dry: undefined })
    await isOver(served, next)
    expect(readFileSync(join(served.folder, 'out.txt'), 'utf8')).toBe('x\n')
    expect((await detailOf(served, next)).canUndo).toBe(true)
    await served.post(`/api/runs/${next}/undo`)
    expect((await detailOf(served, next)).canUndo).toBe(false)
  })
})
