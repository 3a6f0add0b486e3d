import type { Json } from '../base/json.ts'

/** A value for people: texts as they are, everything else as JSON over several lines. */
export function dataText(value: unknown): string {
  if (value === undefined) return '(nothing)'
  return typeof value === 'string' ? value : JSON.stringify(value, (_key, item: unknown) => plain(item), 2)
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? `(${value.length} bytes)` : value
}

/** JSON over several lines, broken also behind each line break in a text: it can be compared line by line. */
export function brokenLines(value: Json): string {
  return JSON.stringify(value, undefined, 2).replaceAll(/(\\\\)|\\n(?!")/g, (found, slash) =>
    slash ? found : `${found}\n`,
  )
}
