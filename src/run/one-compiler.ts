import { createScriptLoader } from '../agent/script-loader.ts'
import type { Settings } from '../config/settings.ts'
import { createCompiler, type LuaCompiler } from '../script/compiler.ts'

/** A compiler that is opened when it is needed, and closed if it was. */
export interface OneCompiler {
  readonly open: () => Promise<LuaCompiler>
  readonly close: () => Promise<void>
}

export function createOneCompiler(lua: Settings['lua']): OneCompiler {
  let compiler: Promise<LuaCompiler> | undefined
  return {
    // nothing is run, so nothing has to be stopped from outside
    open: () =>
      (compiler ??= createScriptLoader({ ...lua, isolated: false })({ isInstalled: false }).then(createCompiler)),
    async close() {
      if (compiler !== undefined) (await compiler).close()
    },
  }
}
