import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { readOverrides } from '../../src/config/target-config.ts'
import { rulesOf } from '../../src/config/permission-rules.ts'
import { parseOverride } from '../../src/config/override.ts'
import { describeOrigins, type Layer, mergeLayers, originText } from '../../src/config/layers.ts'

function layer(name: string, values: JsonObject): Layer {
  const { permission } = values
  const rules = permission === undefined ? {} : { rules: rulesOf(permission, { origin: name }) }
  return { origin: { kind: 'flag', name }, values, ...rules }
}

describe('merging', () => {
  it('lets later layers override and replaces lists', () => {
    const { values } = mergeLayers([
      layer('a', { model: 'x', context_globs: ['a', 'b'] }),
      layer('b', { model: 'y', context_globs: ['c'] }),
    ])
    expect(values).toStrictEqual({ model: 'y', context_globs: ['c'] })
  })

  it('merges aliases, providers, lua and runs key by key', () => {
    const { values } = mergeLayers([
      layer('a', {
        lua: { timeout: '1s', memory_mb: 1 },
        model_aliases: { a: 'x' },
        providers: { p: { base_url: 'u' } },
      }),
      layer('b', { lua: { timeout: '2s' }, model_aliases: { b: 'y' }, providers: { q: { base_url: 'v' } } }),
    ])
    expect(values).toStrictEqual({
      lua: { timeout: '2s', memory_mb: 1 },
      model_aliases: { a: 'x', b: 'y' },
      providers: { p: { base_url: 'u' }, q: { base_url: 'v' } },
    })
  })

  it('tracks the layer of each value', () => {
    const { origins } = mergeLayers([
      layer('a', { model: 'x', lua: { timeout: '1s', memory_mb: 1 } }),
      layer('b', { model: 'y', lua: { timeout: '2s' } }),
    ])
    expect(origins.map(({ path, layer: { origin } }) => `${path.join('.')} ${originText(origin)}`)).toEqual([
      'model b',
      'lua.timeout b',
      'lua.memory_mb a',
    ])
  })
})

describe('origins', () => {
  it('are shown sorted, and addresses without user, password and query', async () => {
    const { origins } = mergeLayers([
      layer('-c seed', { seed: 1 }),
      layer('u', {
        gateway: { base_url: 'https://me:secret@host/v1?key=secret', api_key_env: 'K' },
        secrets: ['TOKEN'],
      }),
    ])
    expect(await describeOrigins({ origins })).toStrictEqual([
      { key: 'gateway', value: { base_url: 'https://host/v1', api_key_env: 'K' }, origin: 'u' },
      { key: 'secrets', value: ['TOKEN'], origin: 'u' },
      { key: 'seed', value: 1, origin: '-c seed' },
    ])
  })
})

describe('-c key=value', () => {
  it.each<[string, JsonObject]>([
    ['temperature=0.2', { temperature: 0.2 }],
    ['model="m"', { model: 'm' }],
    ['model=gpt-5-mini', { model: 'gpt-5-mini' }],
    ['model = a=b', { model: 'a=b' }],
    ['model=', { model: '' }],
    ['lua.timeout=5s', { lua: { timeout: '5s' } }],
    ['lua.memory_mb=64', { lua: { memory_mb: 64 } }],
    ['context_globs=["a", "b"]', { context_globs: ['a', 'b'] }],
    ['model_aliases."a b"=x y', { model_aliases: { 'a b': 'x y' } }],
    ['model=one\nseed = 1', { model: 'one\nseed = 1' }],
    ['model=a"b\\c\td', { model: 'a"b\\c\td' }],
    ['model=a\u007F\u2028b', { model: 'a\u007F\u2028b' }],
    ['model=one\r\ntwo"', { model: 'one\r\ntwo"' }],
  ])('parses %j as %j', async (text, values) => {
    expect(await parseOverride(text)).toStrictEqual(values)
  })

  it.each(['model', '=x', 'a b=1', 'a\nb=1', '.x=1'])('refuses %j', async (text) => {
    const error: unknown = await parseOverride(text).catch((reason: unknown) => reason)
    expect(isBatonError(error) && error).toMatchObject({ code: 'USAGE', message: `-c ${text} is not key=value` })
  })

  async function issues(...overrides: readonly string[]): Promise<readonly string[]> {
    const { issues: found } = await readOverrides(overrides, { userFile: '~/config.toml' })
    return found.map(({ code, message, hint, place }) => `${place?.file}: ${code} ${message} | ${hint}`)
  }

  it('checks keys and types', async () => {
    expect(await issues('modle=x', 'temperature=hot', 'delegate={}', 'name=x')).toEqual([
      '-c modle: USAGE unknown key "modle" | Did you mean "model"?',
      '-c temperature: CONFIG_INVALID "temperature" must be a number from 0 to 2, not "hot" | Write a number from 0 to 2.',
      '-c delegate: USAGE "delegate" can only be set in a prompt file | Move it into the front matter.',
      '-c name: USAGE "name" can only be set in a prompt file | Move it into the front matter.',
    ])
  })

  it('refuses the destination of keys, and does not repeat what may be a key', async () => {
    expect(await issues('providers.a.api_key=sk-123')).toEqual([
      '-c providers.a.api_key: USAGE "providers" cannot be set by -c | Set it in your config file ~/config.toml.',
    ])
  })

  it('lets later ones win', async () => {
    const { layers } = await readOverrides(['seed=1', 'seed=2'], { userFile: 'u' })
    expect(mergeLayers(layers).values).toStrictEqual({ seed: 2 })
  })
})

describe('rules of [permission]', () => {
  it('of all layers are one list, in order, each with its origin', () => {
    const { values } = mergeLayers([
      layer('a', { permission: { bash: 'ask', read: { 'x/**': 'deny' } } }),
      { ...layer('b', { permission: { bash: 'deny' } }), rules: [{ tool: 'bash', effect: 'deny', origin: 'b:3' }] },
      layer('c', { permission: { bash: { 'npm test*': 'allow', 'rm *': 'deny' } } }),
    ])
    expect(values).toStrictEqual({
      permission: [
        { tool: 'bash', effect: 'ask', origin: 'a' },
        { tool: 'read', pattern: 'x/**', effect: 'deny', origin: 'a' },
        { tool: 'bash', effect: 'deny', origin: 'b:3' },
        { tool: 'bash', pattern: 'npm test*', effect: 'allow', origin: 'c' },
        { tool: 'bash', pattern: 'rm *', effect: 'deny', origin: 'c' },
      ],
    })
    expect(mergeLayers([layer('a', { seed: 1 })]).values).toStrictEqual({ seed: 1 })
  })

  it.each<readonly [text: string, permission: JsonObject]>([
    ['permission.todo=ask', { todo: 'ask' }],
    ['permission.todo="ask"', { todo: 'ask' }],
    ['permission."*" = deny', { '*': 'deny' }],
    ['permission.*=deny', { '*': 'deny' }],
    ['permission.bash.npm test*=allow', { bash: { 'npm test*': 'allow' } }],
    ['permission.bash."npm test*"=allow', { bash: { 'npm test*': 'allow' } }],
    [`permission.bash.'say "hi"*'=allow`, { bash: { 'say "hi"*': 'allow' } }],
    ['permission.bash.say "hi" and "ho"=allow', { bash: { 'say "hi" and "ho"': 'allow' } }],
    ['permission.bash.A=1 npm test=ask', { bash: { 'A=1 npm test': 'ask' } }],
    ['permission.webfetch.api.example.com=allow', { webfetch: { 'api.example.com': 'allow' } }],
    ['permission.webfetch.localhost:8080=allow', { webfetch: { 'localhost:8080': 'allow' } }],
    ['permission.read.src/**/*.ts=allow', { read: { 'src/**/*.ts': 'allow' } }],
    ['permission.read.~/notes/**=allow', { read: { '~/notes/**': 'allow' } }],
    ['permission.server__tool=allow', { server__tool: 'allow' }],
    ['permission.bash={"git *" = "allow", "git push*" = "deny"}', { bash: { 'git *': 'allow', 'git push*': 'deny' } }],
    ['permission={todo = "ask"}', { todo: 'ask' }],
    ['permission.todo=maybe', { todo: 'maybe' }],
  ])('are set by -c %s', async (text, permission) => {
    expect(await parseOverride(text)).toStrictEqual({ permission })
  })

  it('set by -c are checked, and named without their value', async () => {
    const { layers, issues } = await readOverrides(
      ['permission.bash.A=1 x=allow', 'permission.todo=maybe', 'permission.read.src=nothing'],
      { userFile: '~/config.toml' },
    )
    expect(layers.map(({ origin }) => originText(origin))).toEqual([
      '-c permission.bash.A=1 x',
      '-c permission.todo',
      '-c permission.read.src',
    ])
    expect(issues.map(({ message }) => message)).toEqual([
      '"permission.todo" must be "allow", "ask", "deny", or a table of them by pattern, not "maybe"',
      '"permission.read.src" must be one of "allow", "ask", "deny", not "nothing"',
    ])
  })
})
