import { besideUs } from '../base/beside.ts'
import { defined } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import { createBindings } from '../script/bindings.ts'
import type { LuaEngine } from '../script/engine.ts'
import type { ScriptHost } from '../script/section.ts'
import type { LoadScripts } from './parts.ts'

export interface ScriptLoading {
  /** Told once when an engine is used that does not hold `lua.memory_mb` exactly; left out where nobody has set that. */
  readonly onRoughLimit?: ((warning: { readonly message: string; readonly hint: string }) => void) | undefined
}

/**
 * Gives the Lua engine with all host modules; loaded at the first call and shared by a run's sections. Without a setting
 * the scripts of installed packs are isolated.
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

/** In one process nobody can say whose JavaScript objects are whose. */
function roughLimit(megabytes: number): { readonly message: string; readonly hint: string } {
  return {
    message: `lua.memory_mb = ${megabytes} is held only roughly by the engine fengari: a script that makes one longer text is stopped, others when memory has grown far beyond it`,
    hint: 'With lua.isolated = true its heap is limited; lua.engine = "lua54" counts all that a script holds.',
  }
}

/** The engine that is configured; the bundled command has its wasm and worker beside it, elsewhere they are found without help. Without WebAssembly (`node --jitless`) it is the one that needs none. */
async function loadEngine(engine: Settings['lua']['engine'], isolated: boolean): Promise<LuaEngine> {
  const chosen = 'WebAssembly' in globalThis ? engine : 'fengari'
  const wasm = defined({ wasmFile: besideUs('glue.wasm') })
  if (isolated) {
    const { createIsolatedEngine } = await import('../script/isolated/engine.ts')
    return createIsolatedEngine({ engine: chosen, ...wasm, ...defined({ workerFile: besideUs('lua-worker.js') }) })
  }
  if (chosen === 'fengari') return (await import('../script/fengari/engine.ts')).loadFengari()
  return (await import('../script/lua54/engine.ts')).loadLua54(wasm)
}
