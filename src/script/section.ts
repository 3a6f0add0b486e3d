import { part } from '../event/place.ts'
import type { Json } from '../base/json.ts'
import { sectionInputWithoutLimits } from '../event/limits.ts'
import { bindFunctions, type HostBindings } from './bindings.ts'
import { stopsRun } from '../base/error.ts'
import { limitOf, type LuaChunk, type LuaEngine, LuaError, type LuaLimits, type LuaValue } from './engine.ts'
import type { Section } from './host/module.ts'
import { createLoadedModules } from './module-reader.ts'
import { startSectionClock } from './section-clock.ts'
import { returnedJson, scriptError } from './section-error.ts'

/** What it takes to run sections besides the section itself: created once per run. */
export interface ScriptHost {
  readonly engine: LuaEngine
  readonly bindings: HostBindings
  readonly limits: LuaLimits
}

export interface SectionSource {
  /** Its line numbers are those of the agent file. */
  readonly chunk: LuaChunk
  /** Text of the whole agent file, for code frames. */
  readonly fileText: string
  readonly variables: { readonly [name: string]: LuaValue }
}

/**
 * Runs one section in a fresh Lua state and returns its first value as JSON; undefined for nil. The section is a
 * boundary: it is recorded as a whole. Its host calls that observe or act are numbered from 0 in the order they are
 * made.
 * @throws BatonError SCRIPT_FAILED (or LIMIT) with the place in the agent file or in the module where it was raised;
 * the host function's own error is the cause
 */
export async function runSection(host: ScriptHost, source: SectionSource, section: Section): Promise<Json | undefined> {
  const { context } = section
  const work = async (): Promise<Json | undefined> => {
    const loaded = createLoadedModules()
    const clock = startSectionClock(host.limits)
    const computing = { limits: host.limits, clock, shownBytes: 0 }
    const { functions, stopped, ended } = bindFunctions(host.bindings, { ...section, loaded, computing })
    const state = host.engine.createState({
      functions,
      modules: host.bindings.chunks,
      limits: host.limits,
      seed: createSeed(section),
    })
    try {
      const [value] = await state.run(source.chunk, source.variables, context.services.signal)
      const stop = stopped()
      if (stop !== undefined) throw stop.error
      return returnedJson(value, source.chunk, { file: section.agentFile, text: source.fileText })
    } catch (error) {
      context.services.signal.throwIfAborted()
      const stop = stopped()
      const thrown = stop === undefined || isOf(error, stop.error) ? error : atLineOf(error, stop.error)
      throw stopsRun(thrown) ? thrown : scriptError(thrown, source, { ...section, loaded })
    } finally {
      clock.stop()
      state.close()
      // its calls are stopped as well, and none of them continues after the section has ended
      if (context.services.signal.aborted) await ended()
    }
  }
  const inputs = sectionInputWithoutLimits({ code: source.chunk.text, ...source.variables })
  return context.services.effects.boundary(context.scope.at, work, { inputs })
}

/** The error with which a host function stopped the section, at the line where the engine ended it. */
function atLineOf(error: unknown, stop: unknown): unknown {
  const isSame = error instanceof LuaError && error.limit !== undefined && limitOf(stop) === error.limit
  if (!isSame || !(stop instanceof LuaError)) return stop
  const { chunk, line, traceback, limit } = error
  return new LuaError(stop.message, { chunk, line, traceback, limit })
}

/** Whether this is Lua's error for the call that was stopped. */
function isOf(error: unknown, stop: unknown): boolean {
  return error instanceof LuaError && error.cause === stop
}

/** `math.random` differs from run to run, but a resumed section gets the same numbers as before. */
function createSeed({ context }: Section): () => number {
  return () =>
    context.services.effects.observe([...context.scope.at, part('seed')], { name: 'math.randomseed', args: [] }, () =>
      Math.floor(Math.random() * 2 ** 52),
    )
}
