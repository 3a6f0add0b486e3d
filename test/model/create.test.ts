import { textMessage } from '../../src/event/message.ts'
import { afterEach, expect, it } from 'vitest'
import type { HostTarget, ModelChoice } from '../../src/model/choice.ts'
import { createProvider } from '../../src/model/create.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import { commonQuirks } from '../../src/model/wire/format.ts'
import { collectModelEvents, textOf } from '../contract/model-provider.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'

const never = new AbortController().signal
const messages = [textMessage('user', 'Hello')]

const servers: ModelServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

function choiceOf(host: Partial<HostTarget>): ModelChoice {
  return {
    provider: {
      kind: 'host',
      name: 'mine',
      format: 'chat',
      quirks: commonQuirks,
      isFree: false,
      baseUrl: 'https://models.invalid/v1',
      apiKeyEnv: 'MY_KEY',
      keyRequired: true,
      headers: {},
      ...host,
    },
    model: 'tiny',
    label: 'mine::tiny',
  }
}

it('creates the provider of a choice, with the key of the environment', async () => {
  const server = await startModelServer([{ text: 'Hi there' }])
  servers.push(server)
  const choice = choiceOf({ baseUrl: server.url, headers: { 'X-Team': 'red' } })
  const provider = await createProvider(choice, { env: { MY_KEY: ' k-77\n' } })
  expect(provider.name).toBe('mine')
  expect(textOf(await collectModelEvents(provider.stream({ model: 'tiny', messages }, never)))).toBe('Hi there')
  expect(server.requests[0]).toMatchObject({
    headers: { authorization: 'Bearer k-77', 'x-team': 'red' },
    body: { model: 'tiny' },
  })
})

it('creates a provider without a key when none is needed', async () => {
  const server = await startModelServer([{ text: 'Hi there' }])
  servers.push(server)
  const provider = await createProvider(choiceOf({ baseUrl: server.url, keyRequired: false }), { env: {} })
  await collectModelEvents(provider.stream({ model: 'tiny', messages }, never))
  expect(server.requests[0]?.headers).not.toHaveProperty('authorization')
})

it('is KEY_MISSING when a key is needed and its variable is not set, before anything is sent', async () => {
  const error: unknown = await createProvider(choiceOf({}), { env: { MY_KEY: '' } }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({
    code: 'KEY_MISSING',
    message: 'tiny: models.invalid needs a key, and MY_KEY is not set',
    hint: expect.stringContaining('MY_KEY') as string,
  })
  expect(modelFailureOf(error)).toMatchObject({ class: 'auth', retryable: false })
})

it('is KEY_REFUSED for a key that is invalid in a header, without showing it', async () => {
  const env = { MY_KEY: 'abc…def' }
  const error: unknown = await createProvider(choiceOf({}), { env }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'KEY_REFUSED' })
  expect(String(error)).not.toContain('abc')
})

it('creates the offline model without any key', async () => {
  const choice = { provider: { kind: 'offline' }, model: 'extractive', label: 'offline::extractive' } as const
  expect((await createProvider(choice, { env: {} })).name).toBe('offline')
})
