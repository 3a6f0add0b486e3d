import type { ToolResult } from '../../event/agent.ts'
import type { BoxAnswer, BoxFunction } from './program.ts'

/** Tools as functions of a program. */
export interface ToolFunctions<Tool> {
  readonly functions: readonly BoxFunction[]
  /** The tool of a function by the name of that; undefined: it is none of these. */
  readonly toolOf: (name: string) => Tool | undefined
}

/**
 * Each tool as a global function in camelCase, and by its own name in `tools["…"]` (R187). Tools that would have the same
 * name, that of a function in `others`, or none that a program can write, are only in `tools`.
 */
export function toolFunctions<Tool extends { readonly name: string }>(
  tools: readonly Tool[],
  others: readonly string[] = [],
): ToolFunctions<Tool> {
  const globals = tools.map(({ name }) => functionName(name))
  const taken = new Set([...others, ...ownGlobals])
  const byName = new Map<string, Tool>()
  const functions = tools.map((tool, index): BoxFunction => {
    const global = globals[index] ?? ''
    const isOwn = !taken.has(global) && globals.indexOf(global) === globals.lastIndexOf(global)
    const name = isOwn && isIdentifier(global) ? global : `tools.${tool.name}`
    byName.set(name, tool)
    return { name, id: tool.name, waits: true }
  })
  return { functions, toolOf: (name) => byName.get(name) }
}

/** `weather.get-weather` is `weatherGetWeather`, `server__list_all` is `serverListAll`. */
export function functionName(tool: string): string {
  return tool.replace(/[._-]+(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** What a program is told of a call: its text, or the error that it can catch. */
export function toolAnswer(tool: string, { text, isError }: ToolResult): BoxAnswer {
  if (isError !== true) return { value: text }
  return { error: `Tool "${tool}" failed: ${text.replace(`Error in tool "${tool}": `, '')}` }
}

/** What the box itself gives programs. */
const ownGlobals = ['tools', 'input', 'parallel', 'console']

/** Words that cannot be the name of a variable, and globals of the language, which programs use. */
const reserved = new Set(
  `await break case catch class const continue debugger default delete do else enum export extends false finally for function
  if implements import in instanceof interface let new null package private protected public return static super switch this
  throw true try typeof var void while with yield arguments eval undefined NaN Infinity globalThis Object Array String Number
  Boolean Symbol Math JSON Date RegExp Map Set Promise Error Proxy Reflect BigInt Function Iterator`.split(/\s+/),
)

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name) && !reserved.has(name)
}
