import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { startProxy } from '../helpers/proxy-server.ts'
import { tempTree } from '../helpers/temp.ts'

const prompt = { 'p.md': '+++\nmodel = "m"\n[retry]\nmax_attempts = 1\n+++\nSay it.\n' }
const certificate = join(root, 'test/fixtures/tls/certificate.pem')

it('requests an http: address through HTTP_PROXY, unless NO_PROXY names it', async () => {
  const model = await startModelServer([{ text: 'through the proxy' }])
  onTestFinished(() => model.close())
  const proxy = await startProxy({ 'models.test': Number(new URL(model.url).port) })
  const env = { BATON_GATEWAY_URL: 'http://models.test/v1', HTTP_PROXY: proxy.url }
  const cwd = tempTree(prompt)
  expect(await baton(['p.md', '-q'], { cwd, env })).toMatchObject({ code: 0, stdout: 'through the proxy\n' })
  expect(proxy.asked).toEqual(['POST http://models.test/v1/chat/completions'])
  const direct = await baton(['p.md'], { cwd, env: { ...env, NO_PROXY: 'models.test' } })
  expect(direct).toMatchObject({ code: 1, stderr: expect.stringContaining('could not be resolved') })
  expect(proxy.asked).toHaveLength(1)
})

it('requests an https: address through a tunnel, and trusts the certificates of NODE_EXTRA_CA_CERTS', async () => {
  const key = readFileSync(join(root, 'test/fixtures/tls/key.pem'))
  const server = createServer({ key, cert: readFileSync(certificate) }, (request, response) => {
    request.resume()
    const choices = [{ index: 0, message: { content: 'over TLS' }, finish_reason: 'stop' }]
    response.setHeader('content-type', 'application/json')
    request.once('end', () => response.end(JSON.stringify({ object: 'chat.completion', choices })))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const proxy = await startProxy({ 'behind-proxy.test': (server.address() as AddressInfo).port })
  const env = { BATON_GATEWAY_URL: 'https://behind-proxy.test/v1', HTTPS_PROXY: proxy.url }
  const options = { cwd: tempTree(prompt), process: 'own' } as const
  const trusted = await baton(['p.md', '-q'], { ...options, env: { ...env, NODE_EXTRA_CA_CERTS: certificate } })
  expect(trusted).toMatchObject({ code: 0, stdout: 'over TLS\n', stderr: '' })
  expect(proxy.asked).toEqual(['CONNECT behind-proxy.test:443'])
  const untrusted = await baton(['p.md'], { ...options, env })
  expect(untrusted).toMatchObject({ code: 1, stderr: expect.stringContaining('set NODE_EXTRA_CA_CERTS') })
})

it('names the proxy that refuses a connection, without its password', async () => {
  const proxy = await startProxy({})
  const env = { BATON_GATEWAY_URL: 'https://models.test/v1', HTTPS_PROXY: proxy.url.replace('//', '//me:hunter2@') }
  const { code, stderr } = await baton(['p.md'], { cwd: tempTree(prompt), env })
  expect([code, stderr]).toEqual([1, expect.stringContaining('(HTTPS_PROXY) refused the connection (status 403)')])
  expect(stderr).not.toContain('hunter2')
})

it('shows proxies and certificates in baton doctor', async () => {
  const env = {
    https_proxy: 'http://me:hunter2@proxy.corp:8080',
    NO_PROXY: 'git.corp',
    NODE_EXTRA_CA_CERTS: certificate,
  }
  const { stdout } = await baton(['doctor'], { cwd: tempTree(), env })
  expect(stdout).toContain('https:// addresses are reached through proxy.corp:8080 (https_proxy)')
  expect(stdout).toContain('no proxy for git.corp')
  expect(stdout).toContain(`${certificate} (NODE_EXTRA_CA_CERTS) are trusted`)
  expect(stdout).not.toContain('hunter2')
  const wrong = await baton(['doctor'], {
    cwd: tempTree(),
    env: { HTTP_PROXY: 'socks5://p:1', NODE_EXTRA_CA_CERTS: '/none' },
  })
  expect(wrong.stdout).toContain('HTTP_PROXY is not the address of an HTTP proxy')
  expect(wrong.stdout).toContain('/none (NODE_EXTRA_CA_CERTS) cannot be read')
})
