import type { Json, JsonObject } from '../../src/base/json.ts'
import { agentWorld } from '../helpers/agents.ts'

type Files = { readonly [path: string]: string }

/** What this code returns as an agent in a workspace with these files; `input` is in its scope. */
export async function luaResult(code: string, input: Json = null, files: Files = {}): Promise<Json | undefined> {
  const { run } = agentWorld({ ...files, 'vector.lua': code })
  return (await run('vector.lua', [input])).outputs[0]
}

/**
 * The values that a function of `aip` returns for these arguments; nil at the end is omitted, elsewhere it becomes
 * null.
 */
export async function luaCall(name: string, args: readonly Json[], files: Files = {}): Promise<readonly Json[]> {
  const code = `
    local found = table.pack(aip.${name}(table.unpack(input, 1, ${args.length})))
    local count, values = found.n, {}
    while count > 0 and found[count] == nil do count = count - 1 end
    for i = 1, count do values[i] = value_or(found[i], null) end
    return { count = count, values = values }`
  const { count, values } = (await luaResult(code, [...args], files)) as JsonObject
  return count === 0 ? [] : (values as readonly Json[])
}
