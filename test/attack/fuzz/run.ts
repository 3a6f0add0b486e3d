import { isBatonError } from '../../../src/base/error.ts'
import { inputAt } from './generate.ts'
import type { FuzzedParser } from './parsers.ts'

interface Failure {
  readonly number: number
  readonly input: string
  readonly problem: string
}

export interface FuzzReport {
  readonly inputs: number
  readonly failures: readonly Failure[]
  /** Time of one input. */
  readonly slowestMs: number
  readonly slowest: number
}

export interface FuzzOptions {
  readonly seed: number
  readonly from: number
  readonly count: number
  /** Called with the number of each input before it is read. */
  readonly onInput?: (number: number) => void
}

/** More would add no information. */
const mostFailures = 20

/** Parses the inputs from `from` to `from + count`, exclusive, or until 20 have failed. */
export async function fuzz(parser: FuzzedParser, { seed, from, count, onInput }: FuzzOptions): Promise<FuzzReport> {
  const failures: Failure[] = []
  let slowestMs = 0
  let slowest = from
  let number = from
  for (; number < from + count && failures.length < mostFailures; number += 1) {
    onInput?.(number)
    const input = inputAt(parser, seed, number)
    const start = performance.now()
    const problem = await problemOf(parser, input)
    const took = performance.now() - start
    if (problem !== undefined) failures.push({ number, input, problem })
    if (took > slowestMs) [slowestMs, slowest] = [took, number]
  }
  return { inputs: number - from, failures, slowestMs, slowest }
}

/** What is wrong with how a parser handles an input: any error other than ours. */
export async function problemOf({ read }: FuzzedParser, input: string): Promise<string | undefined> {
  try {
    await read(input)
    return undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    return error instanceof Error
      ? `${error.message}\n${error.stack?.split('\n').slice(1, 5).join('\n')}`
      : String(error)
  }
}
