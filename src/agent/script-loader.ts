import { bundledFile } from '../base/bundled-file.ts'
import { defined } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import { createBindings } from '../script/bindings.ts'
import type { LuaEngine } from '../script/engine.ts'
import type { ScriptHost } from '../script/section.ts'
import type { LoadScripts } from './parts.ts'

export interface ScriptLoading {
  /** Called once when the engine enforces `lua.memory_mb` only approximately. Omitted if the user has not set it. */
  readonly onRoughLimit?: ((warning: { readonly message: string; readonly hint: string }) => void) | undefined
}

/**
 * Returns the Lua engine with all host modules. It is loaded at the first call and shared by a run's sections. By
 * default the scripts of installed packs are isolated.
 */
export function createScriptLoader(lua: Settings['lua'], { onRoughLimit }: ScriptLoading = {}): LoadScripts {
  const hosts = new Map<boolean, Promise<ScriptHost>>()
  const limits = {
    timeMs: lua.timeout_ms,
    instructions: lua.instructions,
    memoryBytes: lua.memory_mb * 1024 * 1024,
  }

  async function load(isolated: boolean): Promise<ScriptHost> {
    const [engine, { hostModules }] = await Promise.all([
      loadEngine(lua.engine, isolated),
      import('../script/host/index.ts'),
    ])
    if (engine.name === 'fengari' && !isolated) onRoughLimit?.(roughLimit(lua.memory_mb))
    return { engine, bindings: createBindings(hostModules), limits }
  }

  return ({ isInstalled }) => {
    const isolated = lua.isolated === 'installed' ? isInstalled : lua.isolated
    const host = hosts.get(isolated) ?? load(isolated)
    hosts.set(isolated, host)
    return host
  }
}

/** Within one process, JavaScript objects cannot be attributed to a script. */
function roughLimit(megabytes: number): { readonly message: string; readonly hint: string } {
  return {
    message: `lua.memory_mb = ${megabytes} is only approximate with the engine fengari: a script that creates one longer string is stopped, others only when memory has grown far beyond it`,
    hint: 'Set lua.isolated = true to limit its heap, or lua.engine = "lua54", which counts all memory of a script.',
  }
}

/**
 * Loads the configured engine. Bundles have the file of their threads next to them; otherwise it is found
 * automatically. Without WebAssembly (`node --jitless`) it is fengari, which does not need it.
 */
async function loadEngine(engine: Settings['lua']['engine'], isolated: boolean): Promise<LuaEngine> {
  const chosen = 'WebAssembly' in globalThis ? engine : 'fengari'
  if (isolated) {
    const { createIsolatedEngine } = await import('../script/isolated/engine.ts')
    return createIsolatedEngine({ engine: chosen, ...defined({ workerFile: bundledFile('lua-worker.js') }) })
  }
  if (chosen === 'fengari') return (await import('../script/fengari/engine.ts')).loadFengari()
  return (await import('../script/lua54/engine.ts')).loadLua54()
}
