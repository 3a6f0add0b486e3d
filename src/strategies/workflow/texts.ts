import { createScriptLoader } from '../../agent/script-loader.ts'
import { messageOf, type SourcePlace } from '../../base/error.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import { LuaError, type LuaValue } from '../../script/engine.ts'
import { luaToJson } from '../../script/values.ts'
import type { DataPath } from '../../base/data-text.ts'
import { placeOf, type PromptDocument } from '../../prompt/document.ts'

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

/** A text of the front matter, and its position in the file. */
export interface WrittenText {
  readonly text: string
  /** The range of the whole value, with its quotes. */
  readonly place: SourcePlace
  /** The position of its first character; undefined if the file has it in another form, with escapes or indented. */
  readonly start: SourcePlace | undefined
}

/** Finds a text of the front matter in the file. */
export async function writtenText(document: PromptDocument, path: DataPath, text: string): Promise<WrittenText> {
  const place = await placeOf(document, path, 'value')
  const { line, column, endLine, endColumn } = place
  if (line === undefined || column === undefined || endLine === undefined || endColumn === undefined) {
    return { text, place, start: undefined }
  }
  const lines = place.text?.split('\n') ?? []
  const shown = lines.slice(line - 1, endLine)
  shown[shown.length - 1] = (shown.at(-1) ?? '').slice(0, endColumn - 1)
  shown[0] = (shown[0] ?? '').slice(column - 1)
  const offset = shown.join('\n').indexOf(text)
  if (offset === -1 || text === '') return { text, place, start: undefined }
  const [first = '', ...others] = shown.join('\n').slice(0, offset).split('\n')
  const last = others.at(-1)
  const { file, text: whole } = place
  const at =
    last === undefined
      ? { line, column: column + first.length }
      : { line: line + others.length, column: last.length + 1 }
  return { text, place, start: { file, ...(whole === undefined ? {} : { text: whole }), ...at } }
}

/** The place of the part of the text at an offset; the whole value if that is not known. */
export function placeInText({ text, place, start }: WrittenText, offset: number, length: number): SourcePlace {
  if (start === undefined || offset < 0) return place
  const from = positionOf(text, offset, start)
  const to = positionOf(text, offset + length, start)
  return { ...start, ...from, endLine: to.line, endColumn: to.column }
}

function positionOf(text: string, offset: number, { line = 1, column = 1 }: SourcePlace) {
  const before = text.slice(0, offset).split('\n')
  const last = before.at(-1) ?? ''
  return { line: line + before.length - 1, column: (before.length === 1 ? column : 1) + last.length }
}

/** The place of a line of the text, from 1. */
export function lineInText(written: WrittenText, line: number | undefined): SourcePlace {
  const lines = written.text.split('\n')
  const at = Math.min(line ?? 1, lines.length) - 1
  const offset = lines.slice(0, at).reduce((sum, each) => sum + each.length + 1, 0)
  return placeInText(written, offset, lines[at]?.length ?? 0)
}
