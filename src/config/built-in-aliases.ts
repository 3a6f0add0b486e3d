import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { packageRoot } from '../package-root.ts'
import type { SourcedValue } from './layers.ts'
import { defaultLayer } from './settings.ts'

/** What `normal`, `high` and `fast` mean depends on whose key is set. */
const byProvider = 'the model of the provider'

/**
 * The names of models that everybody has, as far as `values` (of a folder) and not `own` (of the user) names them: a
 * folder is held to them as to names of the user. The table is read only where a folder has names of its own.
 */
export async function builtInAliases(
  values: JsonObject,
  own: readonly SourcedValue[],
): Promise<readonly SourcedValue[]> {
  if (!isJsonObject(values['model_aliases'])) return []
  const file = join(packageRoot(), 'agents/models.toml')
  const text = readFileSync(file, 'utf8')
  const { data } = await parseToml({ file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' })
  const named = isJsonObject(data['aliases']) ? data['aliases'] : {}
  const all: readonly (readonly [string, Json])[] = [
    ...Object.entries(named),
    ...['normal', 'high', 'fast'].map((role) => [role, byProvider] as const),
  ]
  const isOwn = (name: string): boolean => own.some(({ path }) => path[0] === 'model_aliases' && path[1] === name)
  return all
    .filter(([name]) => !isOwn(name))
    .map(([name, value]) => ({ path: ['model_aliases', name], value, layer: defaultLayer }))
}
