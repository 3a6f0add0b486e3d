import { createContext, Script } from 'node:vm'
import { figure, interleave, quotients } from './rounds.mjs'

const limits = { timeMs: 60_000, instructions: 1_000_000, memoryBytes: 256 * 1024 * 1024 }
const records = Array.from({ length: 6_000 }, (_, id) => ({
  id,
  name: `record number ${id}`,
  tags: ['one', 'two', `three ${id}`],
  place: { file: `src/folder/file-${id}.ts`, line: id % 400, text: 'x'.repeat(40) },
}))
const record = { name: 'src/main.ts', size: 1_234, tags: ['entry', 'process'], lines: { first: 1, last: 40 } }

/**
 * The cost of isolating Lua sections, on both engines: a call out of Lua, whose values are copied in and out, and 1 MB
 * of records or text passed in and back, against two `structuredClone` calls; and a fresh state with all host
 * functions, against a fresh `node:vm` context. How fast Lua itself runs is not measured here.
 */
export async function lua({ library, small }) {
  const { loadLua54 } = await import(`${library}/script/lua54/engine.js`)
  const { loadFengari } = await import(`${library}/script/fengari/engine.js`)
  const { hostModules } = await import(`${library}/script/host/index.js`)
  const figures = []
  for (const load of [loadLua54, loadFengari]) figures.push(...(await crossing(await load(), hostModules, small)))
  return figures
}

async function crossing(engine, hostModules, small) {
  const signal = new AbortController().signal
  const calls = small ? 100 : 20_000
  const states = small ? 5 : 500

  const paths = hostModules.flatMap(({ name, functions }) =>
    Object.keys(functions).map((key) => (name === '' ? key : `${name}.${key}`)),
  )
  const sectionOptions = {
    functions: paths.map((path) => ({ path, tables: 'border', call: () => [] })),
    modules: hostModules.flatMap((module) => module.lua ?? []),
    limits,
    seed: () => 1,
  }
  const echo = { path: 'echo', tables: 'border', call: ([value]) => [value] }
  const state = engine.createState({ ...sectionOptions, functions: [...sectionOptions.functions, echo] })
  const callLoop = { name: 'calls', text: `for _ = 1, ${calls} do echo(record) end` }

  const data = small ? records.slice(0, 60) : records
  const text = 'line of text with an ä\n'.repeat(small ? 400 : 40_000)
  const back = { name: 'back', text: 'return value' }

  const times = await interleave(
    {
      data: timeOf(() => state.run(back, { value: data }, signal)),
      cloneData: timeOf(() => structuredClone(structuredClone(data))),
      text: timeOf(() => state.run(back, { value: text }, signal)),
      cloneText: timeOf(() => Buffer.from(Buffer.from(text).toString()).toString()),
      call: timeOf(() => state.run(callLoop, { record }, signal)),
      clone: timeOf(() => {
        for (let index = 0; index < calls; index += 1) structuredClone(structuredClone(record))
      }),
      section: timeOf(async () => {
        for (let index = 0; index < states; index += 1) await runSection(engine, sectionOptions, signal)
      }),
      context: timeOf(() => {
        for (let index = 0; index < states; index += 1) runInContext(paths)
      }),
    },
    small ? 1 : 9,
  )
  state.close()
  return [
    figure(`${engine.name}: 1 MB of records in and out`, {
      of: 'structuredClone, there and back',
      ratios: quotients(times.data, times.cloneData),
    }),
    figure(`${engine.name}: 1 MB of text in and out`, {
      of: 'UTF-8 encoded and decoded twice',
      ratios: quotients(times.text, times.cloneText),
    }),
    figure(`${engine.name}: host call with a record, round trip`, {
      of: 'structuredClone, there and back',
      ratios: quotients(times.call, times.clone),
    }),
    figure(`${engine.name}: fresh state, ${paths.length} host functions, one line`, {
      of: 'fresh node:vm context with as many',
      ratios: quotients(times.section, times.context),
    }),
  ]
}

function timeOf(work) {
  return async () => {
    const started = performance.now()
    await work()
    return performance.now() - started
  }
}

async function runSection(engine, options, signal) {
  const state = engine.createState(options)
  try {
    const [value] = await state.run({ name: 'tiny', text: 'return input + 1' }, { input: 1 }, signal)
    if (value !== 2) throw new Error(`Lua counted to ${value}`)
  } finally {
    state.close()
  }
}

function runInContext(paths) {
  const host = Object.fromEntries(paths.map((path) => [path, () => []]))
  const value = new Script('input + 1').runInContext(createContext({ input: 1, host }))
  if (value !== 2) throw new Error(`JavaScript counted to ${value}`)
}
