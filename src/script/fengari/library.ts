import type { Library, LuaApi, NativeFunction } from './api.ts'
import {
  type BufferModule,
  type CallModule,
  limitBuffers,
  type NumberModule,
  repairNumbers,
  repairProtectedCalls,
  repairStrings,
  type StringModule,
} from './patch.ts'

/**
 * Loads fengari. Its modules copy functions from one another while they load, so each repair comes before the modules that
 * use what it repairs. `fengari-interop`, which would show JavaScript objects to scripts, is never loaded.
 */
export async function loadLibrary(): Promise<Library> {
  repairOnce((await import('fengari/src/lstring.js')).default as StringModule, repairStrings)
  repairOnce((await import('fengari/src/luaconf.js')).default as NumberModule, repairNumbers)
  repairOnce((await import('fengari/src/lapi.js')).default as CallModule, repairProtectedCalls)
  const auxiliary = (await import('fengari/src/lauxlib.js')).default as BufferModule
  repairOnce(auxiliary, limitBuffers)
  const api = (await import('fengari/src/lua.js')).default as LuaApi
  const { luaD_throw } = (await import('fengari/src/ldo.js')).default as Pick<LuaApi, 'luaD_throw'>
  const standard = (await import('fengari/src/lualib.js')).default as Readonly<Record<string, NativeFunction>>
  return { api: { ...api, ...auxiliary, luaD_throw }, libraries: librariesOf(standard) }
}

const repaired = Symbol.for('baton.fengari.repaired')

/** Engines of one process share the package. The mark is on the module itself, because the package outlives the engines. */
function repairOnce<T extends object>(module: T & { [repaired]?: true }, repair: (module: T) => void): void {
  if (module[repaired] === true) return
  module[repaired] = true
  repair(module)
}

function librariesOf(standard: Readonly<Record<string, NativeFunction>>): Library['libraries'] {
  return ['base', 'coroutine', 'table', 'string', 'math', 'utf8'].map((name) => {
    const open = standard[`luaopen_${name}`]
    if (open === undefined) throw new Error(`fengari has no library ${name}`)
    return { name: name === 'base' ? '_G' : name, open }
  })
}
