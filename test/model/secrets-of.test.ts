import { expect, it } from 'vitest'
import { createMask } from '../../src/journal/secrets.ts'
import { secretsOf } from '../../src/model/choice.ts'

it('masks keys of hosts and secrets in the queries of their addresses', async () => {
  const env = {
    BATON_GATEWAY_URL: 'https://g.example/v1?key=gateway-query-1&api-version=2026-01-01-preview',
    OPENAI_BASE_URL: 'https://o.example/v1?code=a%20code%2Fwith',
    LAB_KEY: 'lab-key-value',
  }
  const settings = {
    secrets: [],
    providers: { lab: { base_url: 'https://l.example/v1?sig=lab-signature', api_key_env: 'LAB_KEY' } },
    gateway: { base_url: 'https://h.example/v1?token=gateway-token' },
  }
  const { hide } = createMask(env, await secretsOf(settings, env))
  expect(hide('gateway-query-1, a code/with, a%20code%2Fwith, lab-signature, gateway-token, lab-key-value')).toBe(
    [
      '«secret:BATON_GATEWAY_URL?key»',
      '«secret:OPENAI_BASE_URL?code»',
      '«secret:OPENAI_BASE_URL?code%»',
      '«secret:providers.lab.base_url?sig»',
      '«secret:gateway.base_url?token»',
      '«secret:LAB_KEY»',
    ].join(', '),
  )
  expect(hide('2026-01-01-preview')).toBe('2026-01-01-preview')
})

it('masks the variables and headers of MCP servers', async () => {
  const settings = { secrets: [], providers: {}, mcp_servers: { files: { env: { TOKEN: 'of-a-server-1' } } } }
  const { hide } = createMask({}, await secretsOf(settings, {}))
  expect(hide('of-a-server-1')).toBe('«secret:mcp_servers.files.env.TOKEN»')
})
