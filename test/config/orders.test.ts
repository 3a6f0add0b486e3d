import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { orderOf, reserved } from '../../src/settings/keys.ts'
import type { Rule, SettingRow } from '../../src/settings/setting.ts'
import type { JsonObject } from '../../src/base/json.ts'
import type { UserLimits, OwnValue } from '../../src/config/user-limits.ts'
import { effortWord, weakerSettings } from '../../src/config/weaker-settings.ts'
import { effortOf } from '../../src/model/alias.ts'
import { root } from '../helpers/baton.ts'

const own = (path: readonly string[], value: string | number | boolean, kind: 'user' | 'default'): OwnValue => ({
  path,
  value,
  layer: { origin: kind === 'user' ? { kind, file: 'config.toml' } : { kind } },
})

/** A key with an order of its own, or the keys of its table, which then have one each. */
function pathsOf([key, row]: readonly [string, SettingRow]): readonly (readonly [string, string?])[] {
  if (row.order !== undefined || !('keys' in row)) return [[key]]
  return Object.keys(row.keys).map((inner): [string, string] => [key, inner])
}

it('a word after the name of a model sets an effort', () => {
  for (const word of ['none', 'zero', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'other']) {
    expect(effortWord.test(`name-${word}`), word).toBe(effortOf(word) !== undefined)
  }
})

describe('every key has an order', () => {
  it('also those inside of tables that are merged key by key', () => {
    const paths = [...reserved].flatMap(pathsOf)
    expect(paths.filter(([key, inner]) => orderOf(key, inner) === undefined)).toEqual([])
  })

  it('which the documentation says', () => {
    const text = readFileSync(join(root, 'docs/prompt-file.md'), 'utf8')
    const row = (start: string): readonly string[] => {
      const line = text.split('\n').find((each) => each.startsWith(`| ${start}`)) ?? ''
      return [...line.replaceAll(/\([^)]*\)/g, '').matchAll(/`([a-z_.]+)`/g)].map((found) => found[1] ?? '').toSorted()
    }
    const paths = [...reserved].flatMap(pathsOf)
    const withRule = (fits: (rule: Rule) => boolean): readonly string[] =>
      paths
        .filter(([key, inner]) => fits(orderOf(key, inner)?.rule ?? 'free'))
        .map((path) => path.join('.'))
        .toSorted()
    expect(row('not set it at all')).toEqual(withRule((rule) => rule === 'user'))
    expect(row('set smaller values')).toEqual(withRule((rule) => rule === 'down'))
    expect(row('set stricter values')).toEqual(withRule((rule) => typeof rule !== 'string'))
    expect(row('allow fewer hosts')).toEqual(withRule((rule) => rule === 'fewer'))
    expect(row('add to it')).toEqual(withRule((rule) => rule === 'added'))
    expect(row('add rules')).toEqual(withRule((rule) => rule === 'rules'))
    expect(row('define its own agents')).toEqual(withRule((rule) => rule === 'agents'))
    expect(row('add names')).toEqual(withRule((rule) => rule === 'names'))
  })
})

describe('a setting of a folder that loosens is refused', () => {
  const held = [
    own(['budget', 'usd'], 5, 'user'),
    own(['lua', 'timeout'], '60s', 'default'),
    own(['lua', 'isolated'], 'installed', 'default'),
    own(['timeouts', 'connect'], '10s', 'user'),
    own(['model_aliases', 'fast'], 'mine', 'user'),
    own(['write_mode'], false, 'default'),
    own(['runs', 'max_size'], '2gb', 'default'),
  ]
  const paths = (...[values, by, isForeign = false]: [object, 'config' | 'prompt', boolean?]): readonly string[] =>
    weakerSettings(values as never, { by, own: held, isForeign }).map(({ path }) => path.join('.'))

  it.each([
    [{ budget: { usd: 5 }, lua: { timeout: '1m' }, timeouts: { connect: '900ms' } }, []],
    [{ budget: { usd: 5.01, calls: 9 } }, ['budget.usd']],
    [{ lua: { timeout: '61s', isolated: false, memory_mb: 9999 } }, ['lua.timeout', 'lua.isolated']],
    [{ lua: { isolated: true } }, []],
    [{ timeouts: { connect: '1h', request: '1h' } }, ['timeouts.connect']],
    [{ retry: { patience: '11m' } }, ['retry.patience']],
    [{ runs: { dir: 'x' } }, ['runs.dir']],
    [{ runs: { max_size: '500mb' } }, []],
    [{ runs: { max_size: '3gb' } }, ['runs.max_size']],
    [{ model_aliases: { fast: 'mine', other: 'x' } }, []],
    [{ model_aliases: { fast: 'x' } }, ['model_aliases.fast']],
    [{ write_mode: true, secrets: [] }, []],
  ])('in a config file: %j', (values, expected) => {
    expect(paths(values, 'config')).toEqual(expected)
  })

  it('in the file that is run, which is restricted to explicit settings, and to few defaults', () => {
    const values = { lua: { timeout: '1h', isolated: false }, timeouts: { connect: '1h' }, retry: { patience: '1h' } }
    expect(paths(values, 'prompt')).toEqual(['lua.isolated', 'timeouts.connect'])
    expect(paths({ model_aliases: { fast: 'x' }, write_mode: true }, 'prompt', true)).toEqual([])
  })

  it('if it would bypass a dollar limit of the user', () => {
    const values = { budget: { unpriced: 'allow' } } as const
    const deny = own(['budget', 'unpriced'], 'deny', 'default')
    const usd = own(['budget', 'usd'], 5, 'user')
    expect(weakerSettings(values, { by: 'prompt', own: [deny] })).toEqual([])
    expect(weakerSettings(values, { by: 'prompt', own: [deny, usd] })).toHaveLength(1)
    expect(weakerSettings(values, { by: 'prompt', own: [deny], overridden: [usd] })).toHaveLength(1)
    expect(weakerSettings(values, { by: 'config', own: [deny] })).toHaveLength(1)
  })

  it('for a text that is not in its files: the right to write', () => {
    expect(paths({ write_mode: true }, 'config', true)).toEqual(['write_mode'])
    expect(paths({ write_mode: 'ask' }, 'config', true)).toEqual(['write_mode'])
    expect(paths({ write_mode: false }, 'config', true)).toEqual([])
  })
})

it('the sandbox of an agent in a config file is restricted to the default', () => {
  const agents = { a: { sandbox: { mode: 'workspace-write' } } }
  const path = ['agents', 'a', 'sandbox', 'mode']
  expect(weakerSettings({ agents }, { by: 'config', own: [] })).toMatchObject([{ path, own: 'read-only' }])
})

describe.each([
  ['an agent with a name', (values: JsonObject): JsonObject => ({ agents: { x: values } }), ['agents', 'x']],
  ['a member', (values: JsonObject): JsonObject => ({ ensemble: { agents: [{}, values] } }), ['ensemble', 'agents', 1]],
])('the sandbox of %s', (_, settings, path) => {
  const full = { command: 'sh', sandbox: { mode: 'danger-full-access' } }
  const mode = (value: string) => own(['sandbox', 'mode'], value, 'user')
  const given = (values: JsonObject, held: Partial<UserLimits> = {}) =>
    weakerSettings(settings(values), { by: 'prompt', own: [], ...held })

  it('is restricted by the rule of the key outside of it', () => {
    const definition = { path, value: full }
    expect(given(full)).toMatchObject([{ path: [...path, 'sandbox', 'mode'], own: 'workspace-write', definition }])
    expect(given(full, { own: [mode('danger-full-access')] })).toEqual([])
  })

  it('does not become looser because the user sets a stricter one for this call', () => {
    expect(given(full, { overridden: [mode('read-only')] })).toHaveLength(1)
    expect(given(full, { overridden: [mode('danger-full-access')] })).toEqual([])
    // its effects are still limited to those of the call
    expect(given({ sandbox: { mode: 'workspace-write' } }, { overridden: [mode('read-only')] })).toEqual([])
  })

  it('is not bypassed by a program that only pretends to be a known one', () => {
    const keys = (values: JsonObject, held?: Partial<UserLimits>) =>
      given(values, held).map((found) => found.path.at(-1))
    expect(keys({ preset: 'claude' })).toEqual([])
    expect(keys({ preset: 'claude', command: 'claude' })).toEqual([])
    const shell = { preset: 'claude', command: 'sh', args: ['-c', 'id'] }
    expect(keys(shell)).toEqual(['command', 'args'])
    expect(keys(shell, { overridden: [mode('read-only')] })).toEqual(['command', 'args'])
    expect(keys(shell, { overridden: [mode('danger-full-access')] })).toEqual([])
    expect(keys({ preset: 'claude', env: { PATH: '.' } })).toEqual(['env'])
    expect(keys({ preset: 'claude', command: './claude' })).toEqual(['command'])
  })
})
