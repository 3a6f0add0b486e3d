import { isJsonObject, type Json } from '../base/json.ts'
import { referencesIn } from '../base/references.ts'

/** Server settings for display: possible secrets are hidden, the names of variables are not. */
export function shownServer(value: Json): Json {
  if (!isJsonObject(value)) return value
  const hidden = (table: Json): Json =>
    isJsonObject(table)
      ? Object.fromEntries(Object.entries(table).map(([key, inner]) => [key, hiddenText(inner)]))
      : table
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === 'env' || key === 'headers' ? hidden(inner) : inner]),
  )
}

function hiddenText(value: Json): Json {
  if (typeof value !== 'string' || value === '') return value
  const references = referencesIn(value)
  return references.length > 0 && references.every(({ fallback }) => fallback === undefined) ? value : '(hidden)'
}
