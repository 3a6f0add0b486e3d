import { describe, expect, it } from 'vitest'
import { agentSettingKeys, roleSettingKeys } from '../../src/settings/agents.ts'
import { isGuarded, orderOf, reserved } from '../../src/settings/keys.ts'
import { rows } from '../../src/settings/rows.ts'
import type { KeyRows, SettingRow } from '../../src/settings/setting.ts'

const all = Object.entries<SettingRow>(rows)

/** Paths of the keys of tables, at any depth, with their texts. */
function texts(keys: KeyRows, path: string): readonly (readonly [string, string])[] {
  return Object.entries(keys).flatMap(([key, row]): readonly (readonly [string, string])[] => [
    [`${path}${key}`, row.text],
    ...('keys' in row ? texts(row.keys, `${path}${key}.`) : []),
  ])
}

describe('the rows of settings', () => {
  it('say of each key, also inside of tables, what it means', () => {
    expect(texts(rows, '').filter(([, text]) => !/^\S[^]*\.$/.test(text))).toEqual([])
  })

  it('say how a folder may set each key, or each key of a table', () => {
    const missing = all.flatMap(([key, row]) => {
      const inner = row.order === undefined && 'keys' in row ? Object.keys(row.keys) : [undefined]
      return inner.filter((one) => orderOf(key, one) === undefined).map((one) => [key, one])
    })
    expect(missing).toEqual([])
  })

  it('name keys for tables of agents that exist, and that a folder may set', () => {
    const names = new Set<string>([...roleSettingKeys, ...agentSettingKeys])
    expect([...names].filter((name) => !reserved.has(name) || isGuarded(name))).toEqual([])
  })

  it('make each strategy a key of prompt files that starts agents, and a mark of a prompt file', () => {
    const found = all.filter(([, { strategy }]) => strategy !== undefined)
    expect(found.length).toBeGreaterThan(3)
    for (const [key, row] of found)
      expect([key, row.starts, row.decides, isGuarded(key)]).toEqual([key, true, true, false])
  })
})
