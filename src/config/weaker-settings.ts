import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isGuarded, orderOf, reserved } from '../settings/keys.ts'
import { exceeded, exceededInside, type UserLimits, type WeakerSetting, ownValue } from './user-limits.ts'
import type { Order } from '../settings/setting.ts'
import type { DataPath } from '../base/data-text.ts'
import { isBuiltInName } from './builtin-names.ts'

/** An effort suffix of a model name: an alias `opus-high` shadows `opus`. */
export const effortWord = /-(?:none|zero|minimal|low|medium|high|xhigh|max)$/

/** The checked settings that loosen the user's values; guarded keys are not included. */
export function weakerSettings(values: JsonObject, held: UserLimits): readonly WeakerSetting[] {
  const looser = Object.entries(values).flatMap(([key, value]) => {
    const order = orderOf(key)
    if (order === undefined && isJsonObject(value)) {
      return Object.entries(value).flatMap(([inner, part]) => compared(orderOf(key, inner), [key, inner], part, held))
    }
    if (order?.rule === 'names' && isJsonObject(value)) return hidingNames(key, value, order, held)
    return isGuarded(key) ? [] : compared(order, [key], value, held)
  })
  return [...looser, ...loosenedDefinitions(values, held)]
}

/** Names that shadow one of the user's. */
function hidingNames(key: string, table: JsonObject, order: Order, held: UserLimits): readonly WeakerSetting[] {
  const byName: Order = { ...order, rule: 'user' }
  return Object.entries(table).flatMap(([name, part]) => {
    const hidden = [name, name.replace(effortWord, '')].find((one) => ownValue([key, one], held) !== undefined)
    if (hidden === undefined) return []
    return compared(byName, [key, hidden], part, held).map((found) => ({ ...found, path: [key, name] }))
  })
}

function compared(
  order: Order | undefined,
  path: readonly string[],
  value: Json,
  held: UserLimits,
): readonly WeakerSetting[] {
  const found = exceeded(order, path, value, held)
  return found === undefined ? [] : [{ path, value, ...found }]
}

/** A table that may define which program is started. */
interface DefinitionTable {
  readonly path: DataPath
  readonly values: JsonObject
}

/**
 * What needs trust in the agent definitions among settings: for a config file, names that are already taken and
 * programs that it starts; for every file, a looser sandbox and programs that bypass it. A program that Baton does not
 * know runs without a sandbox.
 */
function loosenedDefinitions(values: JsonObject, held: UserLimits): readonly WeakerSetting[] {
  const named = definitionsIn(values['agents'], ['agents'])
  // only prompt files have a strategy, and roles
  const inner =
    held.by === 'prompt' ? definingTables.flatMap(([key, name]) => innerTables(values[key], [key, name])) : []
  return [...named, ...inner].flatMap((table) => {
    const found = [
      ...(held.by === 'prompt' ? gettingAround(table, held) : takingNames(table, held)),
      ...looserSandbox(table, held),
    ]
    return found.map((one) => ({ ...one, definition: { path: table.path, value: table.values } }))
  })
}

/** Tables inside of others that define agents: what they have of `[sandbox]` is held to the rules of that key. */
const definingTables = [...reserved].flatMap(([key, row]) =>
  Object.entries('keys' in row && !('each' in row) ? row.keys : {}).flatMap(([name, inner]) => {
    if (!('keys' in inner) || !('each' in inner)) return []
    const { keys, settings = [] } = inner
    return 'sandbox' in keys || settings.includes('sandbox') ? [[key, name] as const] : []
  }),
)

function innerTables(table: Json | undefined, [key, name]: readonly [string, string]): readonly DefinitionTable[] {
  return isJsonObject(table ?? null) ? definitionsIn((table as JsonObject)[name], [key, name]) : []
}

/** The definitions in a table of tables, or in a list of tables. */
function definitionsIn(tables: Json | undefined, path: DataPath): readonly DefinitionTable[] {
  const entries: readonly (readonly [string | number, Json])[] = Array.isArray(tables)
    ? [...(tables as readonly Json[]).entries()]
    : Object.entries(isJsonObject(tables ?? null) ? (tables as JsonObject) : {})
  return entries.flatMap(([step, values]) => (isJsonObject(values) ? [{ path: [...path, step], values }] : []))
}

/** An agent that shadows another one, or is a program. */
function takingNames({ path, values }: DefinitionTable, held: UserLimits): readonly WeakerSetting[] {
  const name = String(path.at(-1))
  const found = ownValue(['agents', name], held)
  if (found !== undefined) {
    const isSame = canonicalJson(found.value) === canonicalJson(values)
    return isSame ? [] : [{ path, value: values, own: found.value, origin: found.layer.origin, why: 'hides' }]
  }
  if (isBuiltInName(name)) return [{ path, value: values, own: 'built-in', origin: { kind: 'default' }, why: 'hides' }]
  const key = ['command', 'preset'].find((each) => values[each] !== undefined)
  if (key === undefined) return []
  return [{ path: [...path, key], value: values[key] ?? null, own: undefined, origin: undefined, why: 'starts' }]
}

/** What an agent may access has the same limits as the key outside of its table. */
function looserSandbox({ path, values }: DefinitionTable, held: UserLimits): readonly WeakerSetting[] {
  const { sandbox = null } = values
  if (!isJsonObject(sandbox)) return []
  return Object.entries(sandbox).flatMap(([key, value]) => {
    const found = exceededInside(orderOf('sandbox', key), ['sandbox', key], value, held)
    return found === undefined ? [] : [{ path: [...path, 'sandbox', key], value, ...found }]
  })
}

/**
 * A known program is restricted to the sandbox mode by its flags: a different program with its name, and arguments and
 * variables that override them, need the same trust as a program without such flags.
 */
function gettingAround({ path, values }: DefinitionTable, held: UserLimits): readonly WeakerSetting[] {
  const { preset } = values
  const isFree =
    exceededInside(orderOf('sandbox', 'mode'), ['sandbox', 'mode'], 'danger-full-access', held) === undefined
  if (preset === undefined || isFree) return []
  return ['command', 'args', 'env'].flatMap((key): readonly WeakerSetting[] => {
    const value = values[key]
    if (value === undefined || (key === 'command' && value === preset)) return []
    const why = key === 'command' ? 'starts' : 'leads'
    return [{ path: [...path, key], value, own: undefined, origin: undefined, why }]
  })
}
