import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { WireFormatName } from '../../src/event/message.ts'

/** How to call aimock in a wire format. */
export interface AimockHost {
  readonly format: WireFormatName
  /** Paths below its address. */
  readonly root: string
  readonly model: string
}

/** Each wire format once. */
export const aimockHosts: readonly AimockHost[] = [
  { format: 'chat', root: '/v1', model: 'gpt-4o' },
  { format: 'responses', root: '/v1', model: 'gpt-5' },
  { format: 'anthropic', root: '/v1', model: 'claude-sonnet-4-5' },
  { format: 'gemini', root: '/v1beta', model: 'gemini-2.5-flash' },
]

/**
 * An independent implementation of model servers, for the tests of a file; each test starts without answers and
 * requests.
 */
export function useAimock(): LLMock {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  beforeAll(() => mock.start())
  afterAll(() => mock.stop())
  beforeEach(() => {
    mock.clearFixtures()
    mock.clearRequests()
    mock.clearChaos()
  })
  return mock
}

/** A config with the provider `mock` pointing to it, and the environment with its key. */
export function aimockProvider(
  mock: LLMock,
  { format, root }: AimockHost,
): { readonly config: string; readonly env: { readonly MOCK_KEY: string } } {
  const config = `[providers.mock]\nbase_url = "${mock.url}${root}"\nformat = "${format}"\napi_key_env = "MOCK_KEY"\n`
  return { config, env: { MOCK_KEY: 'mock-key' } }
}
