import { isJsonObject, type JsonObject } from '../../base/json.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import type { BudgetLimits, LeaseTerms } from '../../event/effects.ts'

/** The borrower of a part of a budget. */
interface Borrower {
  readonly offered: Pick<AgentDefinition, 'name' | 'settings'>
  readonly among: number
  readonly limits?: () => Partial<BudgetLimits> | undefined
}

/**
 * The part of its caller's budget that an agent may use up. Exceeding it is a failure of this agent only; the others
 * keep their parts.
 */
export function leaseOf({ offered: { name, settings }, among, limits: share }: Borrower): LeaseTerms {
  const given = share?.() ?? {}
  const { budget } = settings
  const own = isJsonObject(budget) ? limitsIn(budget) : {}
  const limits = { ...given, ...own, ...leastOf(given, own) }
  return { whom: `agent "${name}"`, among, ...(Object.keys(limits).length === 0 ? {} : { limits }) }
}

/** The lower limit where both set one. */
function leastOf(one: Partial<BudgetLimits>, other: Partial<BudgetLimits>): Partial<BudgetLimits> {
  const both = (['calls', 'tokens', 'usd'] as const).flatMap((measure) => {
    const [left, right] = [one[measure], other[measure]]
    return left === undefined || right === undefined ? [] : [[measure, Math.min(left, right)] as const]
  })
  return Object.fromEntries(both)
}

function limitsIn({ calls, tokens, usd, unpriced }: JsonObject): Partial<BudgetLimits> {
  const numbers = Object.entries({ calls, tokens, usd }).filter(([, limit]) => typeof limit === 'number')
  return { ...Object.fromEntries(numbers), ...(unpriced === 'allow' ? { unpriced } : {}) }
}
