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

describe('a client without the secret', () => {
  it('gets nothing, whatever it sends instead, and a cookie never replaces the secret', async () => {
    const served = await serveTree(tree)
    const host = `Host: 127.0.0.1:${served.serving.port}`
    const right = encodeURIComponent(secret)
    expect(await status(served, [host, bearer])).toBe('200')
    for (const head of [
      '',
      'Authorization: Bearer',
      'Authorization: Bearer x',
      `Authorization: Basic ${secret}`,
      `Authorization: Ticket ${secret}`,
      `Cookie: baton_secret_${served.serving.port}=${right}`,
      `Cookie: secret=${right}`,
      `${bearer}\r\n${bearer}`,
    ]) {
      const refused = expect.stringMatching(/40[01]/)
      expect([head, await status(served, [host, ...(head === '' ? [] : [head])])]).toEqual([head, refused])
    }
    for (const path of ['/openapi', '/openapi.json', '/api/events', '/api/runs', `/api/runs?secret=${right}`, '/none'])
      expect([path, await status(served, [host], path)]).toEqual([path, '401'])
    // however the path is written
    for (const path of [
      '/page/../api/runs',
      '/page/%2e%2e/api/runs',
      '/page\\..\\api/runs',
      '//api/runs',
      '/./api/runs',
    ])
      expect([path, await status(served, [host], path)]).toEqual([path, expect.stringMatching(/40[014]/)])
    expect(await status(served, [host], '/', 'POST')).toBe('401')
    expect(await status(served, [host], 'http://127.0.0.1/page/x')).toBe('400')
  })

  it('gets the files of the page, which contain no data and set no cookie', async () => {
    const page = tempTree({ 'index.html': '<p>page', 'page.js': '1' })
    const served = await serveTree(tree, { page })
    for (const path of ['/', '/page/page.js', `/?secret=${encodeURIComponent(secret)}`]) {
      const answer = await fetch(`${served.serving.url}${path}`)
      expect([path, answer.status, answer.headers.get('set-cookie')]).toEqual([path, 200, null])
    }
  })

  it('is admitted once by the printed address', async () => {
    const served = await serveTree(tree)
    const exchange = (ticket: string) => {
      const headers = { authorization: `Ticket ${ticket}` }
      return fetch(`${served.serving.url}/session`, { method: 'POST', headers })
    }
    const ticket = new URL(served.serving.newAddress()).hash.replace('#ticket=', '')
    const wrong = await exchange(`${ticket}x`)
    expect(wrong.status).toBe(401)
    const answer = await exchange(ticket)
    const { token } = (await answer.json()) as { readonly token: string }
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null])
    expect((await exchange(ticket)).status).toBe(401)
    expect((await exchange(secret)).status).toBe(401)
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${served.serving.url}/api/runs`, { headers })).status).toBe(200)
    // the ticket is not a token, and the token belongs to this server
    const asTicket = { authorization: `Bearer ${ticket}` }
    expect((await fetch(`${served.serving.url}/api/runs`, { headers: asTicket })).status).toBe(401)
    const later = await serveTree({}, { place: served })
    expect((await fetch(`${later.serving.url}/api/runs`, { headers })).status).toBe(401)
  })
})

describe('a page of another origin', () => {
  it('is refused, whatever name it uses for this address', async () => {
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

  it('cannot send a form, because a body must be declared as JSON', async () => {
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

  it('is blocked by headers in every answer, even to malformed requests', async () => {
    const served = await serveTree(tree, { limits: { headMs: 200, requestMs: 400 } })
    const head = `HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\n`
    const json = 'Content-Type: application/json\r\n'
    const requests = {
      200: `GET /api/runs ${head}\r\n`,
      401: `GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n\r\n`,
      404: `GET /none ${head}\r\n`,
      405: `DELETE /api/runs ${head}\r\n`,
      403: 'GET /api/runs HTTP/1.1\r\n\r\n',
      413: `POST /api/runs ${head}${json}Content-Length: 99999999\r\n\r\n`,
      415: `POST /api/runs ${head}Content-Length: 2\r\n\r\n{}`,
      400: 'no request\r\n\r\n',
      431: `GET /api/runs ${head}X: ${'x'.repeat(20_000)}\r\n\r\n`,
      408: 'GET /api/runs HTTP/1.1\r\nHost:',
    }
    for (const [code, text] of Object.entries(requests)) {
      const answer = await raw(served, text)
      expect(answer.slice(9, 12)).toBe(code)
      const headers = answer.toLowerCase()
      expect(headers).toMatch(
        /\r\ncontent-security-policy: default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
      )
      for (const line of ['x-content-type-options: nosniff', 'referrer-policy: no-referrer', 'cache-control: no-store'])
        expect([code, headers]).toEqual([code, expect.stringContaining(`\r\n${line}\r\n`)])
      expect(headers).not.toContain('access-control-allow-origin')
    }
    const late = await raw(served, `POST /api/runs ${head}${json}Content-Length: 9\r\n\r\n{`)
    expect(late).toMatch(/^HTTP\/1.1 408 [^]*content-security-policy/)
  })
})

describe('a path', () => {
  it('leads to no files but those of the page', async () => {
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

  it('leads only to listed runs, and to no part outside of them', async () => {
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

  it('with unknown cursors, or of excessive length, is refused', async () => {
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

describe('a run that another user has placed among the runs', () => {
  it('is marked as such, and cannot be resumed, undone or answered', async () => {
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

  it('of 100 MB is refused by its header, and cut off if the header does not declare it', async () => {
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

  it('that is not JSON, or has another structure, is refused', async () => {
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

describe('a slow client', () => {
  const open = (served: HttpServed): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(served.serving.port, '127.0.0.1', () => resolve(socket))
      socket.on('error', () => {})
      onTestFinished(() => void socket.destroy())
    })
  const gone = (socket: Socket) =>
    new Promise<string>((resolve) => socket.resume().once('close', () => resolve('gone')))

  it('is disconnected after a while, in the header and in the body of a request, and others are served', async () => {
    const served = await serveTree(tree, { limits: { headMs: 100, requestMs: 200 } })
    const silent = await open(served)
    const slow = await open(served)
    slow.write(
      `POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    )
    expect(await Promise.all([gone(silent), gone(slow)])).toEqual(['gone', 'gone'])
    expect((await served.get('/api/runs')).status).toBe(200)
  })

  it('blocks nobody with connections that never send the secret', async () => {
    const served = await serveTree(tree)
    const head = `HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n`
    const stalled = await Promise.all(Array.from({ length: 700 }, () => open(served)))
    for (const socket of stalled) socket.write(`GET /api/runs ${head}`)
    expect((await served.get('/api/runs')).status).toBe(200)
    expect((await served.post('/api/runs', { file: 'say.md' })).status).toBe(202)
  })

  it('blocks nobody with unauthorized bodies, which are not read', async () => {
    const served = await serveTree(tree)
    const head = `HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\nContent-Type: application/json\r\n`
    const sockets = await Promise.all(Array.from({ length: 200 }, () => open(served)))
    const answers = sockets.map(
      (socket) =>
        new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString().slice(9, 12)))),
    )
    for (const socket of sockets) socket.write(`POST /api/runs ${head}Content-Length: 4000000\r\n\r\n{`)
    expect((await served.post('/api/runs', { file: 'say.md' })).status).toBe(202)
    // answered before the body has arrived
    expect(new Set(await Promise.all(answers.slice(-100)))).toEqual(new Set(['401']))
    const expecting = `POST /api/runs ${head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`
    expect((await raw(served, expecting)).slice(9, 12)).toBe('401')
  })

  it('blocks nobody with slow bodies, whatever sizes they announce', async () => {
    const served = await serveTree(tree)
    const head = `HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\nContent-Type: application/json\r\n`
    const slow = await Promise.all(Array.from({ length: 60 }, () => open(served)))
    for (const socket of slow) socket.write(`POST /api/runs ${head}Content-Length: 4000000\r\n\r\n{`)
    expect((await served.get('/api/runs')).status).toBe(200)
    expect((await served.post('/api/runs', { file: 'say.md' })).status).toBe(202)
  })

  it('with large bodies blocks only other large ones', async () => {
    const served = await serveTree(tree, { limits: { bodyBytes: 100_000 } })
    const head = `HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\nContent-Type: application/json\r\n`
    const slow = await open(served)
    slow.write(`POST /api/runs ${head}Content-Length: 4000000\r\n\r\n${' '.repeat(160_000)}`)
    const large = () => served.post('/api/runs', { text: 'x'.repeat(90_000), model: 'none' })
    await expect.poll(async () => (await large()).status, { timeout: 20_000 }).toBe(503)
    expect((await served.post('/api/runs', { file: 'say.md' })).status).toBe(202)
    slow.destroy()
    await expect.poll(async () => (await large()).status, { timeout: 20_000 }).not.toBe(503)
  })

  it('loses its connection when there are too many, unless it has sent the secret', async () => {
    const served = await serveTree(tree, { limits: { connections: 3 } })
    const own = await open(served)
    const heard = new Promise((resolve) => own.once('data', resolve))
    own.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\n\r\n`)
    await heard
    const [first] = [await open(served), await open(served)]
    await open(served)
    expect(await gone(first)).toBe('gone')
    expect((await served.get('/api/runs')).status).toBe(200)
    expect(own.destroyed).toBe(false)
  })

  it('is disconnected when clients with the secret use all connections', async () => {
    const served = await serveTree(tree, { limits: { connections: 2 } })
    const request = `GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${served.serving.port}\r\n${bearer}\r\n\r\n`
    for (const socket of [await open(served), await open(served)]) {
      const heard = new Promise((resolve) => socket.once('data', resolve))
      socket.write(request)
      await heard
    }
    expect(await gone(await open(served))).toBe('gone')
  })
})
