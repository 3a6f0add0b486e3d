import { describe, expect, it } from 'vitest'
import { createMask } from '../../src/journal/secrets.ts'
import { serverSecrets } from '../../src/journal/server-secrets.ts'

const env = {
  HOME: '/home/ada',
  DOCS: '/srv/docs',
  GITHUB: 'ghp_1234567890',
  DATABASE: 'postgres://ada@db/main',
  SHORT: 'abc',
}

describe('secrets of MCP servers', () => {
  it.each([
    [{ args: ['--db', '${DATABASE}'] }, 'postgres://ada@db/main'],
    [{ env: { TOKEN: '${GITHUB}' } }, 'ghp_1234567890'],
    [{ env: { TOKEN: 'literal-4711' } }, 'literal-4711'],
    [{ headers: { 'X-Key': '${NOT_SET:-}${GITHUB}' } }, 'ghp_1234567890'],
    [{ headers: { Authorization: 'Bearer literal-4711' } }, 'literal-4711'],
    [{ bearer_token_env: 'GITHUB' }, 'ghp_1234567890'],
    [{ url: 'https://host/mcp?k=literal-4711' }, 'literal-4711'],
    [{ url: 'https://host/${GITHUB}/mcp' }, 'ghp_1234567890'],
  ])('are masked: %j', (server, secret) => {
    const mask = createMask(env, serverSecrets({ s: server }, env))
    const masked = mask.mask(`it said ${secret}!`)
    expect(masked).not.toContain(secret)
    expect(mask.unmask(masked)).toBe(`it said ${secret}!`)
  })

  it.each([
    [{ args: ['${HOME}', '${DOCS}', '${SHORT}', '--production'] }, '/home/ada /srv/docs abc --production'],
    [
      { env: { NODE_ENV: 'production', PORT: '12345678', DIR: '/srv/docs/a', API: 'https://api.example/v1' } },
      'production 12345678 /srv/docs/a https://api.example/v1',
    ],
    [{ headers: { Accept: 'application/json2' } }, 'application/json2'],
    [{ url: 'https://host/mcp?mode=readonly' }, 'https://host/mcp?mode=readonly'],
  ])('do not include values that occur in ordinary texts: %j', (server, text) => {
    expect(createMask(env, serverSecrets({ s: server }, env)).mask(text)).toBe(text)
  })
})
