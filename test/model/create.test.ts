import { afterEach, expect, it } from 'vitest'
import { createProvider } from '../../src/model/create.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import { selectModel } from '../../src/model/select.ts'
import { collectModelEvents, textOf } from '../contract/model-provider.ts'
import { startModelServer, type ModelServer } from '../helpers/model-server.ts'

const never = new AbortController().signal
const messages = [{ role: 'user', content: 'Hello' }] as const

const servers: ModelServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

it('makes the provider of a choice, with the key of the environment', async () => {
  const server = await startModelServer([{ text: 'Hi there' }])
  servers.push(server)
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: ' k-77\n' }
  const choice = selectModel('tiny', { env, providers: {}, aliases: {} })
  const provider = await createProvider(choice, { env })
  expect(textOf(await collectModelEvents(provider.stream({ model: choice.model, messages }, never)))).toBe('Hi there')
  expect(server.requests[0]).toMatchObject({ headers: { authorization: 'Bearer k-77' }, body: { model: 'tiny' } })
})

it('is KEY_MISSING when a key is needed and its variable is not set, before anything is sent', async () => {
  const choice = selectModel('gpt-5-mini', { env: {}, providers: {}, aliases: {} })
  const error: unknown = await createProvider(choice, { env: { OPENAI_API_KEY: '' } }).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({
    code: 'KEY_MISSING',
    message: 'gpt-5-mini: api.openai.com needs a key, and OPENAI_API_KEY is not set',
    hint: expect.stringContaining('OPENAI_API_KEY') as string,
  })
  expect(modelFailureOf(error)).toMatchObject({ class: 'auth', retryable: false })
})

it('is KEY_REFUSED for a key that no header can carry, without showing it', async () => {
  const env = { OPENAI_API_KEY: 'abc…def' }
  const choice = selectModel('gpt-5-mini', { env, providers: {}, aliases: {} })
  const error: unknown = await createProvider(choice, { env }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'KEY_REFUSED' })
  expect(String(error)).not.toContain('abc')
})

it('makes the offline model without any key', async () => {
  const provider = await createProvider(selectModel(undefined, { env: {}, providers: {}, aliases: {} }), { env: {} })
  expect(provider.name).toBe('offline')
})
