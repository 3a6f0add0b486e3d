import { createScriptLoader } from '../../agent/script-loader.ts'
import { messageOf } from '../../base/error.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import { LuaError, type LuaValue } from '../../script/engine.ts'
import { luaToJson } from '../../script/values.ts'

/** The value of a Lua expression, or why it has none. */
type Evaluated =
  | { readonly kind: 'value'; readonly value: Json | undefined }
  | { readonly kind: 'wrong'; readonly message: string; readonly line?: number | undefined; readonly isLimit: boolean }

export interface Expressions {
  /** Only `variables` and the functions of Lua itself are visible; null in variables is nil. */
  readonly evaluate: (code: string, variables: JsonObject, signal: AbortSignal) => Promise<Evaluated>
}

/** The chunk that returns the value of an expression; line numbers of both are the same. */
export function chunkOf(code: string): string {
  return `return (${code}\n)`
}

/**
 * Evaluates Lua expressions within the limits of `[lua]`, each in its own state without access to files, programs,
 * clocks or randomness, so the same variables give the same value. The engine is loaded with the first expression.
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

/** Replaces null by nil, because the null value of scripts is true in Lua. */
function withoutNulls(variables: JsonObject): { readonly [name: string]: LuaValue } {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]): readonly (readonly [string, LuaValue])[] =>
      value === null ? [] : [[name, value as LuaValue]],
    ),
  )
}
