import type { Json } from '../../base/json.ts'
import type { ToolResult } from '../../event/agent.ts'
import type { BoxAnswer, BoxFunction } from './program.ts'

export interface ToolFunctions<Tool> {
  readonly functions: readonly BoxFunction[]
  /** The tool of the function with this name; undefined if the function is not a tool. */
  readonly toolOf: (name: string) => Tool | undefined
}

/**
 * Each tool as a global function in camelCase, and by its own name in `tools["…"]`. A tool is only in `tools` if
 * its camelCase name is shared with another tool or a function in `others`, or cannot be used in a program.
 */
export function toolFunctions<Tool extends { readonly name: string }>(
  tools: readonly Tool[],
  others: readonly string[] = [],
): ToolFunctions<Tool> {
  const globals = tools.map(({ name }) => functionName(name))
  const byName = new Map<string, Tool>()
  const functions = tools.map((tool, index): BoxFunction => {
    const global = globals[index] ?? ''
    const isOwn = !others.includes(global) && globals.indexOf(global) === globals.lastIndexOf(global)
    const name = isOwn && isFreeName(global) ? global : `tools.${tool.name}`
    byName.set(name, tool)
    return { name, id: tool.name, waits: true }
  })
  return { functions, toolOf: (name) => byName.get(name) }
}

/** `weather.get-weather` becomes `weatherGetWeather`, `server__list_all` becomes `serverListAll`. */
export function functionName(tool: string): string {
  return tool.replace(/[._-]+(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/**
 * What a program gets for a call: the structured value if there is one, otherwise the value of the text, or an error
 * that it can catch.
 */
export function toolAnswer(
  tool: string,
  { text, structured, isError }: Pick<ToolResult, 'text' | 'structured' | 'isError'>,
  valueOf: (tool: string, text: string) => Json = (_, value) => value,
): BoxAnswer {
  if (isError !== true) return { value: structured ?? valueOf(tool, text) }
  return { error: `Tool "${tool}" failed: ${text.replace(`Error in tool "${tool}": `, '')}` }
}

/** Whether a program can have a function of this name and nothing else has the name. */
export function isFreeName(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name) && !taken.has(name)
}

/** Names that the box defines, reserved words, and globals of the language. */
const taken: ReadonlySet<string> = new Set(
  `tools input parallel console
  await break case catch class const continue debugger default delete do else enum export extends false finally for function
  if implements import in instanceof interface let new null package private protected public return static super switch this
  throw true try typeof var void while with yield arguments eval undefined NaN Infinity globalThis
  Object Function Symbol Number BigInt Boolean String RegExp Date Math JSON Reflect Proxy Promise Iterator Intl Temporal
  Array Map Set WeakMap WeakSet WeakRef FinalizationRegistry Atomics SharedArrayBuffer ArrayBuffer DataView Uint8ClampedArray
  Int8Array Uint8Array Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array
  Float64Array Error AggregateError EvalError InternalError RangeError ReferenceError SyntaxError TypeError URIError
  DOMException parseInt parseFloat isNaN isFinite queueMicrotask decodeURI decodeURIComponent encodeURI encodeURIComponent
  escape unescape performance`.split(/\s+/),
)
