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
  const strings = await import('fengari/src/lstring.js')
  const state = strings.default as StringModule & { isRepaired?: true }
  // several engines of one process share the package, which is repaired once
  const isFirst = state.isRepaired === undefined
  state.isRepaired = true
  if (isFirst) repairStrings(state)
  const numbers = await import('fengari/src/luaconf.js')
  if (isFirst) repairNumbers(numbers.default as NumberModule)
  const calls = await import('fengari/src/lapi.js')
  if (isFirst) repairProtectedCalls(calls.default as CallModule)
  const auxiliary = await import('fengari/src/lauxlib.js')
  if (isFirst) limitBuffers(auxiliary.default as BufferModule)
  const [api, control, standard] = await Promise.all([
    import('fengari/src/lua.js'),
    import('fengari/src/ldo.js'),
    import('fengari/src/lualib.js'),
  ])
  const { luaD_throw } = control.default as Pick<LuaApi, 'luaD_throw'>
  return {
    api: { ...(api.default as LuaApi), ...(auxiliary.default as LuaApi), luaD_throw },
    libraries: librariesOf(standard.default as Readonly<Record<string, NativeFunction>>),
  }
}

function librariesOf(standard: Readonly<Record<string, NativeFunction>>): Library['libraries'] {
  return ['base', 'coroutine', 'table', 'string', 'math', 'utf8'].map((name) => {
    const open = standard[`luaopen_${name}`]
    if (open === undefined) throw new Error(`fengari has no library ${name}`)
    return { name: name === 'base' ? '_G' : name, open }
  })
}
