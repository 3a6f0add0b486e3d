import { execFileSync, spawn } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { maxInlineBytes } from '../../../src/journal/blobs.ts'
import { decodeLine, encodeLine } from '../../../src/journal/record.ts'
import { beginRun } from '../../../src/library/runs.ts'
import * as schemas from '../../../src/serve/http/schemas.ts'
import { makeRun } from '../../history/fixtures.ts'
import { follow, type HttpServed, lastId, rowsOf, serveTree, type ServedOptions } from '../../helpers/http-served.ts'
import { placeAt } from '../../helpers/effects.ts'
import { startToolModel } from '../../helpers/tool-model.ts'

// What a server reports about runs, whichever process works on them.

const asking = '+++\ntemplate = true\nmodel = "m"\ninput_concurrency = 1\n+++\nHi\n'
const writing = {
  'write.md': '+++\nagent = "write.lua"\n+++\nHi\n',
  'write.lua': 'aip.file.save("out.txt", "x\\n"); return "said"',
}

const recorded = (served: HttpServed, file: string, inputs: readonly string[] = []) =>
  beginRun(file, { inputs }, served.around).result

describe('a run that has ended', () => {
  it('is listed, shown with its answer, rows, parts and changes, all valid by their schemas', async () => {
    const served = await serveTree(writing)
    const { runId } = await recorded(served, 'write.md')
    const list = schemas.runList.parse((await served.get('/api/runs')).body)
    expect(list).toMatchObject({ runs: [{ id: runId, status: 'done' }], more: false })
    const detail = schemas.runDetail.parse((await served.get(`/api/runs/${runId}`)).body)
    expect(detail).toMatchObject({
      canResume: false,
      owned: false,
      approvals: [],
      answers: [{ label: 'write.md', text: 'said' }],
      prompt_file: 'write.md',
      text: writing['write.md'],
    })
    const page = schemas.rowPage.parse((await served.get(`/api/runs/${runId}/rows`)).body)
    expect(page.over).toBe(true)
    expect(page.rows.map(({ n, place, kind, state }) => [n, place, kind, state])).toEqual([
      [0, 'task/0', 'task', 'done'],
      [1, 'task/0/ask/chunk', 'section', 'done'],
      [2, 'task/0/ask/chunk#0', 'file', 'done'],
    ])
    const none = schemas.rowPage.parse((await served.get(`/api/runs/${runId}/rows?after=${page.cursor}`)).body)
    expect(none).toEqual({ rows: [], cursor: page.cursor, over: true })
    const place = schemas.placeDetail.parse((await served.get(`/api/runs/${runId}/place?place=task/0`)).body)
    expect(place).toMatchObject({ run: runId, part: { place: 'task/0', status: 'done' } })
    expect((await served.get(`/api/runs/${runId}/place?place=task/7`)).status).toBe(404)
    const { changes } = schemas.changeList.parse((await served.get(`/api/runs/${runId}/changes`)).body)
    expect(changes).toMatchObject([{ path: 'out.txt', kind: 'created', diff: expect.stringContaining('+x') }])
    expect(schemas.teamList.parse((await served.get(`/api/runs/${runId}/team`)).body).teams).toBeNull()
  })

  it('is compared with another one', async () => {
    const served = await serveTree(writing)
    const { runId: a } = await recorded(served, 'write.md')
    writeFileSync(join(served.folder, 'write.lua'), 'return "other"')
    const { runId: b } = await recorded(served, 'write.md')
    const { body } = await served.get(`/api/compare?a=${a}&b=${b}`)
    const { before, after, differences } = schemas.comparison.parse(body)
    expect([before.id, after.id]).toEqual([a, b])
    expect(differences.map(({ kind }) => kind)).toContain('source')
  })

  it('is found by page, state and words', async () => {
    const served = await serveTree({
      ...writing,
      'fails.md': '+++\nagent = "fails.lua"\n+++\nHi\n',
      'fails.lua': 'error("no")',
    })
    const ids: string[] = []
    for (const file of ['write.md', 'fails.md', 'write.md']) ids.push((await recorded(served, file)).runId)
    const [oldest, failed, newest] = ids
    const listed = async (query: string) => {
      const { runs, more } = schemas.runList.parse((await served.get(`/api/runs?${query}`)).body)
      return [runs.map(({ id }) => id), more]
    }
    expect(await listed('limit=2')).toEqual([[newest, failed], true])
    expect(await listed(`limit=2&before=${failed}`)).toEqual([[oldest], false])
    expect(await listed('state=failed')).toEqual([[failed], false])
    expect(await listed('q=WRITE')).toEqual([[newest, oldest], false])
    expect((await served.get('/api/runs?limit=0')).status).toBe(400)
    expect((await served.get('/api/runs?state=gone')).status).toBe(400)
  })
})

describe('a comparison of two large runs', () => {
  const calls = 1_000
  const [a, b] = ['20261122-054821-6780e1', '20261122-054822-6780e2']
  const compare = `/api/compare?a=${a}&b=${b}`

  /** A server with a small run and two large ones whose calls all differ. */
  async function large(options: ServedOptions = {}) {
    const served = await serveTree(writing, options)
    const { runId, folder = '' } = await recorded(served, 'write.md')
    for (const id of [a, b]) {
      const run = await makeRun({ runs: dirname(folder), id })
      const found = [`${id} `.repeat(100)]
      for (let index = 0; index < calls; index += 1)
        run.effects.observe(placeAt(`pre/0:a.lua/chunk#${index}`), { name: 'file.list', args: ['*'] }, () => found)
      await run.end()
    }
    return { served, small: `/api/runs/${runId}` }
  }

  it('is stopped at its limit, with the command for it, and the next comparison gets its turn', async () => {
    const { served, small } = await large({ comparison: { timeMs: 1 } })
    for (const path of [compare, compare]) {
      expect(await served.get(path)).toMatchObject({
        status: 503,
        body: {
          error: {
            message: expect.stringContaining('too large to be compared: it took longer than 1 ms'),
            hint: `Compare them in a terminal: baton runs diff ${a} ${b}`,
          },
        },
      })
    }
    expect((await served.get(small)).status).toBe(200)
  })

  it('does not block other requests', async () => {
    const served = await serveTree(writing)
    const { runId, folder = '' } = await recorded(served, 'write.md')
    for (const id of [a, b]) {
      const run = await makeRun({ runs: dirname(folder), id })
      const found = [id.repeat(maxInlineBytes)]
      run.effects.observe(placeAt('pre/0:a.lua/chunk#0'), { name: 'file.list', args: ['*'] }, () => found)
      await run.end()
    }
    // whoever opens a pipe waits until it is opened for writing: here by this test, which runs in the server's thread
    const blobs = join(dirname(folder), a, 'blobs')
    const pipe = join(blobs, readdirSync(blobs)[0] ?? '')
    rmSync(pipe)
    execFileSync('mkfifo', [pipe])
    // if the server waited itself, nothing else could release it
    const release = spawn('sh', ['-c', 'sleep 25; while sleep 0.1; do : <> "$1"; done', 'sh', pipe], { detached: true })
    onTestFinished(() => void process.kill(-(release.pid ?? 0)))
    let status = 0
    void served.get(compare).then((compared) => (status = compared.status))
    await expect.poll(() => releaseReader(pipe), { timeout: 20_000 }).toBe(true)
    expect((await served.get(`/api/runs/${runId}`)).status).toBe(200)
    await expect.poll(() => [releaseReader(pipe), status].at(-1), { timeout: 20_000 }).toBe(200)
  })
})

/** Opens a pipe for writing if somebody waits to read it. */
function releaseReader(pipe: string): boolean {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK))
    return true
  } catch {
    return false
  }
}

describe('a running run', () => {
  /** A run with three tasks in this process, separate from the server; the second waits. */
  async function going() {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const model = await startToolModel([{ text: 'one' }, { text: 'two', gate }, { text: 'three' }])
    const served = await serveTree({ 'ask.md': asking }, { env: { BATON_GATEWAY_URL: model.url } })
    const run = beginRun('ask.md', { inputs: ['a', 'b', 'c'] }, served.around)
    await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(2)
    const { runs } = schemas.runList.parse((await served.get('/api/runs')).body)
    const id = runs[0]?.id ?? ''
    return { served, run, id, open, events: `/api/runs/${id}/events` }
  }

  it('is followed to its end: changed rows, its state, and its end', async () => {
    const { served, run, open, events } = await going()
    const stream = follow(served, events)
    const states = () => rowsOf(stream.events).flatMap(({ kind, state }) => (kind === 'model' ? [state] : []))
    await expect.poll(states, { timeout: 20_000 }).toEqual(['done', 'running'])
    expect(stream.events.find(({ event }) => event === 'run')?.data).toMatchObject({ status: 'running' })
    open()
    await run.result
    await stream.ended
    expect(states()).toEqual(['done', 'done', 'done'])
    expect(stream.events.slice(-2).map(({ event, data }) => [event, data['status']])).toEqual([
      ['run', 'done'],
      ['over', undefined],
    ])
  })

  it('is followed again after a broken connection, with no event lost or repeated', async () => {
    const { served, run, id, open, events } = await going()
    const first = follow(served, events)
    await expect.poll(() => rowsOf(first.events).length, { timeout: 20_000 }).toBe(4)
    first.leave()
    open()
    await run.result
    const second = follow(served, events, lastId(first.events))
    await second.ended
    const all = (await served.get(`/api/runs/${id}/rows`)).body['rows']
    expect(rowsOf([...first.events, ...second.events])).toEqual(all)
    // what had not changed meanwhile is not sent again
    expect(rowsOf(second.events).map(({ place }) => place)).not.toContain('task/0')
  })

  it('is followed by another server, after the first one was stopped', async () => {
    const { served, run, id, open, events } = await going()
    const first = follow(served, events)
    await expect.poll(() => rowsOf(first.events).length, { timeout: 20_000 }).toBe(4)
    await served.serving.close()
    await first.ended
    open()
    const again = await serveTree(
      {},
      { place: served, env: { BATON_GATEWAY_URL: served.around.env['BATON_GATEWAY_URL'] ?? '' } },
    )
    const second = follow(again, events, lastId(first.events))
    await run.result
    await second.ended
    const all = (await again.get(`/api/runs/${id}/rows`)).body['rows']
    expect(rowsOf([...first.events, ...second.events])).toEqual(all)
    expect(rowsOf(second.events).map(({ place }) => place)).not.toContain('task/0')
  })

  it('is reported to those who follow the list, when it begins and when it ends', async () => {
    const served = await serveTree(writing)
    await recorded(served, 'write.md')
    const stream = follow(served, '/api/events')
    await expect.poll(() => stream.events.length, { timeout: 20_000 }).toBe(1)
    const { runId } = await recorded(served, 'write.md')
    const last = () => stream.events.at(-1)
    await expect.poll(() => last()?.data['status'], { timeout: 20_000 }).toBe('done')
    expect(last()?.data['id']).toBe(runId)
    expect(stream.events[0]?.event).toBe('hello')
    // the earlier run is not sent
    expect(new Set(stream.events.slice(1).map(({ data }) => data['id']))).toEqual(new Set([runId]))
  })
})

describe('a run that was killed', () => {
  it('is shown as ended, and its unfinished work as interrupted', async () => {
    const served = await serveTree(writing)
    const { runId, folder = '' } = await recorded(served, 'write.md')
    const file = join(folder, 'j-000001.jsonl')
    const [first = '', ...lines] = readFileSync(file, 'utf8').split('\n')
    // of a process that has ended, without the end of the file change and everything after it
    const head = { ...decodeLine(Buffer.from(first)), start: 'ticks:1' }
    const cut = lines.findIndex((line) => line.includes('"k":"ended"'))
    writeFileSync(file, `${encodeLine(JSON.stringify(head))}${lines.slice(0, cut).join('\n')}\n`)
    rmSync(join(folder, 'summary.json'))
    rmSync(join(folder, '..', 'index.jsonl'))
    const { rows } = schemas.rowPage.parse((await served.get(`/api/runs/${runId}/rows`)).body)
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['interrupted']))
    appendFileSync(file, 'a line that was torn')
    const stream = follow(served, `/api/runs/${runId}/events`)
    await stream.ended
    expect(rowsOf(stream.events).map(({ state }) => state)).toEqual(rows.map(({ state }) => state))
  })
})

describe('prompt files', () => {
  it('are listed with their descriptions, and shown with their last run', async () => {
    const served = await serveTree({ ...writing, 'README.md': '# No prompt\n', 'lua/module.lua': 'return {}' })
    const { files } = schemas.fileList.parse((await served.get('/api/files')).body)
    expect(files.map(({ path }) => path)).toEqual(['write.lua', 'write.md'])
    const shown = async () => schemas.fileText.parse((await served.get('/api/file?path=write.md')).body)
    expect(await shown()).toEqual({ path: 'write.md', text: writing['write.md'], last: null })
    const { runId } = await recorded(served, 'write.md')
    expect((await shown()).last?.id).toBe(runId)
    expect((await served.get('/api/file?path=README.md')).status).toBe(404)
  })

  it('without front matter have a page once they were run', async () => {
    const served = await serveTree({ 'hello.md': 'Say hello\n', 'README.md': '# No prompt\n' })
    const pathOf = async (path: string) => (await served.get(`/api/file?path=${path}`)).status
    expect([await pathOf('hello.md'), await pathOf('README.md')]).toEqual([404, 404])
    const { runId } = await beginRun('hello.md', { dry: 'req', model: 'm' }, served.around).result
    expect(await served.get('/api/file?path=hello.md')).toMatchObject({
      body: { path: 'hello.md', text: 'Say hello\n', last: { id: runId } },
    })
    expect(await pathOf('README.md')).toBe(404)
  })
})

describe('the routes', () => {
  it('are described for programs, with every schema that is named', async () => {
    const { body } = await (await serveTree({})).get('/openapi.json')
    const named = Object.keys((body['components'] as { readonly schemas: object }).schemas)
    const asked = [...JSON.stringify(body).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = '']) => ref)
    expect(asked.length).toBeGreaterThan(10)
    for (const ref of asked) expect(named.map((name) => `#/components/schemas/${name}`)).toContain(ref)
    expect(Object.keys(body['paths'] as object)).toContain('/api/runs/{id}/approvals/{call}/approve')
  })
})
