import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { loadRunSpec } from '../../src/config/run-spec.ts'
import { loadTargetConfig } from '../../src/config/target-config.ts'
import { promptTrustText, readTrusted, trustFile, writeTrusted } from '../../src/config/trust.ts'
import { providerTarget, gatewayTarget } from '../../src/model/choice.ts'
import { parsePrompt } from '../../src/prompt/document.ts'
import { tempTree } from '../helpers/temp.ts'

const hosts = `[providers.openai]\nbase_url = "http://127.0.0.1:9/v1"\n[gateway]\nbase_url = "http://127.0.0.1:8/v1"\n`
const prompt = `+++\nmodel = "x"\n${hosts}+++\nAsk.\n`

function world(files: { readonly [path: string]: string }) {
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const home = tempTree()
  const around = { cwd, home, env: { OPENAI_API_KEY: 'a-key', BATON_GATEWAY_KEY: 'b-key' } }
  const store = trustFile(around)
  const trust = (file: string, hash: string): void =>
    writeTrusted(store, new Map([...readTrusted(store), [join(cwd, file), { hash, keys: ['gateway'], since: '' }]]))
  const config = (): Promise<unknown> => loadTargetConfig({ ...around, flags: { overrides: [] } })
  const spec = (file: string) => loadRunSpec({ ...around, file, flags: { overrides: [] } })
  return { cwd, around, store, trust, config, spec }
}

describe('trusted files', () => {
  it('are used as config until they change', async () => {
    const { cwd, trust, config } = world({ 'baton.toml': hosts })
    await expect(config()).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringContaining('"providers" may not be set by baton.toml'),
      hint: expect.stringContaining('run baton trust baton.toml'),
    })
    trust('baton.toml', sha256(hosts))
    expect(await config()).toMatchObject({ settings: { gateway: { base_url: 'http://127.0.0.1:8/v1' } } })
    writeFileSync(join(cwd, 'baton.toml'), `${hosts}# changed\n`)
    await expect(config()).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringContaining('the file has changed since it was trusted'),
      hint: 'Look at what has changed, then run baton trust baton.toml again.',
    })
  })

  it('may be prompt files, in which an answer below the ==== line is not a change', async () => {
    const { cwd, trust, spec } = world({ 'p.md': prompt })
    await expect(spec('p.md')).rejects.toMatchObject({ code: 'UNTRUSTED' })
    trust('p.md', sha256(promptTrustText(await parsePrompt('p.md', prompt))))
    expect((await spec('p.md')).settings.providers).toHaveProperty('openai')
    writeFileSync(join(cwd, 'p.md'), `${prompt}\n====\n\nan answer\n`)
    expect((await spec('p.md')).settings.providers).toHaveProperty('openai')
    writeFileSync(join(cwd, 'p.md'), prompt.replace(':9/', ':7/'))
    await expect(spec('p.md')).rejects.toMatchObject({ message: expect.stringContaining('has changed') })
  })

  it('have rules of [permission] that count like those of the user', async () => {
    const rules = '[permission]\ntodo = "allow"\n'
    const asked = `+++\n${rules}+++\nAsk.\n`
    const { trust, spec } = world({ 'baton.toml': rules, 'p.md': asked })
    const held = async () => ((await spec('p.md')).settings.permission ?? []).map(({ tightens }) => tightens)
    expect(await held()).toEqual(['baton.toml', 'p.md'])
    trust('baton.toml', sha256(rules))
    expect(await held()).toEqual([undefined, 'p.md'])
    trust('p.md', sha256(promptTrustText(await parsePrompt('p.md', asked))))
    expect(await held()).toEqual([undefined, undefined])
    trust('p.md', 'other')
    expect(await held()).toEqual([undefined, 'p.md'])
  })

  it('never get a key of the environment', async () => {
    const { around, trust, spec } = world({ 'p.md': prompt })
    trust('p.md', sha256(promptTrustText(await parsePrompt('p.md', prompt))))
    const { settings } = await spec('p.md')
    const sources = { ...settings, env: around.env, aliases: {} }
    expect(providerTarget('openai', sources)).toMatchObject({
      baseUrl: 'http://127.0.0.1:9/v1',
      apiKeyEnv: undefined,
      keyRequired: false,
    })
    expect(gatewayTarget(sources)).toMatchObject({ baseUrl: 'http://127.0.0.1:8/v1', apiKeyEnv: undefined })
  })

  it.each([
    '[providers.x]\nbase_url = "http://127.0.0.1:9/"\napi_key_env = "OPENAI_API_KEY"\n',
    '[gateway]\nbase_url = "http://127.0.0.1:9/"\napi_key_env = "OPENAI_API_KEY"\n',
    '[providers.x]\nbase_url = "http://127.0.0.1:9/"\napi_key_command = "cat ~/.key"\n',
    '[gateway]\nbase_url = "http://127.0.0.1:9/"\napi_key_command = "cat ~/.key"\n',
  ])('may not name a key, or a command that prints one, either', async (text) => {
    const { trust, config } = world({ 'baton.toml': text })
    trust('baton.toml', sha256(text))
    await expect(config()).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringContaining('only your own config file decides which key is sent'),
      place: { line: 3 },
    })
  })

  it('are checked like the config of the user', async () => {
    for (const [text, message] of [
      ['[providers.x]\nbase_url = 1\n', 'providers.x.base_url'],
      ['[providers.x]\nbase_url = "http://x.example"\nkeyless = false\n', 'keyless'],
      ['instructions = "auto"\n', 'is not available in this version'],
    ] as const) {
      const { trust, config } = world({ 'baton.toml': text })
      trust('baton.toml', sha256(text))
      await expect(config()).rejects.toThrow(message)
    }
  })

  it('are identified by their path: neither a copy elsewhere is trusted, nor a link', async () => {
    const { cwd, trust, spec } = world({ 'p.md': prompt, 'copy.md': prompt })
    trust('p.md', sha256(promptTrustText(await parsePrompt('p.md', prompt))))
    symlinkSync('p.md', join(cwd, 'link.md'))
    await expect(spec('copy.md')).rejects.toMatchObject({ code: 'UNTRUSTED' })
    await expect(spec('link.md')).rejects.toMatchObject({ code: 'UNTRUSTED' })
    renameSync(join(cwd, 'p.md'), join(cwd, 'moved.md'))
    await expect(spec('moved.md')).rejects.toMatchObject({ code: 'UNTRUSTED' })
  })

  it('are an error when the list of them is damaged, but only if trust is needed', async () => {
    const { cwd, store, config } = world({ 'baton.toml': hosts })
    mkdirSync(join(store, '..'), { recursive: true })
    writeFileSync(store, '{"version":1,"files":{"/x":3}}')
    await expect(config()).rejects.toMatchObject({ code: 'CONFIG_INVALID', place: { file: store } })
    writeFileSync(join(cwd, 'baton.toml'), 'model = "x"\n')
    expect(await config()).toMatchObject({ settings: { model: 'x' } })
    expect(readFileSync(store, 'utf8')).toContain('"/x"')
  })
})

describe('a link', () => {
  it('to a folder with a trusted file does not transfer the trust', async () => {
    const { cwd, store, spec } = world({})
    const other = tempTree({ 'p.md': prompt })
    const entry = { hash: sha256(promptTrustText(await parsePrompt('p.md', prompt))), keys: ['gateway'], since: '' }
    writeTrusted(store, new Map([[join(other, 'p.md'), entry]]))
    expect((await spec(join(other, 'p.md'))).settings.gateway).toBeDefined()
    symlinkSync(other, join(cwd, 'linked'))
    await expect(spec('linked/p.md')).rejects.toMatchObject({ code: 'UNTRUSTED' })
  })

  it.each(['baton.toml', '.baton', '.baton/config.toml', '.aipack/config.toml'])(
    'at %s that leads out of the folder is refused, and nothing of its target is shown',
    async (name) => {
      const outside = tempTree({ 'config.toml': '//registry:_authToken=hidden\n' })
      const { cwd, config } = world({ '.baton/agents/a.md': '', '.aipack/x': '' })
      if (name === '.baton') renameSync(join(cwd, '.baton'), join(cwd, 'old'))
      symlinkSync(name === '.baton' ? outside : join(outside, 'config.toml'), join(cwd, name))
      const error: unknown = await config().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'OUTSIDE_WORKSPACE', message: expect.stringContaining(name) })
      expect(JSON.stringify(error)).not.toContain('hidden')
    },
  )
})
