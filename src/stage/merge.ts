import { BatonError } from '../base/error.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isReserved, isRequestKey as isReservedRequestKey, withEmptyLists } from '../config/keys.ts'
import type { Merge } from '../config/agent-config.ts'
import type { ChainAnswer } from './answer.ts'
import type { ChainState } from './state.ts'

export interface MergeOptions {
  readonly name: string
  readonly merge: Merge
}

/**
 * The state after an answer. `coder_params` is merged into request keys and params as `merge` says (with `replace`,
 * keys that were not returned are lost: R239, R241); a patch always merges deeply, and null deletes a key; `sub_agents`
 * is dropped (R254). Frame keys are fixed, except that rights can be reduced.
 * @throws BatonError AGENT_FAILED `Sub-agent [name] may not change "key"`
 */
export function applyAnswer(state: ChainState, answer: ChainAnswer, options: MergeOptions): ChainState {
  return {
    params: nextParams(state.params, answer, options),
    prompts: answer.prompts ?? [...state.prompts, ...(answer.append ?? [])],
  }
}

function nextParams(current: JsonObject, { params, patch }: ChainAnswer, options: MergeOptions): JsonObject {
  const returned = params ?? patch
  if (returned === undefined) return current
  const frame = nextFrame(pickKeys(current, isFrameKey), withEmptyLists(pickKeys(returned, isFrameKey)), options.name)
  const before = pickKeys(current, isChangeable)
  const after = pickKeys(returned, isChangeable)
  const joined = patch === undefined ? join(before, after, options.merge) : patched(before, after)
  return normalized({ ...frame, ...joined })
}

function isFrameKey(key: string): boolean {
  return isReserved(key) && !isReservedRequestKey(key) && key !== 'sub_agents'
}

function isChangeable(key: string): boolean {
  return !isReserved(key) || isReservedRequestKey(key)
}

function pickKeys(table: JsonObject, wanted: (key: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(table).filter(([key]) => wanted(key)))
}

function join(before: JsonObject, after: JsonObject, merge: Merge): JsonObject {
  switch (merge) {
    case 'replace':
      return after
    case 'shallow':
      return { ...before, ...after }
    case 'deep':
      return deep(before, after)
  }
}

function deep(before: JsonObject, after: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(after)) {
    const old = merged[key]
    merged[key] = isJsonObject(old) && isJsonObject(value) ? deep(old, value) : value
  }
  return merged
}

function patched(before: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(patch)) {
    const old = merged[key]
    if (value === null) delete merged[key]
    else merged[key] = isJsonObject(value) ? patched(isJsonObject(old) ? old : {}, value) : value
  }
  return merged
}

/** Null means "not set". */
function normalized(params: JsonObject): JsonObject {
  return withEmptyLists(Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)))
}

function nextFrame(current: JsonObject, returned: JsonObject, name: string): JsonObject {
  const frame: Record<string, Json> = { ...current }
  for (const [key, value] of Object.entries(returned)) {
    const old = frame[key]
    if (value === null || equalJson(old, value) || (old !== undefined && isEmpty(old) && isEmpty(value))) continue
    const next = lowered(key, old, value)
    if (next === undefined) {
      throw new BatonError('AGENT_FAILED', `Sub-agent [${name}] may not change "${key}"`, {
        hint: 'This key is fixed when the run starts; set it in the front matter.',
      })
    }
    frame[key] = next
  }
  return frame
}

function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** A chain may reduce its rights and its budget, never extend them; undefined: the value is not a reduction. */
function lowered(key: string, old: Json | undefined, value: Json): Json | undefined {
  switch (key) {
    case 'write_mode':
      return value === false || (old === true && value === 'ask') ? value : undefined
    case 'tools':
      // no tools at all are fewer than those of a config file
      return Array.isArray(value) && value.every((tool) => isAmong(old, tool)) ? value : undefined
    case 'budget':
      return lowerBudget(old ?? {}, value)
    default:
      return undefined
  }
}

function isAmong(tools: Json | undefined, tool: Json): boolean {
  return Array.isArray(tools) && (tools.includes(tool) || (tools.includes('*') && typeof tool === 'string'))
}

/** The budget with the smaller figures; any figure is smaller than no limit. */
function lowerBudget(old: Json, value: Json): JsonObject | undefined {
  if (!isJsonObject(old) || !isJsonObject(value)) return undefined
  const given = Object.entries(value).filter(([, amount]) => amount !== null)
  return given.every(([figure, amount]) => isSmaller(figure, old[figure], amount))
    ? { ...old, ...Object.fromEntries(given) }
    : undefined
}

function isSmaller(figure: string, old: Json | undefined, value: Json): boolean {
  if (equalJson(old, value)) return true
  if (figure === 'unpriced') return value === 'deny'
  return typeof value === 'number' && (old === undefined || (typeof old === 'number' && value <= old))
}
