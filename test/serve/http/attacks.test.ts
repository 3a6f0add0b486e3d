import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { beginRun } from '../../../src/library/runs.ts'
import { type HttpServed, secret, serveTree } from '../../helpers/http-served.ts'
import { tempTree } from '../../helpers/temp.ts'

// Malicious requests, and clients that stall.

const tree = { 'say.md': '+++\nagent = "say.lua"\n+++\nHi\n', 'say.lua': 'return "said"' }
const bearer = `Authorization: Bearer ${secret}`

/** The head of the answer to a manually written request, without waiting for the rest. */
function raw({ serving }: HttpServed, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(serving.port, '127.0.0.1', () => socket.write(text))
    socket.once('data', (answer) => {
      socket.destroy()
      resolve(answer.toString())
    })
    socket.once('error', reject)
    socket.once('close', () => resolve(''))
  })
}

const status = async (served: HttpServed, head: readonly string[], path = '/api/runs', method = 'GET') =>
  (await raw(served, `${[`${method} ${path} HTTP/1.1`, ...head].join('\r\n')}\r\n\r\n`)).slice(9, 12)

describe('who comes without the secret', () => {
  it('gets nothing, whatever is sent in its place', async () => {
    const served = await serveTree(tree)
    const host = `Host: 127.0.0.1:${served.serving.port}`
    const cookie = `baton_secret_${served.serving.port}`
    const right = encodeURIComponent(secret)
    expect(await status(served, [host, bearer])).toBe('200')
    expect(await status(served, [host, `Cookie: other=1; ${cookie}=${right}`])).toBe('200')
    for (const head of [
      '',
      'Authorization: Bearer',
      'Authorization: Bearer x',
      `Authorization: Basic ${secret}`,
      `Cookie: ${cookie}=`,
      `Cookie: ${cookie}x=${right}`,
      `Cookie: baton_secret_1=${right}`,
    ]) {
      expect([head, await status(served, [host, ...(head === '' ? [] : [head])])]).toEqual([head, '401'])
    }
    for (const path of [
      '/',
      '/page/page.js',
      '/openapi',
      '/openapi.json',
      '/api/events',
      '/?secret=',
      `/?secret=${right}x`,
    ])
      expect([path, await status(served, [host], path)]).toEqual([path, '401'])
    // only the address that the user opens accepts it there
    expect(await status(served, [host], `/api/runs?secret=${right}`)).toBe('401')
  })

  it('is let in by the address that was printed, which is in no address afterwards', async () => {
    const served = await serveTree(tree)
    const answer = await fetch(`${served.serving.url}/?secret=${encodeURIComponent(secret)}`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/'])
    const cookie = answer.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/)
    const [pair = ''] = cookie.split(';')
    expect((await fetch(`${served.serving.url}/api/runs`, { headers: { cookie: pair } })).status).toBe(200)
  })
})

describe('a page of another origin', () => {
  it('is refused, by whatever name it calls this address', async () => {
    const served = await serveTree(tree)
    const { port } = served.serving
    const names = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      `127.0.0.1.evil.example:${port}`,
    ]
    for (const host of [...names, `localhost.:${port}`, `127.0.0.1@evil.example:${port}`, `127.0.0.1#:${port}`, ''])
      expect([host, await status(served, [`Host: ${host}`, bearer])]).toEqual([host, expect.stringMatching(/40[03]/)])
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`])
      expect([host, await status(served, [`Host: ${host}`, bearer])]).toEqual([host, '200'])
    const own = `Host: 127.0.0.1:${port}`
    for (const origin of [
      'null',
      '',
      'https://evil.example',
      `http://localhost:${port}`,
      `http://127.0.0.1:${port + 1}`,
      `https://127.0.0.1:${port}`,
    ])
      expect([origin, await status(served, [own, bearer, `Origin: ${origin}`])]).toEqual([origin, '403'])
    expect(await status(served, [own, bearer, `Origin: http://127.0.0.1:${port}`])).toBe('200')
    for (const site of ['cross-site', 'same-site'])
      expect([site, await status(served, [own, bearer, `Sec-Fetch-Site: ${site}`])]).toEqual([site, '403'])
  })

  it('can send no form, for a body has to say that it is JSON', async () => {
    const served = await serveTree(tree)
    const host = `Host: 127.0.0.1:${served.serving.port}`
    const post = (type: string) =>
      status(served, [host, bearer, `Content-Type: ${type}`, 'Content-Length: 0'], '/api/runs', 'POST')
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      '',
    ])
      expect([type, await post(type)]).toEqual([type, '415'])
    expect(await post('application/json; charset=utf-8')).toBe('400')
  })

  it('finds headers that keep it out of every answer', async () => {
    const served = await serveTree(tree)
    for (const [path, authorization] of [
      ['/api/runs', `Bearer ${secret}`],
      ['/none', `Bearer ${secret}`],
      ['/', 'none'],
    ] as const) {
      const { headers } = await fetch(`${served.serving.url}${path}`, { headers: { authorization } })
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
      )
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('a path', () => {
  it('leads to no file but those of the page', async () => {
    const page = tempTree({ 'page/index.html': '<p>page', 'page/a.js': 'a', 'secret.txt': 'hidden' })
    const served = await serveTree(tree, { page: join(page, 'page') })
    const head = [`Host: 127.0.0.1:${served.serving.port}`, bearer]
    expect(await status(served, head, '/page/a.js')).toBe('200')
    const paths = [
      '../secret.txt',
      '..%2fsecret.txt',
      '%2e%2e/secret.txt',
      '%2e%2e%2fsecret.txt',
      '..%5csecret.txt',
      'a.js%00.html',
      '%00',
      '%',
      '/a.js',
      './',
      '',
      `${join(page, 'secret.txt')}`,
      '....//secret.txt',
    ]
    for (const path of paths) {
      const answer = await raw(served, `GET /page/${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
      expect([path, answer.slice(9, 12)]).toEqual([path, expect.stringMatching(/40[04]/)])
      expect(answer).not.toContain('hidden')
    }
  })

  it('leads to no run but those of the list, and to no part of one outside', async () => {
    const served = await serveTree(tree)
    const { runId, folder = '' } = await beginRun('say.md', {}, served.around).result
    mkdirSync(join(folder, '..', 'x'))
    writeFileSync(join(folder, '..', 'x', 'j-000001.jsonl'), '')
    const ids = [
      'x',
      '../x',
      '..%2fx',
      '%2e%2e%2fx',
      'last',
      runId.slice(0, -1),
      `${runId}%00`,
      `${runId}%2f..%2fx`,
      '%',
      '__proto__',
    ]
    for (const id of ids) {
      for (const what of ['', '/rows', '/events', '/changes', '/team', '/place?place=task/0']) {
        const { status: answered } = await fetch(`${served.serving.url}/api/runs/${id}${what}`, {
          headers: { authorization: `Bearer ${secret}` },
        })
        expect([id, what, answered]).toEqual([id, what, 404])
      }
    }
    expect((await served.get(`/api/compare?a=${runId}&b=..%2fx`)).status).toBe(404)
    expect((await served.post(`/api/runs/..%2fx/undo`)).status).toBe(404)
    for (const path of ['../say.md', '/etc/passwd', 'say.md%00', './say.md'])
      expect([path, (await served.get(`/api/file?path=${path}`)).status]).toEqual([path, expect.toBeOneOf([400, 404])])
  })

  it('with cursors that nobody has sent, or with more than fits, is refused', async () => {
    const served = await serveTree(tree)
    const { runId } = await beginRun('say.md', {}, served.around).result
    for (const cursor of ['x', '1', '-1.0', '1.1e9', '1.99999999999999', '1.1.1'])
      expect([cursor, (await served.get(`/api/runs/${runId}/rows?after=${cursor}`)).status]).toEqual([cursor, 400])
    // a position in lost records: everything is sent again
    const { rows } = (await served.get(`/api/runs/${runId}/rows?after=7.1`)).body
    expect(rows).toEqual((await served.get(`/api/runs/${runId}/rows`)).body['rows'])
    expect((await served.get(`/api/runs?q=${'x'.repeat(1000)}`)).status).toBe(400)
    const head = [`Host: 127.0.0.1:${served.serving.port}`, bearer]
    expect(await status(served, head, `/api/runs?q=${'x'.repeat(100_000)}`)).toMatch(/431|400|414/)
    expect((await served.get('/api/runs')).status).toBe(200)
  })
})

describe('a run that somebody else has put among the runs', () => {
  it('is shown as such, and neither resumed nor put back nor answered', async () => {
    const files = { ...tree, 'fails.md': '+++\nagent = "fails.lua"\n+++\nHi\n', 'fails.lua': 'error("no")' }
    const [served, other] = [await serveTree(files), await serveTree(files)]
    const { runId, folder = '' } = await beginRun('say.md', {}, served.around).result
    const planted = await beginRun('fails.md', {}, other.around).result
    cpSync(planted.folder ?? '', join(folder, '..', planted.runId), { recursive: true })
    const { runs } = (await served.get('/api/runs')).body as {
      readonly runs: readonly { readonly id: string; readonly foreign?: true }[]
    }
    expect(runs.map(({ id, foreign }) => [id, foreign]).toSorted()).toEqual(
      [
        [runId, undefined],
        [planted.runId, true],
      ].toSorted(),
    )
    const path = `/api/runs/${planted.runId}`
    expect((await served.get(path)).body).toMatchObject({ run: { foreign: true }, canResume: false })
    expect((await served.post(`${path}/undo`)).status).toBe(403)
    expect((await served.post(`${path}/approvals/1/approve`)).status).toBe(403)
    expect((await served.post(`${path}/resume`)).status).toBe(403)
  })
})

describe('a body', () => {
  const post = (served: HttpServed, more: string) =>
    `POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\nContent-Type: application/json\r\n${more}`

  it('of 100 MB is refused by its head, and cut off where the head does not say it', async () => {
    const served = await serveTree(tree)
    const size = 100 * 1024 * 1024
    expect(await raw(served, post(served, `Content-Length: ${size}\r\n\r\n`))).toContain('413')
    const before = process.memoryUsage().rss
    const sent = await new Promise<number>((resolve) => {
      const chunk = Buffer.alloc(64 * 1024, 'x')
      let written = 0
      const socket = connect(served.serving.port, '127.0.0.1', () => {
        socket.write(post(served, 'Transfer-Encoding: chunked\r\n\r\n'))
        const more = (): void => {
          while (!socket.destroyed && written < size) {
            written += chunk.length
            if (!socket.write(Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]))) return
          }
        }
        socket.on('drain', more)
        more()
      })
      socket.on('error', () => undefined).on('data', () => socket.destroy())
      socket.on('close', () => resolve(written))
    })
    expect(sent).toBeLessThan(size)
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
    expect((await served.get('/api/runs')).status).toBe(200)
  })

  it('that is no JSON, or of another form, is refused', async () => {
    const served = await serveTree(tree)
    const send = async (body: string) => {
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
      return (await fetch(`${served.serving.url}/api/runs`, { method: 'POST', headers, body })).status
    }
    for (const body of [
      '{',
      'null',
      '[]',
      '""',
      '',
      '['.repeat(100_000),
      `{"file":"say.md","input":${'['.repeat(9000)}${']'.repeat(9000)}}`,
      '{"file":1}',
      '{"__proto__":{"file":"say.md"}}',
    ])
      expect([body.slice(0, 40), await send(body)]).toEqual([body.slice(0, 40), 400])
  })
})

describe('a client that does not get on', () => {
  const open = (served: HttpServed): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(served.serving.port, '127.0.0.1', () => resolve(socket))
      socket.on('error', () => {})
      onTestFinished(() => void socket.destroy())
    })
  const gone = (socket: Socket) =>
    new Promise<string>((resolve) => socket.resume().once('close', () => resolve('gone')))

  it('is left after a while, in the head and in the body of a request, and others are served', async () => {
    const served = await serveTree(tree, { limits: { headMs: 100, requestMs: 200 } })
    const silent = await open(served)
    const slow = await open(served)
    slow.write(
      `POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    )
    expect(await Promise.all([gone(silent), gone(slow)])).toEqual(['gone', 'gone'])
    expect((await served.get('/api/runs')).status).toBe(200)
  })

  it('is cut off where there are too many connections', async () => {
    const served = await serveTree(tree, { limits: { connections: 2 } })
    await Promise.all([open(served), open(served)])
    expect(await gone(await open(served))).toBe('gone')
  })
})
