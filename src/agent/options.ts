import { isJsonObject, type JsonObject } from '../base/json.ts'

/** Later wins; `model_aliases` join key by key (spec/aipack.md 4.1). */
export function mergeOptions(...layers: readonly (JsonObject | undefined)[]): JsonObject {
  let merged: JsonObject = {}
  for (const layer of layers) {
    if (layer === undefined) continue
    const aliases = { ...tableOf(merged['model_aliases']), ...tableOf(layer['model_aliases']) }
    merged = { ...merged, ...layer, ...(Object.keys(aliases).length > 0 ? { model_aliases: aliases } : {}) }
  }
  return merged
}

function tableOf(value: JsonObject[string] | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** How many inputs of an agent may be worked on at once; 1 when its options do not say. */
export function concurrencyOf(options: JsonObject): number {
  const value = options['input_concurrency']
  return typeof value === 'number' && value >= 1 ? Math.floor(value) : 1
}
