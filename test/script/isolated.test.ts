import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createIsolatedEngine } from '../../src/script/isolated/engine.ts'
import { describeLuaEngine, failLua, hostFunction, openState, runLua } from '../contract/lua-engine.ts'
import { buildLuaWorker } from '../helpers/lua-worker.ts'

const wasmFile = createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm')
const worker = buildLuaWorker()
afterAll(async () => rm(dirname(await worker), { recursive: true, force: true }))

const engines = {
  lua54: worker.then((workerFile) => createIsolatedEngine({ engine: 'lua54', wasmFile, workerFile })),
  fengari: worker.then((workerFile) => createIsolatedEngine({ engine: 'fengari', workerFile })),
}

describeLuaEngine('lua54, isolated', async () => engines.lua54)
describeLuaEngine('fengari, isolated', async () => engines.fengari)
