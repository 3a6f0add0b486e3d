import type { DataPath } from '../base/data-text.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import type { Expectation } from '../config/schema.ts'

/** The outcome of a run under test. */
export interface Observed {
  /** The answers of all tasks in input order, separated by an empty line. */
  readonly answer: string
  readonly exit: number
  readonly calls: number
  /** Their cost in US dollars; null when it is unknown. */
  readonly costUsd: number | null
  /** The text of a file of the workspace; undefined when there is none. */
  readonly file: (path: string) => string | undefined
}

/** An expectation that is not met. */
export interface Unmet {
  /** Where it is written, from `expect` on. */
  readonly path: DataPath
  readonly message: string
  /** A unified diff. */
  readonly diff?: string
}

const shownText = 300

/** The exit code that a test expects: the last one given, 0 without one. */
export function expectedExit(expect: readonly Expectation[]): number {
  return expect.findLast(({ exit }) => exit !== undefined)?.exit ?? 0
}

/** All expectations that are not met, as written. Exit codes are not compared: see `expectedExit`. */
export function unmetExpectations(expect: readonly Expectation[], observed: Observed): readonly Unmet[] {
  return expect.flatMap((expectation, index) =>
    Object.keys(expectation).flatMap((key) =>
      unmetIn(key as keyof Expectation, expectation, observed).map((unmet) => ({
        ...unmet,
        path: ['expect', index, key, ...unmet.path],
      })),
    ),
  )
}

function unmetIn(key: keyof Expectation, expectation: Expectation, observed: Observed): readonly Unmet[] {
  const { answer, calls } = observed
  switch (key) {
    case 'answer_contains':
      return missingPieces(expectation[key], answer).map((piece) =>
        plain(`the answer does not contain ${JSON.stringify(piece)}; it is ${shown(answer)}`),
      )
    case 'answer_matches': {
      const pattern = expectation[key] ?? ''
      if (new RegExp(pattern, 'u').test(answer)) return []
      return [plain(`the answer does not match /${pattern}/u; it is ${shown(answer)}`)]
    }
    case 'file_contains':
      return Object.entries(expectation[key] ?? {}).flatMap(([path, pieces]) => missingIn(path, pieces, observed))
    case 'file_equals':
      return Object.entries(expectation[key] ?? {}).flatMap(([path, text]) => different(path, text, observed))
    case 'exit':
      return []
    case 'max_cost_usd':
      return tooExpensive(expectation[key] ?? 0, observed)
    case 'calls':
      return expectation[key] === calls
        ? []
        : [plain(`models were called ${times(calls)}, not ${times(expectation[key] ?? 0)}`)]
  }
}

function missingIn(path: string, pieces: string | readonly string[], { file }: Observed): readonly Unmet[] {
  const text = file(path)
  if (text === undefined) return [noFile(path)]
  return missingPieces(pieces, text).map((piece) => ({
    path: [path],
    message: `${path} does not contain ${JSON.stringify(piece)}; it is ${shown(text)}`,
  }))
}

function different(path: string, expected: string, { file }: Observed): readonly Unmet[] {
  const text = file(path)
  if (text === undefined) return [noFile(path)]
  if (text === expected) return []
  const diff = unifiedDiff(expected, text, { from: 'expected', to: path })
  return [{ path: [path], message: `${path} differs from what is expected`, diff }]
}

function tooExpensive(limit: number, { costUsd }: Observed): readonly Unmet[] {
  if (costUsd === null) return [plain('the cost of the model calls is unknown')]
  return costUsd <= limit ? [] : [plain(`the model calls cost $${costUsd}, more than $${limit}`)]
}

function missingPieces(pieces: string | readonly string[] | undefined, text: string): readonly string[] {
  const all = pieces === undefined ? [] : typeof pieces === 'string' ? [pieces] : pieces
  return all.filter((piece) => !text.includes(piece))
}

function noFile(path: string): Unmet {
  return { path: [path], message: `there is no file ${path}` }
}

function plain(message: string): Unmet {
  return { path: [], message }
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function shown(text: string): string {
  return text.length <= shownText ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, shownText))} …`
}
