import type { DataPath } from '../base/data-text.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isBuiltInName } from './builtin-names.ts'
import { exceededInside, type HeldTo, type Loosened, ownValue } from './held-to.ts'
import { orderOf } from './orders.ts'

/** A table that may say which program is started. */
interface DefinitionTable {
  readonly path: DataPath
  readonly values: JsonObject
}

/**
 * What of the definitions of agents among settings needs trust: the names that a config file takes, the programs that it starts;
 * and in every file a looser sandbox, and programs that get around it. What a program does that is no known one, nobody holds
 * to the sandbox.
 */
export function loosenedDefinitions(values: JsonObject, held: HeldTo): readonly Loosened[] {
  const named = definitionsIn(values['agents'], ['agents'])
  const { ensemble = null, collab = null } = values
  // only prompt files have an ensemble, and roles
  const isPrompt = held.by === 'prompt'
  const members = isPrompt && isJsonObject(ensemble) ? definitionsIn(ensemble['agents'], ['ensemble', 'agents']) : []
  const roles = isPrompt && isJsonObject(collab) ? definitionsIn(collab['roles'], ['collab', 'roles']) : []
  return [...named, ...members, ...roles].flatMap((table) => {
    const found = [
      ...(held.by === 'prompt' ? gettingAround(table, held) : takingNames(table, held)),
      ...looserSandbox(table, held),
    ]
    return found.map((one) => ({ ...one, definition: { path: table.path, value: table.values } }))
  })
}

/** Those of a table of tables, or of a list of them. */
function definitionsIn(tables: Json | undefined, path: DataPath): readonly DefinitionTable[] {
  const entries: readonly (readonly [string | number, Json])[] = Array.isArray(tables)
    ? [...(tables as readonly Json[]).entries()]
    : Object.entries(isJsonObject(tables ?? null) ? (tables as JsonObject) : {})
  return entries.flatMap(([step, values]) => (isJsonObject(values) ? [{ path: [...path, step], values }] : []))
}

/** An agent that has the name of another one, or is a program. */
function takingNames({ path, values }: DefinitionTable, held: HeldTo): readonly Loosened[] {
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

/** What an agent may touch is held to what the key outside of its table may say. */
function looserSandbox({ path, values }: DefinitionTable, held: HeldTo): readonly Loosened[] {
  const { sandbox = null } = values
  if (!isJsonObject(sandbox)) return []
  return Object.entries(sandbox).flatMap(([key, value]) => {
    const found = exceededInside(orderOf('sandbox', key), ['sandbox', key], value, held)
    return found === undefined ? [] : [{ path: [...path, 'sandbox', key], value, ...found }]
  })
}

/**
 * A known program is held to the sandbox mode by its flags: another program with its name, and arguments and variables that
 * get around them, need what a program without such flags needs.
 */
function gettingAround({ path, values }: DefinitionTable, held: HeldTo): readonly Loosened[] {
  const { preset } = values
  const isFree =
    exceededInside(orderOf('sandbox', 'mode'), ['sandbox', 'mode'], 'danger-full-access', held) === undefined
  if (preset === undefined || isFree) return []
  return ['command', 'args', 'env'].flatMap((key): readonly Loosened[] => {
    const value = values[key]
    if (value === undefined || (key === 'command' && value === preset)) return []
    const why = key === 'command' ? 'starts' : 'leads'
    return [{ path: [...path, key], value, own: undefined, origin: undefined, why }]
  })
}
