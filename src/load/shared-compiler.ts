import { createScriptLoader } from '../agent/script-loader.ts'
import type { Settings } from '../config/settings.ts'
import { createCompiler, type LuaCompiler } from '../script/compiler.ts'

/** A compiler that is opened on first use, and closed if it was opened. */
export interface SharedCompiler {
  readonly open: () => Promise<LuaCompiler>
  readonly close: () => Promise<void>
}

export function createSharedCompiler(lua: Settings['lua']): SharedCompiler {
  let compiler: Promise<LuaCompiler> | undefined
  return {
    // nothing is executed, so nothing has to be aborted
    open: () =>
      (compiler ??= createScriptLoader({ ...lua, isolated: false })({ isInstalled: false }).then(createCompiler)),
    async close() {
      if (compiler !== undefined) (await compiler).close()
    },
  }
}
