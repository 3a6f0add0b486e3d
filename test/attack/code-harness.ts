import { expect } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import type { JavaScriptBox } from '../../src/script/javascript/box.ts'
import type { LimitName } from '../../src/script/javascript/program.ts'
import { type Trial, tryProgram } from '../helpers/try-program.ts'

/** A program that tries to escape from its box, to stop it, or to gain more rights. */
export interface Attempt extends Trial {
  readonly code: string
  /** What stops it. */
  readonly by: string
  /** Its expected outcome: a value, an error, or a limit. */
  readonly ends: { readonly value: Json } | { readonly error: RegExp } | { readonly limit: LimitName }
  /** The most calls of its functions that are allowed. */
  readonly mostCalls?: number
}

/** Attempts by what was tried; their titles also name what stopped them. */
export function titled(attempts: Readonly<Record<string, Attempt>>): Readonly<Record<string, Attempt>> {
  return Object.fromEntries(Object.entries(attempts).map(([tried, attempt]) => [`${tried}: ${attempt.by}`, attempt]))
}

/** Runs it, then checks that the same box and this process are unaffected. */
export async function expectBoxHolds(box: JavaScriptBox, attempt: Attempt): Promise<void> {
  const { code, ends, mostCalls, by: _, ...trial } = attempt
  let calls = 0
  const counted = (functions: Trial['tools'] = {}): NonNullable<Trial['tools']> =>
    Object.fromEntries(
      Object.entries(functions).map(([name, work]) => [
        name,
        (...args) => {
          calls += 1
          return work(...args)
        },
      ]),
    )
  const timeMs = 'limit' in ends && ends.limit === 'time' ? 150 : 30_000
  const given = { ...usual, ...trial, limits: { timeMs, ...trial.limits } }
  const end = await tryProgram(box, code, { ...given, tools: counted(given.tools), told: counted(given.told) })
  if ('value' in ends) expect(end).toEqual({ kind: 'value', value: ends.value })
  else if ('limit' in ends) expect(end).toMatchObject({ kind: 'error', limit: ends.limit })
  else expect(end).toMatchObject({ kind: 'error', message: expect.stringMatching(ends.error) })
  if (mostCalls !== undefined) expect(calls).toBeLessThanOrEqual(mostCalls)

  const after = await tryProgram(
    box,
    '[typeof leak, Object.keys({}).length, echo(1), Array.isArray([]), JSON.stringify({})]',
    usual,
  )
  expect(after).toEqual({ kind: 'value', value: ['undefined', 0, [1], true, '{}'] })
  expect(({} as { readonly leak?: unknown }).leak).toBe(undefined)
}

const stored = new Map<string, Json>()

const usual: Trial = {
  tools: {
    echo: (...args) => args,
    secret: () => ({ text: 'answer', list: [1, 2] }),
    store: (key, value = null) => {
      stored.set(String(key), value)
      return null
    },
    recall: (key) => stored.get(String(key)) ?? null,
  },
  told: { output: () => null },
}
