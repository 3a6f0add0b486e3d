import { type Order, type Orders, reserved } from './keys.ts'

function isOrder(given: Orders): given is Order {
  return 'rule' in given
}

/** The order of a key, or of a key inside its table; undefined for an unknown key. */
export function orderOf(key: string, inner?: string): Order | undefined {
  const given = reserved.get(key)?.order
  if (given === undefined || isOrder(given)) return given
  return inner !== undefined && Object.hasOwn(given.keys, inner) ? given.keys[inner] : undefined
}

/** Whether only the user's own config file, or a trusted file, may set the key at all. */
export function isGuarded(key: string): boolean {
  const order = orderOf(key)
  return order?.rule === 'user' && order.prompt === undefined
}
