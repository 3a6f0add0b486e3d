import { BatonError, isBatonError, messageOf, rewordError, type SourcePlace, stopsRun } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { givenWithoutLimits } from '../event/limits.ts'
import { bindFunctions, type HostBindings } from './bindings.ts'
import { callLines, isSameLine } from './call-lines.ts'
import { type LuaChunk, type LuaEngine, LuaError, type LuaLimits, type LuaValue } from './engine.ts'
import { withRange } from './error-range.ts'
import type { Section } from './host/module.ts'
import { createLoadedModules } from './loaded-modules.ts'
import { isOfReturn, returnedJson, returnError } from './return-error.ts'
import { untoldText } from './told-error.ts'

/** What running sections needs besides the section: made once per run. */
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
 * Runs one section in a fresh Lua state and gives its first value as JSON; undefined for nil. The section is a
 * boundary: it is recorded whole. Its host calls that observe or act are numbered from 0 in the order they are made.
 * @throws BatonError SCRIPT_FAILED (or LIMIT) with the place in the agent file or in the module it was raised in; the
 * host's own error is the cause
 */
export async function runSection(host: ScriptHost, source: SectionSource, section: Section): Promise<Json | undefined> {
  const { context } = section
  const work = async (): Promise<Json | undefined> => {
    const loaded = createLoadedModules()
    const state = host.engine.createState({
      functions: bindFunctions(host.bindings, { ...section, loaded }),
      modules: host.bindings.chunks,
      limits: host.limits,
      seed: createSeed(section),
    })
    try {
      const [value] = await state.run(source.chunk, source.variables, context.signal)
      return returnedJson(value, source.chunk, { file: section.agentFile, text: source.fileText })
    } catch (error) {
      context.signal.throwIfAborted()
      throw scriptError(error, source, { ...section, loaded })
    } finally {
      state.close()
    }
  }
  const inputs = givenWithoutLimits({ code: source.chunk.text, ...source.variables })
  return context.effects.boundary(context.at, work, { inputs })
}

/** `math.random` differs from run to run, but a resumed section sees the numbers it saw before. */
function createSeed({ context }: Section): () => number {
  return () =>
    context.effects.observe([...context.at, 'seed'], { name: 'math.randomseed', args: [] }, () =>
      Math.floor(Math.random() * 2 ** 52),
    )
}

function scriptError(error: unknown, { chunk, fileText }: SectionSource, section: Section): unknown {
  if (!(error instanceof LuaError)) {
    if (isBatonError(error)) return error
    return new BatonError('SCRIPT_FAILED', messageOf(error), {
      place: { file: section.agentFile },
      cause: error,
    })
  }
  if (isOfReturn(error, chunk)) return returnError(error, chunk, { file: section.agentFile, text: fileText })
  const inModule = section.loaded?.locate(error)
  const calls = callLines(error, (name) =>
    name === chunk.name ? { file: section.agentFile, text: fileText } : section.loaded?.find(name),
  )
  const child = placeOfChild(error.cause)
  const own = error.chunk === undefined || error.chunk === chunk.name
  const place =
    own && error.line !== undefined
      ? { file: section.agentFile, line: error.line, text: fileText }
      : { file: section.agentFile }
  if (isBatonError(error.cause) && stopsRun(error.cause))
    return rewordError(error.cause, { place: child ?? inModule?.place ?? place })
  const cause = isBatonError(error.cause) ? error.cause : error
  const hint = (isBatonError(error.cause) ? error.cause.hint : undefined) ?? hints[error.limit ?? 'none']
  const message = untoldText(inModule?.message ?? error.message, error.cause, section.context.workspace)
  const raised = withRange(inModule?.place ?? place, message)
  const above = isBatonError(error.cause) && child !== undefined ? error.cause.trail : []
  return new BatonError(error.limit === undefined ? 'SCRIPT_FAILED' : 'LIMIT', message, {
    place: child ?? raised,
    trail: child === undefined ? trailTo(raised, calls, section.agentFile) : [...above, ...calls],
    cause,
    hint,
  })
}

/** A module may have been called in a `return`, of which Lua keeps no line: then the agent's file is named. */
function trailTo(raised: SourcePlace, calls: readonly SourcePlace[], agentFile: string): readonly SourcePlace[] {
  const above = calls.filter((call) => !isSameLine(call, raised))
  return [raised, ...above].some(({ file }) => file === agentFile) ? above : [...above, { file: agentFile }]
}

/** Where an agent that was run from here has failed. A cycle has no such line: it is shown where it is entered. */
function placeOfChild(cause: unknown): SourcePlace | undefined {
  if (!isBatonError(cause) || cause.place?.line === undefined) return undefined
  for (let root: unknown = cause; isBatonError(root); root = root.cause) {
    if (root.code === 'AGENT_CYCLE') return undefined
  }
  return cause.place
}

const hints: Readonly<Record<'time' | 'instructions' | 'memory' | 'none', string>> = {
  time: 'Raise it with [lua] timeout = "5m" if the script really needs longer.',
  instructions: 'Raise it with [lua] instructions = … if the script really needs more.',
  memory: 'Raise it with [lua] memory_mb = … if the script really needs more.',
  none: 'Fix this line of the agent, or let it go on after an error with pcall.',
}
