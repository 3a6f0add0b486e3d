import type { EffectRequest } from '../../src/event/effects.ts'
import type { Spent } from '../../src/event/meter.ts'
import { noUsage } from '../../src/event/message.ts'
import type { Action } from '../../src/event/permission.ts'
import { parsePlace } from '../../src/event/place.ts'
import type { EffectsOptions } from '../../src/journal/effects.ts'

export { parsePlace as placeAt }

/** An action for effects in tests, where everything is allowed. */
const anyAction: Action = { kind: 'command', program: 'test', caller: 'test' }

/** An effect whose value may be anything. */
export type AnyEffect<T = never> = Omit<EffectRequest<unknown>, 'costOf' | 'assumed'> & { readonly assumed?: T }

/** An effect without the parts that most tests do not check. */
export function effectOf<T = never>(
  effect: Pick<AnyEffect<T>, 'kind' | 'repeat'> & Partial<AnyEffect<T>>,
): AnyEffect<T> {
  return { action: anyAction, request: null, ...effect }
}

/** The usage of one model call. */
export function spentOf({
  model = 'test',
  input = 0,
  output = 0,
  costUsd = 0,
}: {
  readonly model?: string
  readonly input?: number
  readonly output?: number
  readonly costUsd?: number | null
}): Spent {
  return { model, usage: { ...noUsage, calls: 1, input, output }, costUsd }
}

/** A gate that allows everything and counts nothing. */
export const openGate: Pick<EffectsOptions, 'permission' | 'onSpent'> = {
  permission: { check: () => ({ kind: 'allow' }) },
  onSpent: () => {},
}
