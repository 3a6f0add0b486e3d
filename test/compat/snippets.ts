import { expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { createBindings } from '../../src/script/bindings.ts'
import { loadFengari } from '../../src/script/fengari/engine.ts'
import { hostModules } from '../../src/script/host/index.ts'
import { loadLua54 } from '../../src/script/lua54/engine.ts'
import { runSection } from '../../src/script/section.ts'
import { tempTree } from '../helpers/temp.ts'
import { hostSection } from '../script/host/host-section.ts'

/** Lua code and its result, or a part of its error message. */
export type Snippet = readonly [code: string, expected: Json | RegExp]

export interface SnippetWorld {
  /** Files of the workspace, by path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** Lua code that runs before the snippets. */
  readonly helpers?: string
}

const engines = { lua54: loadLua54, fengari: loadFengari }

/** One test per engine that runs the snippets one after the other in one workspace. */
export function testSnippets(topic: string, snippets: readonly Snippet[], world: SnippetWorld = {}): void {
  const calls = snippets.map(([code]) => `try(function() ${code}\nend)\n`).join('')
  const text = `${world.helpers ?? ''}
local results = {}
local function try(work)
  local ok, value = pcall(work)
  results[#results + 1] = {value = value, error = not ok and tostring(value) or nil}
end
${calls}
return results`
  const limits = { timeMs: 20_000, instructions: 1e9, memoryBytes: 64 * 1024 * 1024 }
  for (const [name, load] of Object.entries(engines)) {
    it(`${topic} (${name})`, async () => {
      const { section } = hostSection(tempTree(world.files ?? {}))
      const host = { engine: await load(), bindings: createBindings(hostModules), limits }
      const chunk = { name: 'snippets', text }
      const results = await runSection(host, { chunk, fileText: text, variables: {} }, section)
      const given = (results as readonly { readonly value?: Json; readonly error?: string }[]).map(
        ({ value, error }, index) => [snippets[index]?.[0], error ?? value],
      )
      const expected = snippets.map(([code, value]) => [
        code,
        value instanceof RegExp ? (expect.stringMatching(value) as unknown) : value,
      ])
      expect(given).toStrictEqual(expected)
    })
  }
}
