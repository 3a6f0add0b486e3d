import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import type { SourcedValue } from '../config/layers.ts'

/** The variables of programs, by the names of their agents. */
type Programs = Readonly<Record<string, { readonly env: Readonly<Record<string, string>> }>>

/** Programs with variables of their own, as `[agents]` defines them; undefined: there is none. */
export function programsOf(origins: readonly SourcedValue[]): Programs | undefined {
  const values = origins.flatMap(({ path, value }) => (path[0] === 'agents' ? valuesAt(path, value) : []))
  const given = values.filter(({ path }) => path[2] === 'env' && path.length === 4)
  if (given.length === 0) return undefined
  const names = [...new Set(given.map(({ path }) => String(path[1])))]
  const envOf = (name: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      given.flatMap(({ path, value }) =>
        path[1] === name && typeof value === 'string' ? [[String(path[3]), value]] : [],
      ),
    )
  return Object.fromEntries(names.map((name) => [name, { env: envOf(name) }]))
}

/** What is in a table, each by its whole path. */
function valuesAt(path: DataPath, value: Json): readonly { readonly path: DataPath; readonly value: Json }[] {
  if (!isJsonObject(value)) return [{ path, value }]
  return Object.entries(value).flatMap(([key, inner]) => valuesAt([...path, key], inner))
}
