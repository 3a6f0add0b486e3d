import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMask } from '../../src/journal/secrets.ts'
import { builtInProviders, gatewayKeyEnv, providerPrefixes } from '../../src/model/builtin.ts'
import { loadPrices, type PricedModel } from '../../src/model/prices.ts'
import { loadModelTable } from '../../src/model/table.ts'
import { root } from '../helpers/baton.ts'
import { choiceFor, modelTable } from '../helpers/choice.ts'
import { tempTree } from '../helpers/temp.ts'

const now = (): Date => new Date('2026-11-29T12:00:00Z')
const prices = await loadPrices({ tableFile: join(root, 'agents/models.toml'), now })

function pricedAs(name: string): PricedModel {
  const { provider, model } = choiceFor(name)
  if (provider.kind === 'offline') throw new Error(`${name} is no model of a host`)
  return { provider: provider.name, baseUrl: provider.baseUrl, model, isFree: false }
}

const remote = Object.entries(builtInProviders).filter(([, row]) => row.isLocal !== true)

describe('the table of models', () => {
  it('has models for every provider with a key, and no others', () => {
    expect(Object.keys(modelTable.providers)).toEqual(remote.map(([name]) => name))
  })

  it.each(Object.entries(modelTable.aliases))('gives %s a name that its provider accepts: %s', (alias, target) => {
    const choice = choiceFor(alias)
    expect(choice.provider.kind).toBe('host')
    expect(choice.label).toBe(target.includes('::') ? target : `${choice.label.split('::')[0]}::${target}`)
    expect(choice).not.toHaveProperty('reasoningEffort')
  })

  it.each(Object.entries(modelTable.providers))('gives %s names without an effort suffix', (provider, models) => {
    for (const model of Object.values(models)) {
      expect(choiceFor(`${provider}::${model}`)).toMatchObject({ label: `${provider}::${model}` })
    }
  })

  // for Together, the price list knows only models that it no longer serves
  it.each(remote.map(([name]) => name).filter((name) => name !== 'together'))(
    'has only models with a known price at %s',
    (name) => {
      const names = Object.values(modelTable.providers[name] ?? {}).map((written) => `${name}::${written}`)
      expect(names.filter((written) => prices.perToken(pricedAs(written)) === undefined)).toEqual([])
    },
  )

  it('has only aliases of models whose price and context window are known', () => {
    const aliases = Object.keys(modelTable.aliases)
    expect(aliases.filter((alias) => prices.perToken(pricedAs(alias)) === undefined)).toEqual([])
    expect(aliases.filter((alias) => prices.windowOf(pricedAs(alias)) === undefined)).toEqual([])
  })

  it('has no price that the package of prices has too', async () => {
    const listed = await loadPrices({ now })
    const same = Object.keys(modelTable.prices).filter((label) => {
      const model = pricedAs(label)
      const [ours, theirs] = [prices, listed].map((list) => [list.rates(model), list.perToken(model)])
      return JSON.stringify(ours) === JSON.stringify(theirs)
    })
    expect(same).toEqual([])
  })

  it.each([
    '',
    'aliases = 1',
    '[aliases]\na = 1\n[providers]',
    '[aliases]\n[providers]\nx = { normal = "a" }',
    '[aliases]\n[providers]\n[prices]\na = { input = 1 }',
    '[aliases]\n[providers]\n[prices]\na = { input = 1, output = 2, windows = 3 }',
  ])('that is damaged is an error: %j', async (text) => {
    const file = join(tempTree({ 'models.toml': text }), 'models.toml')
    await expect(loadModelTable(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID', place: { file } })
  })
})

describe('the table of providers', () => {
  it('has a key variable for every paid provider, and encrypted addresses', () => {
    for (const [name, { apiKeyEnvs, baseUrl }] of remote) {
      expect(apiKeyEnvs.length, name).toBeGreaterThan(0)
      expect(baseUrl, name).toMatch(/^https:\/\/.*[^/]$/)
    }
  })

  it('has prefixes that each stand for one of its providers', () => {
    for (const { provider } of Object.values(providerPrefixes))
      expect(Object.keys(builtInProviders)).toContain(provider)
    expect(Object.keys(providerPrefixes).filter((prefix) => Object.hasOwn(builtInProviders, prefix))).toEqual([])
  })

  it('names no key whose value would be shown', () => {
    const names = [...remote.flatMap(([, { apiKeyEnvs }]) => apiKeyEnvs), gatewayKeyEnv]
    for (const name of names) {
      expect(createMask({ [name]: 'value-of-a-key' }).hide('has value-of-a-key'), name).toBe(`has «secret:${name}»`)
    }
  })
})

it('docs/models-and-keys.md contains each provider with its keys, format and models, in this order', () => {
  const text = readFileSync(join(root, 'docs/models-and-keys.md'), 'utf8')
  const cells = (...names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')
  const rows = [...text.matchAll(/^\| (`[a-z]+`) \| ([^|]*) \| (\w+) \| [^|]* \| ([^|]*) \|$/gm)]
  expect(rows.map(([, ...row]) => row)).toEqual(
    remote.map(([name, { apiKeyEnvs, format }]) => {
      const { normal = '', high = '', fast = '' } = modelTable.providers[name] ?? {}
      return [cells(name), cells(...apiKeyEnvs), format, cells(normal, high, fast)]
    }),
  )
})
