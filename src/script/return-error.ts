import { BatonError, messageOf, type SourcePlace } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { LuaChunk, LuaError, LuaValue } from './engine.ts'
import { codeOf } from './error-range.ts'
import { luaToJson } from './values.ts'

/** The file of a section. */
export type SectionFile = Required<Pick<SourcePlace, 'file' | 'text'>>

/**
 * What a section returned, as JSON; undefined for nil.
 * @throws BatonError of `returnError`
 */
export function returnedJson(value: LuaValue, chunk: LuaChunk, file: SectionFile): Json | undefined {
  try {
    return value === undefined ? undefined : luaToJson(value)
  } catch (error) {
    throw returnError(error, chunk, file)
  }
}

/** An engine knows a line of everything but the values that a chunk returned, which it reads when the chunk is over. */
export function isOfReturn({ chunk, line, limit, cause }: LuaError, { name }: LuaChunk): boolean {
  return chunk === name && line === undefined && limit === undefined && cause === undefined
}

/** SCRIPT_FAILED for a value that cannot leave its section: at the only `return`, else without a line. */
export function returnError(error: unknown, { text }: LuaChunk, file: SectionFile): BatonError {
  const line = onlyReturn(text)
  return new BatonError('SCRIPT_FAILED', messageOf(error), {
    cause: error,
    hint: 'Return texts, finite numbers, true, false, nil, null, or tables of these.',
    ...(line === undefined ? {} : { place: { ...file, line } }),
  })
}

function onlyReturn(text: string): number | undefined {
  const [line, second] = text.split('\n').flatMap((code, index) => (/\breturn\b/.test(codeOf(code)) ? [index + 1] : []))
  return second === undefined ? line : undefined
}
