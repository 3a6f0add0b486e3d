import type { DataSource } from '../base/data-text.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { withPlace, type Issue } from './issue.ts'
import type { Layer } from './layers.ts'

export interface Flags {
  /** `-m`. */
  readonly model?: string
  /** `-c key=value`, in order. They are for the whole run (DESIGN 3). */
  readonly overrides: readonly string[]
  /** `--var name=value`. Left out: nobody runs the file now, so its variables have no values. */
  readonly vars?: readonly string[]
  /** `--output-schema`, as given. */
  readonly outputSchema?: string
}

/**
 * Reads one `-c key=value`: the key may be dotted, the value is TOML, and text that is not TOML is taken as it is, so
 * that `-c model=gpt-5-mini` needs no quotes.
 * @throws BatonError USAGE for text without `=` or with a key that cannot be read
 */
export async function parseOverride(text: string): Promise<JsonObject> {
  const split = text.indexOf('=')
  const key = text.slice(0, Math.max(0, split)).trim()
  const value = text.slice(split + 1).trim()
  if (split === -1 || key === '' || /[\r\n]/.test(key)) throw badFlag(text)
  if (!/[\r\n]/.test(value)) {
    const read = await readToml(`${key} = ${value}`, text)
    if (read !== undefined) return read
  }
  const shape = await readToml(`${key} = 0`, text)
  if (shape === undefined) throw badFlag(text)
  return withLeaf(shape, value)
}

async function readToml(block: string, text: string): Promise<JsonObject | undefined> {
  const source: DataSource = { file: `-c ${text}`, text: block, block, firstLine: 1, what: `-c ${text}`, code: 'USAGE' }
  try {
    return (await parseToml(source)).data
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

function withLeaf(shape: JsonObject, value: string): JsonObject {
  return Object.fromEntries(
    Object.entries(shape).map(([key, inner]): [string, Json] => [
      key,
      isJsonObject(inner) ? withLeaf(inner, value) : value,
    ]),
  )
}

function badFlag(text: string): BatonError {
  const hint = 'Write -c key=value, for example -c temperature=0.2 or -c lua.timeout=5s.'
  return new BatonError('USAGE', `-c ${text} is not key=value`, { hint })
}

/** Reads all `-c`: one layer each, so that later ones win and each is named as the origin of what it sets. */
export async function readOverrides(
  overrides: readonly string[],
  { userFile }: { readonly userFile: string },
): Promise<{ readonly layers: readonly Layer[]; readonly issues: readonly Issue[] }> {
  if (overrides.length === 0) return { layers: [], issues: [] }
  const { checkSettings } = await import('./check-settings.ts')
  const layers: Layer[] = []
  const issues: Issue[] = []
  for (const text of overrides) {
    const values = await parseOverride(text)
    // the value may be a secret that was put there by mistake
    const name = `-c ${text.slice(0, text.indexOf('=')).trim()}`
    layers.push({ origin: { kind: 'flag', name }, values })
    issues.push(...checkSettings(values, { scope: 'flag', userFile }).map((found) => withPlace(found, { file: name })))
  }
  return { layers, issues }
}
