import { BatonError, type ErrorCode } from './error.ts'
import type { JsonObject } from './json.ts'

/** Keys and list indices (from 0) that lead to a value: `['sub_agents', 1, 'stage']`. */
export type DataPath = readonly (string | number)[]

/**
 * Counted from 1, in the whole file. Columns count UTF-16 units; a tab is one. The end, if known, is the column after
 * the last character.
 */
export interface TextPosition {
  readonly line: number
  readonly column: number
  readonly endLine?: number
  readonly endColumn?: number
}

/** A block of TOML or YAML inside a file, or a whole file. */
export interface DataSource {
  /** Name of the file in errors. */
  readonly file: string
  /** The whole file, for the code frame. */
  readonly text: string
  readonly block: string
  /** Line of the file on which the block starts, from 1. */
  readonly firstLine: number
  /** What the block is, in messages: `the front matter`. */
  readonly what: string
  readonly code: ErrorCode
}

export interface DataText {
  readonly data: JsonObject
  /**
   * Position of the key (or the value) at a path, or of its nearest parent that is written in the file. Asynchronous
   * because the code that finds positions is loaded at the first call.
   */
  readonly locate: (path: DataPath, part?: 'key' | 'value') => Promise<TextPosition | undefined>
}

/** Values nested deeper than this are refused, so that nothing later overflows the stack. */
export const maxDataDepth = 100

/** The block after empty lines, so that positions in it are positions in the file. */
export function paddedBlock({ block, firstLine }: DataSource): string {
  return '\n'.repeat(firstLine - 1) + block
}

/** The error for an invalid block, with its position in the whole file. */
export function dataError(
  { file, text, what, code }: DataSource,
  { reason, hint }: { readonly reason: string; readonly hint: string },
  position: TextPosition,
): BatonError {
  return new BatonError(code, `${what} ${reason}`, { hint, place: { file, text, ...position } })
}

/** A path as users write it: `lua.timeout`, `context_globs[1]`, `model_aliases."a b"`. */
export function pathText(path: DataPath): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`
      const name = /^[\w-]+$/.test(step) ? step : JSON.stringify(step)
      return index === 0 ? name : `.${name}`
    })
    .join('')
}

/** The same for messages: in quotes unless it has some. */
export function quotedPath(path: DataPath): string {
  const text = pathText(path)
  return text.includes('"') ? text : `"${text}"`
}
