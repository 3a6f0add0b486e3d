import type { DataPath } from '../base/data-text.ts'
import { coversHost } from '../base/host-entry.ts'
import { canonicalJson, isJsonObject, type Json } from '../base/json.ts'
import { parseSize } from '../base/size.ts'
import { parseDuration } from './duration.ts'
import type { Origin } from './layers.ts'
import type { Order, Rule } from './orders.ts'

/** A value in force that a folder is held to. */
export interface OwnValue {
  readonly path: readonly (string | number)[]
  readonly value: Json
  readonly layer: { readonly origin: Origin }
}

/** Whose settings are compared, and with what. */
export interface HeldTo {
  /** `config`: a config file of the folder. `prompt`: the file that is run. */
  readonly by: 'config' | 'prompt'
  /** What the user has, with defaults. */
  readonly own: readonly OwnValue[]
  /** What is run is no file of the workspace. */
  readonly isForeign?: boolean
  /** What the user sets for this call, so that it does not matter what the folder says: `lua.timeout`. */
  readonly overridden?: readonly OwnValue[]
}

/** The value of the user that a value is looser than. */
interface Exceeded {
  readonly own: Json | undefined
  /** Undefined: nobody has set it. */
  readonly origin: Origin | undefined
}

/** A value that is looser than that of the user. */
export interface Loosened extends Exceeded {
  readonly path: DataPath
  readonly value: Json
  /**
   * Why, where no value of the user is exceeded: it `hides` an agent of the user or of Baton, `starts` a program, or `leads` a
   * program that is started to do anything.
   */
  readonly why?: 'hides' | 'starts' | 'leads'
  /** The definition of an agent that it is part of. */
  readonly definition?: { readonly path: DataPath; readonly value: Json }
}

/** The value of the user that one of the folder is looser than; undefined: it is not. */
export function exceeded(
  order: Order | undefined,
  path: readonly string[],
  value: Json,
  held: HeldTo,
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
 * The same for a key inside of the definition of an agent, where it counts beside what the user sets for this call: it may be as
 * loose as that, or as what the user has.
 */
export function exceededInside(
  order: Order | undefined,
  path: readonly string[],
  value: Json,
  { overridden = [], ...held }: HeldTo,
): Exceeded | undefined {
  const given = find(path, overridden)
  if (order !== undefined && given !== undefined && !isLooser(order.rule, value, given.value)) return undefined
  return exceeded(order, path, value, held)
}

/** What the user has at a path. */
export function ownValue(path: readonly string[], { own }: Pick<HeldTo, 'own'>): OwnValue | undefined {
  return find(path, own)
}

function find(path: readonly string[], values: readonly OwnValue[]): OwnValue | undefined {
  return values.find((each) => {
    return each.path.length === path.length && path.every((step, index) => step === each.path[index])
  })
}

function isOverridden(path: readonly string[], { overridden = [] }: HeldTo): boolean {
  return find(path, overridden) !== undefined
}

function unsetValue({ unset, prompt }: Order, held: HeldTo): Json | undefined {
  if (held.by === 'config') return unset
  return typeof prompt === 'object' && 'unset' in prompt ? prompt.unset : undefined
}

function isHeldToDefaults({ prompt }: Order, held: HeldTo): boolean {
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
