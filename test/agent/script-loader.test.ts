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
