import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { textMessage } from '../../src/event/message.ts'
import { type ModelSources, providerTarget } from '../../src/model/choice.ts'
import { createProvider } from '../../src/model/create.ts'
import type { ModelProvider, ModelRequest } from '../../src/model/provider.ts'
import { collectModelEvents, textOf } from '../contract/model-provider.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'

const request: ModelRequest = { model: 'm1', messages: [textMessage('user', 'Hello')] }

let server: ModelServer
let folder: string
beforeEach(async () => {
  server = await startModelServer(() => ({ text: 'Hi' }))
  folder = mkdtempSync(join(tmpdir(), 'baton-account-'))
})
afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

type Table = Partial<ModelSources['providers'][string]>

async function providerOf(table: Table, env: ModelSources['env'] = {}, name = 'lab'): Promise<ModelProvider> {
  const sources = { env, providers: { [name]: { base_url: server.url, ...table } }, aliases: {} }
  const provider = providerTarget(name, sources)
  if (provider === undefined) throw new Error('the provider is known')
  return createProvider({ provider, model: 'm1', label: `${name}::m1` }, { env: { PATH: process.env['PATH'], ...env } })
}

async function ask(provider: ModelProvider): Promise<string> {
  return textOf(await collectModelEvents(provider.stream(request, new AbortController().signal)))
}

function lastRequest(): ModelServer['requests'][number] {
  const found = server.requests.at(-1)
  if (found === undefined) throw new Error('no request has been sent')
  return found
}

describe('a provider of Azure OpenAI', () => {
  const azure = { api_version: '2026-10-21' }

  it('gets the key in its own header, at the path of the deployment, with the API version', async () => {
    const provider = await providerOf({ ...azure, api_key_env: 'AZURE_KEY' }, { AZURE_KEY: 'k-1' })
    expect(await ask(provider)).toBe('Hi')
    const { path, headers } = lastRequest()
    expect(path).toBe('/v1/deployments/m1/chat/completions?api-version=2026-10-21')
    expect(headers['api-key']).toBe('k-1')
    expect(headers).not.toHaveProperty('authorization')
  })

  it('gets the token of a command as a bearer token', async () => {
    expect(await ask(await providerOf({ ...azure, api_key_command: 'echo token-1' }))).toBe('Hi')
    const { headers } = lastRequest()
    expect(headers.authorization).toBe('Bearer token-1')
    expect(headers).not.toHaveProperty('api-key')
  })

  it('gets no header without a key, and long bodies are sent to the deployment too', async () => {
    const provider = await providerOf(azure)
    const long = textMessage('user', 'words '.repeat(100_000))
    await collectModelEvents(provider.stream({ ...request, messages: [long] }, new AbortController().signal))
    const { path, headers, body } = lastRequest()
    expect(path).toBe('/v1/deployments/m1/chat/completions?api-version=2026-10-21')
    expect(Object.keys(headers).filter((name) => name === 'api-key' || name === 'authorization')).toEqual([])
    expect(body?.messages).toEqual([{ role: 'user', content: 'words '.repeat(100_000) }])
  })
})

describe('the organization and the project of an account', () => {
  it('are sent as the config file sets them', async () => {
    await ask(await providerOf({ organization: 'org-1', project: 'proj-1' }))
    expect(lastRequest().headers).toMatchObject({ 'openai-organization': 'org-1', 'openai-project': 'proj-1' })
  })

  it('from variables are sent only to OpenAI', async () => {
    const env = { OPENAI_API_KEY: 'k', OPENAI_ORG_ID: 'org-1', OPENAI_PROJECT_ID: 'proj-1' }
    const own = { env, providers: {}, aliases: {} }
    expect(providerTarget('openai', own)).toMatchObject({ account: { organization: 'org-1', project: 'proj-1' } })
    const moved = { ...own, env: { ...env, OPENAI_BASE_URL: server.url } }
    expect(providerTarget('openai', moved)).not.toHaveProperty('account')
    await ask(await providerOf({}, env, 'openai'))
    expect(lastRequest().headers).not.toHaveProperty('openai-organization')
  })
})

describe('a command that prints the key', () => {
  it.each(['chat', 'anthropic', 'gemini', 'responses'] as const)(
    'runs once for all calls, and its key is sent as the format %s requires',
    async (format) => {
      const log = join(folder, 'log')
      const provider = await providerOf({ format, api_key_command: `echo run >> ${log}; echo secret-key-1` })
      await Promise.allSettled([ask(provider), ask(provider)])
      expect(readFileSync(log, 'utf8')).toBe('run\n')
      const sent = server.requests.map(({ headers }) =>
        Object.values(headers).filter((value) => String(value).includes('secret-key-1')),
      )
      expect(sent.map(({ length }) => length)).toEqual([1, 1])
    },
  )

  it('that fails is reported with its output, before anything is sent, and runs again for the next call', async () => {
    const file = join(folder, 'key')
    const provider = await providerOf({ api_key_command: `cat ${file}` })
    await expect(ask(provider)).rejects.toMatchObject({
      code: 'KEY_MISSING',
      message: expect.stringMatching(
        /^providers\.lab\.api_key_command failed with exit code 1: cat: .*No such file/,
      ) as unknown,
      hint: 'Run the command in a terminal: it has to print the key, and nothing else.',
    })
    expect(server.requests).toEqual([])
    writeFileSync(file, '  key-2\n')
    expect(await ask(provider)).toBe('Hi')
    expect(lastRequest().headers.authorization).toBe('Bearer key-2')
  })

  it('that fails is not shown, and its output is shown without keys and control characters', async () => {
    const said = String.raw`printf 'denied\nerror: \033[31mBearer abcdef123456 sk-live-abcdefgh' >&2`
    const provider = await providerOf({ api_key_command: `TOKEN=hunter2hunter2; ${said}; exit 4` })
    const error: unknown = await ask(provider).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      message: 'providers.lab.api_key_command failed with exit code 4: denied error: [31mBearer «secret» «secret»',
    })
    expect(JSON.stringify(error)).not.toContain('hunter2')
  })

  it('continues for the other calls when the one that started it is cancelled', async () => {
    const [started, go] = [join(folder, 'started'), join(folder, 'go')]
    const line = `touch ${started}; until [ -e ${go} ]; do sleep 0.02; done; echo key-3`
    const provider = await providerOf({ api_key_command: line })
    const first = new AbortController()
    const cancelled = collectModelEvents(provider.stream(request, first.signal))
    await expect.poll(() => existsSync(started)).toBe(true)
    const second = ask(provider)
    first.abort(new Error('cancelled'))
    await expect(cancelled).rejects.toThrow('cancelled')
    writeFileSync(go, '')
    expect(await second).toBe('Hi')
  })

  it.each([
    ['true', 'printed nothing'],
    ['echo two keys', 'printed something that is not one key'],
  ])('is refused if it is `%s`', async (line, what) => {
    await expect(ask(await providerOf({ api_key_command: line }))).rejects.toMatchObject({
      code: 'KEY_REFUSED',
      message: `providers.lab.api_key_command ${what}`,
    })
  })

  it('is not run for a host in a trusted file', async () => {
    await ask(await providerOf({ api_key_command: `touch ${join(folder, 'ran')}; echo k`, keyless: true }))
    expect(lastRequest().headers).not.toHaveProperty('authorization')
  })
})
