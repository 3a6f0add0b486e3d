import { gunzipSync } from 'node:zlib'
import { request } from 'node:http'
import { expect, it } from 'vitest'
import { beginRun } from '../../../src/library/runs.ts'
import { type HttpServed, secret, serveTree } from '../../helpers/http-served.ts'
import { tempTree } from '../../helpers/temp.ts'

interface Received {
  readonly status: number | undefined
  readonly encoding: string | undefined
  readonly etag: string | undefined
  readonly body: Buffer
}

/** What is received as it is sent; `fetch` would decompress it. */
function received({ serving }: HttpServed, path: string, more: Record<string, string> = {}): Promise<Received> {
  const headers = { authorization: `Bearer ${secret}`, 'accept-encoding': 'gzip, br', ...more }
  return new Promise((resolve, reject) => {
    request(`${serving.url}${path}`, { headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const { statusCode: status, headers: sent } = response
        resolve({ status, encoding: sent['content-encoding'], etag: sent.etag, body: Buffer.concat(chunks) })
      })
    })
      .on('error', reject)
      .end()
  })
}

it('files of the page and JSON are sent compressed, and a known file not again; streams of events as they are', async () => {
  const script = 'export const value = 1\n'.repeat(500)
  const page = tempTree({ 'index.html': '<p>page', 'page.js': script })
  const served = await serveTree(
    { 'say.md': '+++\nagent = "say.lua"\n+++\nHi\n', 'say.lua': 'return "said"' },
    { page },
  )
  const { runId } = await beginRun('say.md', {}, served.around).result
  for (const path of ['/page/page.js', '/openapi.json', `/api/runs/${runId}/report`]) {
    const { encoding, body } = await received(served, path)
    const whole = await received(served, path, { 'accept-encoding': 'identity' })
    expect([path, encoding, whole.encoding]).toEqual([path, 'gzip', undefined])
    expect(body.length).toBeLessThan(whole.body.length / 2)
    expect(gunzipSync(body).toString()).toBe(whole.body.toString())
  }
  const { etag = '' } = await received(served, '/page/page.js')
  const again = await received(served, '/page/page.js', { 'if-none-match': etag })
  expect([again.status, again.body.length]).toEqual([304, 0])
  const stream = await received(served, `/api/runs/${runId}/events`)
  expect(stream.encoding).toBeUndefined()
  expect(stream.body.toString()).toContain('event: over')
})
