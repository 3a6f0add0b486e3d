import type { Json, JsonObject } from './json.ts'

/** Data as TOML with each key on its own line, tables inside braces. Nulls are omitted. */
export function tomlLines(data: JsonObject): string {
  return entriesOf(data)
    .map((entry) => `${entry}\n`)
    .join('')
}

function entriesOf(data: JsonObject): readonly string[] {
  return Object.entries(data).flatMap(([key, value]) =>
    value === null ? [] : [`${keyText(key)} = ${valueText(value)}`],
  )
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : textOf(key)
}

function valueText(value: Json): string {
  if (typeof value === 'string') return textOf(value)
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  if (value !== null && typeof value === 'object') return `{ ${entriesOf(value as JsonObject).join(', ')} }`
  return String(value)
}

/** Of JSON strings, TOML refuses only a raw DEL. */
function textOf(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`)
}
