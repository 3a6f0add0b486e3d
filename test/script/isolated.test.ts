import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createIsolatedEngine } from '../../src/script/isolated/engine.ts'
import { describeLuaEngine, failLua, hostFunction, openState, runLua } from '../contract/lua-engine.ts'
import { buildLuaWorker } from '../helpers/lua-worker.ts'
import { core } from '../helpers/series.ts'

const wasmFile = createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm')
const worker = buildLuaWorker()
afterAll(async () => rm(dirname(await worker), { recursive: true, force: true }))

const engines = {
  lua54: worker.then((workerFile) => createIsolatedEngine({ engine: 'lua54', wasmFile, workerFile })),
  fengari: worker.then((workerFile) => createIsolatedEngine({ engine: 'fengari', workerFile })),
}
const pathological = '("a"):rep(40):find(("a?"):rep(40) .. ("a"):rep(40))'

// The boundary of the thread is the same for both engines, so testing one is enough. Each open state has a separate
// thread; a run has 20 at the same time by default.
describeLuaEngine('lua54, isolated', async () => engines.lua54, { states: 24 })

// the whole series repeats it with the second engine, whose threads test/slow/script-ways-out.test.ts ends in npm test too
describe.each(core(['lua54'] as const, ['lua54', 'fengari'] as const))('threads with %s', (name) => {
  it('let agents run agents, eight levels deep and two at a time', async () => {
    const engine = await engines[name]
    const nested = hostFunction('agent', async ([depth]) =>
      depth === 0 ? [1] : runLua(engine, text, { functions: [nested], variables: { depth: Number(depth) - 1 } }),
    )
    const text = 'local before = host.echo(depth) return agent(depth) + before'
    const run = async (): Promise<unknown> => runLua(engine, text, { functions: [nested], variables: { depth: 7 } })
    expect(await Promise.all([run(), run()])).toEqual([[29], [29]])
  })

  it('work concurrently with the main thread', async () => {
    const engine = await engines[name]
    const signal = new AbortController().signal
    const state = openState(engine)
    const seen: string[] = []
    const run = state.run({ name: 'x', text: 'for i = 1, 3000000 do end return "done"' }, {}, signal)
    void run.then(() => seen.push('script'))
    setTimeout(() => seen.push('timer'), 1)
    expect(await run).toEqual(['done'])
    expect(seen).toEqual(['timer', 'script'])
    state.close()
  })

  it('wait for synchronous functions, where Lua itself cannot wait', async () => {
    const text = `
      local caught = select(2, xpcall(error, function(e) return host.echo(e) .. ' seen' end, 'error'))
      local shown = ('%s'):format(setmetatable({}, { __tostring = function() return host.echo('shown') end }))
      return caught, shown`
    expect(await runLua(await engines[name], text)).toEqual(['error seen', 'shown'])
  })

  it('distinguish bytes, big numbers, nil and null across the boundary', async () => {
    const got: unknown[] = []
    const keep = hostFunction('keep', (values) => {
      got.push(...values)
      return [...values, undefined, null, { list: [], empty: {}, none: null }]
    })
    const bytes = Uint8Array.of(0xff, 0, 1)
    const text = 'return keep(bytes, nil, null, 1.5, {1, null}, "ä\\0")'
    const sent = [bytes, undefined, null, 1.5, [1, null], 'ä\0']
    const values = await runLua(await engines[name], text, { functions: [keep], variables: { bytes } })
    expect(got).toEqual(sent)
    // a top-level null of the host is the sentinel, as on an engine without a thread
    expect(values).toEqual([...sent, undefined, null, { empty: {}, list: [], none: null }])
  })

  it('are reused by the next state, which finds nothing of the previous one', async () => {
    const engine = await engines[name]
    await runLua(engine, 'string.leak = 1 _G.leak = 2')
    expect(await runLua(engine, 'return string.leak, leak')).toEqual([undefined, undefined])
    await failLua(engine, 'while true do end', { limits: { instructions: 10 } })
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })

  it('end with everything that runs in them', async () => {
    const state = openState(await engines[name], { limits: { timeMs: 100 } })
    const { signal } = new AbortController()
    const waits = state.run({ name: 'waits', text: 'wait(1) wait(2) return 1' }, {}, signal)
    const works = state.run({ name: 'works', text: `wait(1) return ${pathological}` }, {}, signal)
    await expect(works).rejects.toMatchObject({ limit: 'time', chunk: 'works' })
    await waits.catch((error: unknown) => expect(error).toMatchObject({ limit: 'time', chunk: 'waits' }))
    await expect(state.run({ name: 'later', text: 'return 1' }, {}, signal)).rejects.toMatchObject({ limit: 'time' })
    state.close()
  })

  it('are ended when a state is closed that cannot stop', async () => {
    const state = openState(await engines[name])
    const run = state.run({ name: 'x', text: `return ${pathological}` }, {}, new AbortController().signal)
    setTimeout(() => state.close(), 30)
    await expect(run).rejects.toThrow('the Lua state was closed')
  })

  it('call nothing any more after a state was closed', async () => {
    let calls = 0
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const count = hostFunction('count', () => {
      begin()
      return [++calls]
    })
    const state = openState(await engines[name], { functions: [count] })
    const run = state.run({ name: 'x', text: 'while true do count() end' }, {}, new AbortController().signal)
    await begun
    state.close()
    const before = calls
    await expect(run).rejects.toThrow('closed')
    expect(calls).toBe(before)
  })

  it('can be closed before they have started, and without a run', async () => {
    const engine = await engines[name]
    const state = openState(engine)
    state.close()
    await expect(state.run({ name: 'x', text: 'return 1' }, {}, new AbortController().signal)).rejects.toThrow('closed')
    expect(await runLua(engine, 'return 1')).toEqual([1])
  })
})

describe('a thread that cannot start', () => {
  it('rejects the run with the reason', async () => {
    const noWorker = createIsolatedEngine({ engine: 'fengari', workerFile: '/no/such/worker.mjs' })
    expect(await failLua(noWorker, 'return 1')).toMatchObject({
      message: expect.stringContaining('the Lua engine failed: '),
      chunk: 'agents/test.aip',
    })
    const noWasm = createIsolatedEngine({ engine: 'lua54', workerFile: await worker, wasmFile: '/no/such/glue.wasm' })
    expect(await failLua(noWasm, 'return 1')).toMatchObject({ message: expect.stringContaining('/no/such/glue.wasm') })
  })
})
