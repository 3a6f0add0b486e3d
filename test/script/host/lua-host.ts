import type { Json } from '../../../src/base/json.ts'
import { createBindings } from '../../../src/script/bindings.ts'
import { loadLua54 } from '../../../src/script/lua54/engine.ts'
import { hostModules } from '../../../src/script/host/index.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { runSection } from '../../../src/script/section.ts'
import type { HostSection } from './host-section.ts'

/** Runs Lua code as a section, with all host modules on the real engine, and returns its first value. */
export async function runLua(
  { section }: HostSection,
  code: string,
  variables: { readonly [name: string]: LuaValue } = {},
): Promise<Json | undefined> {
  const limits = { timeMs: 20_000, instructions: 1e9, memoryBytes: 64 * 1024 * 1024 }
  const host = { engine: await loadLua54(), bindings: createBindings(hostModules), limits }
  return runSection(host, { chunk: { name: 'agent.aip', text: code }, fileText: code, variables }, section)
}
