import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Settings } from './config/settings.ts'
import type { ScriptHost } from './script/section.ts'

/** Gives the Lua engine with all host modules; loaded at the first call and shared by a run's sections. */
export function createScriptLoader({
  timeout_ms,
  instructions,
  memory_mb,
}: Settings['lua']): () => Promise<ScriptHost> {
  let host: Promise<ScriptHost> | undefined
  const limits = { timeMs: timeout_ms, instructions, memoryBytes: memory_mb * 1024 * 1024 }

  async function load(): Promise<ScriptHost> {
    const [{ loadLua54 }, { hostModules }] = await Promise.all([
      import('./script/lua54/engine.ts'),
      import('./script/host/index.ts'),
    ])
    return { engine: await loadLua54(wasmOption()), modules: hostModules, limits }
  }

  return () => (host ??= load())
}

/** The bundled command has the engine's wasm in its own folder; elsewhere the package is asked for it. */
function wasmOption(): { readonly wasmFile?: string } {
  const here = dirname(fileURLToPath(import.meta.url))
  const bundled = [join(here, 'glue.wasm'), join(here, '..', 'glue.wasm')].find((file) => existsSync(file))
  return bundled === undefined ? {} : { wasmFile: bundled }
}
