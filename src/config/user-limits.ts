import type { DataPath } from '../base/data-text.ts'
import { coversHost } from '../base/host-entry.ts'
import { canonicalJson, isJsonObject, type Json } from '../base/json.ts'
import { parseSize } from '../base/size.ts'
import { parseDuration } from '../base/duration.ts'
import type { Origin } from './layers.ts'
import type { Order, Rule } from '../settings/setting.ts'

/** A value in force that limits a folder. */
export interface OwnValue {
  readonly path: readonly (string | number)[]
  readonly value: Json
  readonly layer: { readonly origin: Origin }
}

/** The limits for settings that come with a folder. */
export interface UserLimits {
  /** `config`: a config file of the folder. `prompt`: the file that is run. */
  readonly by: 'config' | 'prompt'
  /** The user's values, with defaults. */
  readonly own: readonly OwnValue[]
  /** The file that is run is not a file of the workspace. */
  readonly isForeign?: boolean
  /** What the user sets for this call, which makes the folder's value irrelevant: `lua.timeout`. */
  readonly overridden?: readonly OwnValue[]
}

/** The user's value that a value exceeds. */
interface Exceeded {
  readonly own: Json | undefined
  /** Undefined: nobody has set it. */
  readonly origin: Origin | undefined
}

/** A value that is looser than the user's. */
export interface WeakerSetting extends Exceeded {
  readonly path: DataPath
  readonly value: Json
  /**
   * The reason, if no value of the user is exceeded: it `hides` an agent of the user or of Baton, `starts` a program,
   * or `leads`: it can make a started program do anything.
   */
  readonly why?: 'hides' | 'starts' | 'leads'
  /** The agent definition that contains the value. */
  readonly definition?: { readonly path: DataPath; readonly value: Json }
}

/** The user's value that the folder's value exceeds; undefined if it does not. */
export function exceeded(
  order: Order | undefined,
  path: readonly string[],
  value: Json,
  held: UserLimits,
): Exceeded | undefined {
  if (order === undefined || isOverridden(path, held)) return undefined
  if (held.by === 'prompt' && order.prompt === 'free') return undefined
  if (order.isForOthers === true && held.isForeign !== true) return undefined
  const found = ownValue(path, held)
  const counts = found !== undefined && (isHeldToDefaults(order, held) || isWritten(found))
  const own = counts ? found.value : unsetValue(order, held)
  if (!isLooser(order.rule, value, own)) return undefined
  return { own, origin: counts ? found.layer.origin : undefined }
}

/**
 * The same for a key inside an agent definition, which applies in addition to what the user sets for this call: it may
 * be as loose as that, or as the user's value.
 */
export function exceededInside(
  order: Order | undefined,
  path: readonly string[],
  value: Json,
  { overridden = [], ...held }: UserLimits,
): Exceeded | undefined {
  const given = find(path, overridden)
  if (order !== undefined && given !== undefined && !isLooser(order.rule, value, given.value)) return undefined
  return exceeded(order, path, value, held)
}

/** The user's value at a path. */
export function ownValue(path: readonly string[], { own }: Pick<UserLimits, 'own'>): OwnValue | undefined {
  return find(path, own)
}

function find(path: readonly string[], values: readonly OwnValue[]): OwnValue | undefined {
  return values.find((each) => {
    return each.path.length === path.length && path.every((step, index) => step === each.path[index])
  })
}

function isOverridden(path: readonly string[], { overridden = [] }: UserLimits): boolean {
  return find(path, overridden) !== undefined
}

function unsetValue({ unset, prompt }: Order, held: UserLimits): Json | undefined {
  if (held.by === 'config') return unset
  return typeof prompt === 'object' && 'unset' in prompt ? prompt.unset : undefined
}

function isHeldToDefaults({ prompt }: Order, held: UserLimits): boolean {
  if (held.by === 'config' || prompt === 'default') return true
  if (typeof prompt !== 'object' || !('defaultWith' in prompt)) return false
  const path = prompt.defaultWith.split('.')
  const setter = ownValue(path, held)
  return isOverridden(path, held) || (setter !== undefined && isWritten(setter))
}

function isWritten({ layer }: OwnValue): boolean {
  return layer.origin.kind !== 'default'
}

function isLooser(rule: Rule, value: Json, own: Json | undefined): boolean {
  if (rule === 'user') return own === undefined || canonicalJson(value) !== canonicalJson(own)
  if (own === undefined) return false
  if (rule === 'down' && isJsonObject(value) && isJsonObject(own)) {
    return Object.entries(own).some(([key, limit]) => value[key] === undefined || isLooser(rule, value[key], limit))
  }
  if (rule === 'down') {
    const [size, limit] = [sizeOf(value), sizeOf(own)]
    return size !== undefined && limit !== undefined && size > limit
  }
  if (rule === 'fewer') return listOf(value).some((host) => !listOf(own).some((other) => coversHost(other, host)))
  if (typeof rule === 'string') return false
  return rule.indexOf(value) > rule.indexOf(own)
}

function listOf(value: Json): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function sizeOf(value: Json): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? (parseDuration(value) ?? parseSize(value)) : undefined
}
