import { expect, it } from 'vitest'
import { createScriptLoader } from '../../src/agent/script-loader.ts'

const lua = { engine: 'fengari', timeout_ms: 1000, memory_mb: 64, instructions: 1e6 } as const

it.each([
  ['installed', false],
  [true, true],
  [false, true],
] as const)(
  'with isolated = %j, agents of installed packs share an engine with others: %j',
  async (isolated, isShared) => {
    const load = createScriptLoader({ ...lua, isolated })
    const [own, installed] = await Promise.all([load({ isInstalled: false }), load({ isInstalled: true })])
    expect(own === installed).toBe(isShared)
  },
)

it.each([
  ['fengari', false, 1],
  ['fengari', true, 0],
  ['lua54', false, 0],
] as const)(
  'warns once that %s, isolated = %j, limits memory only approximately: %i',
  async (engine, isolated, times) => {
    const told: string[] = []
    const onRoughLimit = ({ message }: { readonly message: string }): void => void told.push(message)
    const load = createScriptLoader({ ...lua, engine, isolated }, { onRoughLimit })
    await Promise.all([load({ isInstalled: false }), load({ isInstalled: true })])
    expect(told).toHaveLength(times)
    for (const message of told) expect(message).toContain('lua.memory_mb = 64 is only approximate')
  },
)
