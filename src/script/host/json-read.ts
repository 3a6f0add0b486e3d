import { type ExactJson, parseJsonc, parseStrictJson } from '../../base/jsonc.ts'
import type { LuaValue } from '../engine.ts'

/**
 * What `parseJsonc` reads, and fails with. Nearly all text is strict JSON, which the engine reads many times faster.
 * @throws JsonSyntaxError
 */
export function readRelaxedJson(text: string): LuaValue {
  return readExact(text) ?? parseJsonc(text)
}

/**
 * What `parseStrictJson` reads, and fails with.
 * @throws JsonSyntaxError
 */
export function readStrictJson(text: string): LuaValue {
  return readExact(text) ?? parseStrictJson(text)
}

/** Undefined, or null, when the slow reader has to look at the text. */
function readExact(text: string): ExactJson | undefined {
  try {
    const value = JSON.parse(text) as ExactJson
    return isExact(value, 0) ? value : undefined
  } catch {
    return undefined
  }
}

const deepest = 200

/** False where a number may have lost digits or is out of range, and below the depth the slow reader refuses. */
function isExact(value: ExactJson, depth: number): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) ? Number.isFinite(value) : Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth >= deepest) return false
  if (Array.isArray(value)) return value.every((item: ExactJson) => isExact(item, depth + 1))
  return Object.values(value).every((item: ExactJson) => isExact(item, depth + 1))
}
