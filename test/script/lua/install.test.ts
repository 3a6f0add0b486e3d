import { describe, expect, it } from 'vitest'
import { loadFengari } from '../../../src/script/fengari/engine.ts'
import { loadLua54 } from '../../../src/script/lua54/engine.ts'
import { hostFunction, openState, runLua } from '../../contract/lua-engine.ts'

const engines = { lua54: loadLua54(), fengari: loadFengari() }

describe.each(['lua54', 'fengari'] as const)('host functions of %s in state after state', (name) => {
  const shared = engines[name]

  it('are at the paths of their own list, whatever the list before was', async () => {
    const engine = await shared
    const lists = [
      ['a.b.c', 'a.b.d', 'x', 'a.e', 'y.z'],
      ['a.b', 'x.y'],
      [],
      ['x', 'a.b.c', 'y'],
      ['a', 'a.b', 'a.c'],
      ['a.b.c', 'a.b.d', 'x', 'a.e', 'y.z'],
    ]
    for (const paths of lists) {
      const functions = paths.map((path) => hostFunction(path, () => [path]))
      const reachable = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}.`)))
      const text = `return ${reachable.map((path) => `${path}()`).join(', ')}`
      expect(await runLua(engine, text, { functions })).toEqual(reachable)
      const known = ['a', 'x', 'y'].filter((name) => paths.some((path) => path.split('.')[0] === name))
      expect(
        await runLua(
          engine,
          'local n = "" for _, k in ipairs({"a", "x", "y"}) do if _G[k] then n = n .. k end end return n',
          { functions },
        ),
      ).toEqual([known.join('')])
    }
  })

  it('may have non-ASCII or empty names', async () => {
    const paths = ['grüße.漢字', 'grüße.a\0b', '.leading', 'empty.']
    const functions = paths.map((path) => hostFunction(path, () => [path]))
    const text = 'return _G["grüße"]["漢字"](), _G["grüße"]["a\\0b"](), _G[""].leading(), empty[""]()'
    expect(await runLua(await shared, text, { functions })).toEqual(paths)
  })

  it('belong to their state while others with the same paths are open', async () => {
    const engine = await shared
    const { signal } = new AbortController()
    const states = [1, 2, 3].map((number) =>
      openState(engine, { functions: [hostFunction('who', async () => [await Promise.resolve(number)])] }),
    )
    const chunk = { name: 'x', text: 'return who(), who()' }
    const answers = await Promise.all(states.map(async (state) => state.run(chunk, {}, signal)))
    expect(answers).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ])
    for (const state of states) state.close()
  })
})
