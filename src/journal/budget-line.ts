import { fit, type Ledger, type Measure, type Wanted } from './ledger.ts'

/** One budget. `ledger` is replaced whenever something is held or settled. */
export interface Account {
  ledger: Ledger
  /** Calls without a known price are let through a limit in US dollars, uncounted. */
  readonly allowsUnpriced: boolean
}

/** A call that wants to begin. It is answered once, by `grant` or by `refuse`. */
export interface Waiter {
  /** All must have room. */
  readonly accounts: readonly Account[]
  readonly wanted: Wanted
  /** Holds the amount in every account before it returns. */
  readonly grant: (outputTokens: number) => void
  readonly refuse: (account: Account, measure: Measure) => void
}

/** Those who wait for any of a tree of budgets. */
export interface Line {
  /** May be answered before it returns. */
  join(waiter: Waiter): void
  /** Gives up waiting. */
  leave(waiter: Waiter): void
  /** To be called when something was settled. */
  serve(): void
}

/**
 * First come, first served, for each budget on its own (DESIGN 8 "Budget"): whoever waits for one budget holds up those
 * behind who need it too, and nobody else. A call waits while one that runs may still return something; it is refused
 * when a budget that is too small for it has none running, so nobody waits for nothing.
 */
export function createLine(): Line {
  const waiting = new Set<Waiter>()

  function serve(): void {
    const awaited = new Set<Account>()
    for (const waiter of waiting) {
      if (waiter.accounts.some((account) => awaited.has(account))) continue
      const verdict = judge(waiter)
      switch (verdict.kind) {
        case 'wait':
          for (const account of verdict.accounts) awaited.add(account)
          break
        case 'grant':
          waiting.delete(waiter)
          waiter.grant(verdict.outputTokens)
          break
        case 'refuse':
          waiting.delete(waiter)
          waiter.refuse(verdict.account, verdict.measure)
          break
      }
    }
  }

  return {
    join(waiter) {
      waiting.add(waiter)
      serve()
    },
    leave(waiter) {
      waiting.delete(waiter)
      serve()
    },
    serve,
  }
}

type Verdict =
  | { readonly kind: 'grant'; readonly outputTokens: number }
  | { readonly kind: 'wait'; readonly accounts: readonly Account[] }
  | { readonly kind: 'refuse'; readonly account: Account; readonly measure: Measure }

function judge({ accounts, wanted }: Waiter): Verdict {
  const awaited: Account[] = []
  let outputTokens = Infinity
  for (const account of accounts) {
    const fitting = fit(account.ledger, wanted)
    if (fitting.kind === 'fits') {
      outputTokens = Math.min(outputTokens, fitting.outputTokens)
      continue
    }
    if (account.ledger.running === 0) return { kind: 'refuse', account, measure: fitting.measure }
    awaited.push(account)
  }
  return awaited.length === 0 ? { kind: 'grant', outputTokens } : { kind: 'wait', accounts: awaited }
}
