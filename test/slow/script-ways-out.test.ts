import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { afterAll } from 'vitest'
import { loadFengari } from '../../src/script/fengari/engine.ts'
import { createIsolatedEngine } from '../../src/script/isolated/engine.ts'
import { loadLua54 } from '../../src/script/lua54/engine.ts'
import { describeLuaSafety, describeThreadSafety } from '../contract/lua-engine-safety.ts'
import { buildLuaWorker } from '../helpers/lua-worker.ts'
import { core } from '../helpers/series.ts'

const wasmFile = createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm')
const worker = buildLuaWorker()
afterAll(async () => rm(dirname(await worker), { recursive: true, force: true }))

const lua54 = loadLua54()
const fengari = loadFengari()
const isolatedLua54 = worker.then((workerFile) => createIsolatedEngine({ engine: 'lua54', wasmFile, workerFile }))
const isolatedFengari = worker.then((workerFile) => createIsolatedEngine({ engine: 'fengari', workerFile }))

describeLuaSafety('lua54', async () => lua54, { memory: 'counted', isolated: false })
describeLuaSafety('fengari', async () => fengari, { memory: 'rough', isolated: false })
// the rest is the same as without a thread; the whole series repeats it
const describeThread = core(describeThreadSafety, describeLuaSafety)
describeThread('lua54, isolated', async () => isolatedLua54, { memory: 'counted', isolated: true })
describeThreadSafety('fengari, isolated', async () => isolatedFengari, { memory: 'rough', isolated: true })
