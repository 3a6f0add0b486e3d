import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findModels, type KnownModels } from '../../src/plan/known-models.ts'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const home = tempTree()
const settings = { providers: {}, model_aliases: {}, prices: {} }
const tableFile = join(root, 'agents/models.toml')

async function found(env: Readonly<Record<string, string>>, isWide = false): Promise<KnownModels> {
  return findModels({ env, home, settings, tableFile }, { isWide })
}

describe('the models that are known here', () => {
  it('have the names normal, high and fast for the first provider with a key', async () => {
    const { models } = await found({ XAI_API_KEY: 'k' })
    const named = models.filter(({ names }) => names.some((name) => ['normal', 'high', 'fast'].includes(name)))
    expect(named.map(({ label, names, key }) => ({ label, names, key }))).toEqual([
      { label: 'xai::grok-4.7', names: ['normal', 'high', 'grok'], key: { name: 'XAI_API_KEY', isSet: true } },
      { label: 'xai::grok-4.3', names: ['fast'], key: { name: 'XAI_API_KEY', isSet: true } },
    ])
  })

  it('mean behind a gateway what they mean without it', async () => {
    const [with_, without] = await Promise.all([found({ BATON_GATEWAY_URL: 'http://127.0.0.1:9/v1' }), found({})])
    expect(with_.hasGateway).toBe(true)
    expect(without.hasGateway).toBe(false)
    expect(with_.models).toEqual(without.models)
  })

  it('are in the order of the providers, and every one that is only in the price list has a price', async () => {
    const [{ models }, named] = await Promise.all([found({}, true), found({})])
    expect(models.length).toBeGreaterThan(5 * named.models.length)
    const providers = models.map(({ provider }) => provider)
    expect([...new Set(providers)].flatMap((name) => providers.filter((one) => one === name))).toEqual(providers)
    const unpriced = models.filter(({ rates }) => rates === undefined).map(({ label }) => label)
    expect(models.filter(({ provider, model }) => provider === 'gemini' && model.startsWith('claude-'))).toEqual([])
    expect(unpriced).toEqual(named.models.filter(({ rates }) => rates === undefined).map(({ label }) => label))
  })
})
