import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { exceeded, type HeldTo, type Loosened, ownValue } from './held-to.ts'
import type { Order } from './keys.ts'
import { isGuarded, orderOf } from './orders.ts'
import { loosenedDefinitions } from './loosened-definitions.ts'

/** An effort suffix of a model name: an alias `opus-high` shadows `opus`. */
export const effortWord = /-(?:none|zero|minimal|low|medium|high|xhigh|max)$/

/** The checked settings that loosen the user's values; guarded keys are not included. */
export function loosened(values: JsonObject, held: HeldTo): readonly Loosened[] {
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
function hidingNames(key: string, table: JsonObject, order: Order, held: HeldTo): readonly Loosened[] {
  const byName: Order = { ...order, rule: 'user' }
  return Object.entries(table).flatMap(([name, part]) => {
    const hidden = [name, name.replace(effortWord, '')].find((one) => ownValue([key, one], held) !== undefined)
    if (hidden === undefined) return []
    return compared(byName, [key, hidden], part, held).map((found) => ({ ...found, path: [key, name] }))
  })
}

function compared(order: Order | undefined, path: readonly string[], value: Json, held: HeldTo): readonly Loosened[] {
  const found = exceeded(order, path, value, held)
  return found === undefined ? [] : [{ path, value, ...found }]
}
