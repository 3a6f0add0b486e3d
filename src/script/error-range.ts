import type { SourcePlace } from '../base/error.ts'

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
export function codeOf(line: string): string {
  const withoutStrings = line.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, (text) => ' '.repeat(text.length))
  return withoutStrings.replace(/--.*$/, (text) => ' '.repeat(text.length))
}
