import { createScriptLoader } from '../../agent/script-loader.ts'
import { messageOf } from '../../base/error.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import { LuaError, type LuaValue } from '../../script/engine.ts'
import { luaToJson } from '../../script/values.ts'

/** What a Lua expression gave, or why it gave nothing. */
type Evaluated =
  | { readonly kind: 'value'; readonly value: Json | undefined }
  | { readonly kind: 'wrong'; readonly message: string; readonly line?: number | undefined; readonly isLimit: boolean }

export interface Expressions {
  /** `variables` are all that it sees besides the functions of Lua itself; null in them is nil. */
  readonly evaluate: (code: string, variables: JsonObject, signal: AbortSignal) => Promise<Evaluated>
}

/** An expression as the chunk that gives its value: the first line of both is the same. */
export function chunkOf(code: string): string {
  return `return (${code}\n)`
}

/**
 * Evaluates Lua expressions within the limits of `[lua]`, each in a state of its own that reaches no files, programs,
 * clocks or chance: the same variables give the same value. The engine is loaded with the first one.
 */
export function createExpressions(
  lua: Settings['lua'],
  { isInstalled }: { readonly isInstalled: boolean },
): Expressions {
  const load = createScriptLoader(lua)
  return {
    async evaluate(code, variables, signal) {
      const { engine, limits } = await load({ isInstalled })
      const state = engine.createState({ functions: [], modules: [], limits, seed: () => 0 })
      try {
        const [value] = await state.run({ name: 'expression', text: chunkOf(code) }, withoutNulls(variables), signal)
        return { kind: 'value', value: value === undefined ? undefined : luaToJson(value) }
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof LuaError)) return { kind: 'wrong', message: messageOf(error), isLimit: false }
        return { kind: 'wrong', message: error.message, line: error.line, isLimit: error.limit !== undefined }
      } finally {
        state.close()
      }
    },
  }
}

/** A null is a value in Lua, and true: what is not there is nil. */
function withoutNulls(variables: JsonObject): { readonly [name: string]: LuaValue } {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]): readonly (readonly [string, LuaValue])[] =>
      value === null ? [] : [[name, value as LuaValue]],
    ),
  )
}
