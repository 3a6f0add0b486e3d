import { getHeapStatistics } from 'node:v8'
import { messageOf } from '../../base/error.ts'
import { luaStatus, type Thread } from '../lua/api.ts'
import type { Backend, LuaCore } from '../lua/core.ts'
import { reachLimit } from '../lua/limits.ts'
import { createPlan, install, type LuaCallbacks } from '../lua/state.ts'
import { createApi } from './api.ts'
import { encode, type FengariThread, type Library, type StringAccount } from './library.ts'
import { standardFunctions } from './standard.ts'

/** Bytes of strings a state may create before memory is checked. */
const lookEvery = 32 * 1024 * 1024
/** The share of the JavaScript heap that may be in use; garbage collection needs the rest. */
const usablePart = 0.9
/** Garbage stays in memory for a while: up to 64 MB were measured before V8 collects it. */
const garbageBytes = 128 * 1024 * 1024

/**
 * States of fengari. Lua values are objects of this process, which cannot be counted per state. So a script reaches its
 * memory limit when it creates one string longer than the limit, or when the process runs short of memory. `memory` is
 * what the process held outside the JavaScript heap, in long strings and buffers, when the state was created, in bytes.
 */
export function createBackend({ raw, libraries }: Library, callbacks: LuaCallbacks): Backend {
  const api = createApi(raw, callbacks)
  return {
    api,
    health: { isBroken: false, canBreak: false },
    prelude: undefined,
    openState() {
      const main = raw.luaL_newstate()
      if (main === null) throw new Error('fengari cannot make a state')
      for (const { name, open } of libraries) raw.luaL_requiref(main, encode(name), open, true)
      raw.lua_settop(main, 0)
      const functions = Object.entries(standardFunctions(raw))
      install({ api, main }, createPlan(functions.map(([path]) => path)), (place) => {
        const call = functions[place]?.[1]
        if (call !== undefined) raw.lua_pushcfunction(main, call)
      })
      return { main, memory: getHeapStatistics().external_memory }
    },
    // the memory of a state is freed when nothing refers to it anymore
    closeState: () => undefined,
    watchMemory(core) {
      raw.lua_atnativeerror(core.main, (thread) => explain(core, thread))
      const main = core.main as FengariThread
      main.l_G.account = createAccount(core)
    },
    enter: (_core, body) => body(),
    isMemoryUsedUp: (core, { isTurnOver }) => isTurnOver && isMemoryShort(core),
    raiseLimit(_core: LuaCore, thread: Thread) {
      api.setHook(thread, 1)
      return raw.luaD_throw(thread, luaStatus.memoryError)
    },
  }
}

/**
 * Turns a JavaScript exception inside the interpreter into the text of a Lua error; otherwise it would be lost. A
 * failed allocation counts as the memory limit.
 */
function explain(core: LuaCore, thread: FengariThread): number {
  const { api, runtime } = core
  const error = api.lua_touserdata(thread, 1)
  const isStack = error instanceof RangeError && error.message.includes('call stack')
  if (error instanceof RangeError && !isStack) {
    reachLimit(core, thread, 'memory')
    return runtime.raiseLimit(core, thread)
  }
  api.luaL_where(thread, 1)
  api.pushText(thread, isStack ? 'stack overflow' : messageOf(error))
  api.lua_concat(thread, 2)
  return 1
}

function createAccount(core: LuaCore): StringAccount {
  const longest = core.options.limits.memoryBytes
  const account: StringAccount = {
    longest,
    remaining: lookEvery,
    check(thread, length) {
      account.remaining = lookEvery
      if (length <= longest && !isMemoryShort(core)) return
      reachLimit(core, thread, 'memory')
      // outside Lua code nothing could catch it; the run ends when it is next entered
      if (core.depth > 0) core.runtime.raiseLimit(core, thread)
    },
  }
  return account
}

/**
 * True when the process is about to run out of heap, which would crash it, or when its memory in long strings and
 * buffers has grown by well over twice the limit since the state was created.
 */
function isMemoryShort({ options, memory }: LuaCore): boolean {
  const { used_heap_size, heap_size_limit, external_memory } = getHeapStatistics()
  if (used_heap_size > usablePart * heap_size_limit) return true
  return external_memory - memory > 2 * options.limits.memoryBytes + garbageBytes
}
