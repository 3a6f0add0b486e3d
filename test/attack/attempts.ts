import { appendFileSync } from 'node:fs'
import { describe, it } from 'vitest'

/** Larger tables run only where `BATON_ATTACK` is `whole`, as `npm run soak -- attack` sets it. */
export const isWhole = process.env['BATON_ATTACK'] === 'whole'
const countsFile = process.env['BATON_ATTACK_COUNTS']

export interface Attempts<T> {
  /** Run by `npm test`; of a large table, only every second one. */
  readonly core: Readonly<Record<string, T>>
  /**
   * `npm test` runs only every n-th attempt of the core, starting with the first: for attempts that are similar and
   * slow.
   */
  readonly every?: number
  /** Run in addition by `npm run soak -- attack`. A function, so that a large table is built only where it is used. */
  readonly more?: () => Readonly<Record<string, T>>
}

/** From this many attempts on, a table is large. */
const largeTable = 16

/**
 * One test for each attempt of a class; its title names the attempt. The class is a sentence about what must hold.
 * Attempts are counted for the table of `npm run soak -- attack`.
 */
export function attack<T>(
  name: string,
  { core, every = 1, more }: Attempts<T>,
  attempt: (value: T, title: string) => Promise<void> | void,
): void {
  describe(name, () => {
    const all = Object.entries(core)
    const step = all.length >= largeTable ? every * 2 : every
    const here = all.filter((_, index) => isWhole || index % step === 0)
    const besides = isWhole ? Object.entries(more?.() ?? {}) : []
    for (const [title, value] of [...here, ...besides]) {
      it(title, async () => {
        await attempt(value, title)
        count(name, 1)
      })
    }
  })
}

/** Adds attempts that a separate test made and that held. */
export function count(name: string, held: number): void {
  if (countsFile !== undefined) appendFileSync(countsFile, `${JSON.stringify({ name, held })}\n`)
}
