import { BatonError, isBatonError, messageOf, rewordError, type SourcePlace, stopsRun } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { type LuaChunk, LuaError, type LuaValue } from './engine.ts'
import type { Section } from './host/module.ts'
import type { SectionSource } from './section.ts'
import { textWithoutLine } from './error-for-script.ts'
import { luaToJson } from './values.ts'

/**
 * The error of a section as a BatonError with its place. An error that already is one, and not a Lua error, is returned
 * unchanged.
 */
export function scriptError(thrown: unknown, { chunk, fileText }: SectionSource, section: Section): unknown {
  const error = withLimitOfCause(thrown)
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
  const hint = (isBatonError(error.cause) ? error.cause.hint : undefined) ?? hintOf(error, inModule !== undefined)
  const message = textWithoutLine(
    inModule?.message ?? error.message,
    error.cause,
    section.context.scope.folders.workspace,
  )
  const raised = withRange(inModule?.place ?? place, message)
  const above = isBatonError(error.cause) && child !== undefined ? error.cause.trail : []
  return new BatonError(error.limit === undefined ? 'SCRIPT_FAILED' : 'LIMIT', message, {
    place: child ?? raised,
    trail: child === undefined ? trailTo(raised, calls, section.agentFile) : [...above, ...calls],
    cause,
    hint,
  })
}

/** A limit reached in a host function becomes a limit of the script, at the line of the call. */
function withLimitOfCause(error: unknown): unknown {
  if (!(error instanceof LuaError && error.cause instanceof LuaError && error.cause.limit !== undefined)) return error
  const { chunk, line, traceback, cause } = error
  return new LuaError(cause.message, { chunk, line, traceback, limit: cause.limit })
}

/** A module may have been called in a `return`, for which Lua keeps no line: then the agent's file is added. */
function trailTo(raised: SourcePlace, calls: readonly SourcePlace[], agentFile: string): readonly SourcePlace[] {
  const above = calls.filter((call) => !isSameLine(call, raised))
  return [raised, ...above].some(({ file }) => file === agentFile) ? above : [...above, { file: agentFile }]
}

/** The place where an agent called from here has failed. A cycle has no such line: it is shown where it is entered. */
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
  none: 'Fix this line of the agent, or catch the error with pcall.',
}

/** Lua could not compile the code: the line that is wrong is known only approximately. */
export const syntaxHint = 'Lua stopped reading here; the mistake is on this line or above it.'

/** Code that never ran has no traceback; a module that does not compile is recognized by the compiler's message. */
function hintOf({ limit, line, traceback, cause, message }: LuaError, isModule: boolean): string {
  if (limit !== undefined) return hints[limit]
  const isSyntax = isModule ? /\bnear (?:'.*'|<\w+>)$/s.test(message) : traceback === undefined && line !== undefined
  return isSyntax && cause === undefined ? syntaxHint : hints.none
}

type SectionFile = Required<Pick<SourcePlace, 'file' | 'text'>>

/** What a section returned, as JSON; undefined for nil. @throws BatonError of `returnError` */
export function returnedJson(value: LuaValue, chunk: LuaChunk, file: SectionFile): Json | undefined {
  try {
    return value === undefined ? undefined : luaToJson(value)
  } catch (error) {
    throw returnError(error, chunk, file)
  }
}

/**
 * An engine knows a line for everything except the values that a chunk returned: it reads those when the chunk is over.
 */
function isOfReturn({ chunk, line, limit, cause }: LuaError, { name }: LuaChunk): boolean {
  return chunk === name && line === undefined && limit === undefined && cause === undefined
}

/** SCRIPT_FAILED for a value that cannot leave its section: at the only `return`, otherwise without a line. */
function returnError(error: unknown, { text }: LuaChunk, file: SectionFile): BatonError {
  const line = onlyReturn(text)
  return new BatonError('SCRIPT_FAILED', messageOf(error), {
    cause: error,
    hint: 'Return strings, finite numbers, true, false, nil, null, or tables of these.',
    ...(line === undefined ? {} : { place: { ...file, line } }),
  })
}

function onlyReturn(text: string): number | undefined {
  const [line, second] = text.split('\n').flatMap((code, index) => (/\breturn\b/.test(codeOf(code)) ? [index + 1] : []))
  return second === undefined ? line : undefined
}

/** Lua's own traceback omits the middle of deep recursion; this many lines of it are enough. */
const mostLines = 20

/**
 * The lines that an uncaught error passed through, innermost first, without consecutive repeats: those of Lua's
 * traceback whose chunk `fileOf` knows.
 */
function callLines(
  { traceback = '' }: Pick<LuaError, 'traceback'>,
  fileOf: (chunk: string) => SectionFile | undefined,
): readonly SourcePlace[] {
  const lines = [...traceback.matchAll(/^\t(.+?):(\d+): in /gm)].flatMap(([, chunk = '', line]): SourcePlace[] => {
    const source = fileOf(chunk)
    return source === undefined ? [] : [{ file: source.file, line: Number(line), text: source.text }]
  })
  return lines.filter((place, index) => !isSameLine(place, lines[index - 1])).slice(0, mostLines)
}

function isSameLine(left: SourcePlace, right: SourcePlace | undefined): boolean {
  return right !== undefined && left.file === right.file && left.line === right.line
}

/**
 * Lua reports the line of an error but no column. It does name the variable, field or token at fault: if that name
 * appears exactly once on the line, outside strings and comments, it gives the column.
 */
export function withRange(place: SourcePlace, message: string): SourcePlace {
  const { line, text, column } = place
  const name = nameIn(message)
  if (line === undefined || text === undefined || column !== undefined || name === undefined) return place
  const code = codeOf(text.split('\n')[line - 1] ?? '')
  const [first, second] = code.matchAll(patternOf(name))
  if (first === undefined || second !== undefined) return place
  const start = first.index + 1
  return { ...place, column: start, endLine: line, endColumn: start + name.length }
}

/** `attempt to index a nil value (local 't')`, `unexpected symbol near 'x'`, `'end' expected near 'local'`. */
function nameIn(message: string): string | undefined {
  const variable = /\((?:local|global|field|upvalue|method|constant) '([^']+)'\)$/.exec(message)?.[1]
  const token = / near '(.+)'$/.exec(message)?.[1]
  return variable ?? token
}

function patternOf(name: string): RegExp {
  const escaped = name.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
  return /^\w+$/.test(name) ? new RegExp(String.raw`(?<![\w])${escaped}(?![\w])`, 'g') : new RegExp(escaped, 'g')
}

/** The line with its strings and comment blanked out; every character keeps its column. */
function codeOf(line: string): string {
  const withoutStrings = line.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, (text) => ' '.repeat(text.length))
  return withoutStrings.replace(/--.*$/, (text) => ' '.repeat(text.length))
}
