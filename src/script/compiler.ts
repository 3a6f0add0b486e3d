import { type LuaChunk, LuaError, type LuaState } from './engine.ts'
import type { ScriptHost } from './section.ts'

/** Compiles Lua without running it; returns the error, if any. */
export interface LuaCompiler {
  compile(chunk: LuaChunk): Promise<LuaError | undefined>
  close(): void
}

/** One state is enough for all chunks: none of them reaches its first statement. */
export function createCompiler({ engine, limits }: Pick<ScriptHost, 'engine' | 'limits'>): LuaCompiler {
  const { signal } = new AbortController()
  let state: LuaState | undefined

  function close(): void {
    state?.close()
    state = undefined
  }

  return {
    close,
    async compile({ name, text }) {
      state ??= engine.createState({ functions: [], modules: [], limits, seed: () => 0 })
      try {
        await state.run({ name, text: `do return end ${text}` }, {}, signal)
        return undefined
      } catch (error) {
        close()
        if (error instanceof LuaError) return error
        throw error
      }
    },
  }
}
