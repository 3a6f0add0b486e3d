import { WorkerLimitError } from '../base/worker-task.ts'
import type { DataPath } from '../base/data-text.ts'
import { isBatonError } from '../base/error.ts'
import { equalJson, type Json, type JsonObject } from '../base/json.ts'
import { checkBySchema, compileSchema } from '../base/json-schema.ts'
import { matchesPattern } from '../base/pattern.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import type { Expectation } from '../settings/tests.ts'

/** The outcome of a run under test. */
export interface TestOutcome {
  /** The answers of all tasks in input order, separated by an empty line. */
  readonly answer: string
  readonly exit: number
  readonly calls: number
  /** Cost of the calls in US dollars; null if unknown. */
  readonly costUsd: number | null
  /** The return value of an agent; for a prompt file, the answer parsed as JSON, or undefined if it is not JSON. */
  readonly output: Json | undefined
  /** The text of a file of the workspace; undefined if it does not exist. */
  readonly file: (path: string) => string | undefined
  /** Sorted paths of the files that were created, changed or deleted. */
  readonly changed: () => readonly string[]
  /** For checks that need more than a comparison. */
  readonly ask: CheckContext
}

export interface CheckContext {
  /** Cancels long-running checks. */
  readonly signal: AbortSignal
  readonly schema: (file: string) => JsonObject
  readonly lua: (expression: string) => Promise<Json>
  /** The verdict of a model on each criterion. */
  readonly judge: (criteria: readonly string[]) => Promise<readonly Verdict[]>
}

export interface Verdict {
  readonly is_met: boolean
  readonly reason: string
}

/** An expectation that is not met. */
export interface UnmetExpectation {
  /** Its position in the test, starting at `expect`. */
  readonly path: DataPath
  readonly message: string
  /** A unified diff. */
  readonly diff?: string
}

const shownText = 300

/** The exit code that a test expects: the last one given, default 0. */
export function expectedExit(expect: readonly Expectation[]): number {
  return expect.findLast(({ exit }) => exit !== undefined)?.exit ?? 0
}

/** All expectations that are not met, in written order. Exit codes are not compared: see `expectedExit`. */
export async function unmetExpectations(
  expect: readonly Expectation[],
  observed: TestOutcome,
): Promise<readonly UnmetExpectation[]> {
  const all: UnmetExpectation[] = []
  for (const [index, expectation] of expect.entries()) {
    for (const key of Object.keys(expectation) as (keyof Expectation)[]) {
      const unmet = await unmetIn(key, expectation, observed)
      all.push(...unmet.map((one) => ({ ...one, path: ['expect', index, key, ...one.path] })))
    }
  }
  return all
}

function unmetIn(
  key: keyof Expectation,
  expectation: Expectation,
  observed: TestOutcome,
): readonly UnmetExpectation[] | Promise<readonly UnmetExpectation[]> {
  const { answer, calls, output, ask } = observed
  switch (key) {
    case 'answer_contains':
      return missingPieces(expectation[key], answer).map((piece) =>
        plain(`the answer does not contain ${JSON.stringify(piece)}: ${shown(answer)}`),
      )
    case 'answer_matches':
      return unmatched(expectation[key] ?? '', observed)
    case 'file_contains':
      return Object.entries(expectation[key] ?? {}).flatMap(([path, pieces]) => missingIn(path, pieces, observed))
    case 'file_equals':
      return Object.entries(expectation[key] ?? {}).flatMap(([path, text]) => different(path, text, observed))
    case 'output': {
      const expected = expectation[key] as Json
      if (equalJson(output, expected)) return []
      const diff = unifiedDiff(pretty(expected), pretty(output), { from: 'expected', to: 'output' })
      return [{ ...plain(output === undefined ? noJson(answer) : 'the output differs from the expected output'), diff }]
    }
    case 'json':
      return Object.entries(expectation[key] ?? {}).flatMap(([path, value]) =>
        differentAt(path, value as Json, observed),
      )
    case 'schema': {
      const schema = expectation[key] ?? {}
      return misfits(typeof schema === 'string' ? ask.schema(schema) : (schema as JsonObject), observed)
    }
    case 'changed_files':
      return otherFiles(expectation[key] ?? [], observed.changed())
    case 'lua':
      return notTrue(expectation[key] ?? '', ask)
    case 'judge':
      return judgedBad(piecesOf(expectation[key]), ask)
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

function missingIn(
  path: string,
  pieces: string | readonly string[],
  { file }: TestOutcome,
): readonly UnmetExpectation[] {
  const text = file(path)
  if (text === undefined) return [noFile(path)]
  return missingPieces(pieces, text).map((piece) => ({
    path: [path],
    message: `${path} does not contain ${JSON.stringify(piece)}: ${shown(text)}`,
  }))
}

function different(path: string, expected: string, { file }: TestOutcome): readonly UnmetExpectation[] {
  const text = file(path)
  if (text === undefined) return [noFile(path)]
  if (text === expected) return []
  const diff = unifiedDiff(expected, text, { from: 'expected', to: path })
  return [{ path: [path], message: `${path} differs from the expected content`, diff }]
}

function differentAt(path: string, expected: Json, { output, answer }: TestOutcome): readonly UnmetExpectation[] {
  if (output === undefined) return [{ path: [path], message: noJson(answer) }]
  const found = valueAt(output, path)
  if (equalJson(found, expected)) return []
  const what = found === undefined ? 'it is missing' : `it is ${shown(JSON.stringify(found), 'plain')}`
  return [{ path: [path], message: `${path} of the output is not ${JSON.stringify(expected)}; ${what}` }]
}

/** The value at a path such as `items[0].name`, `$.items[0]` or `["a key"].x`; undefined if it does not exist. */
function valueAt(value: Json, path: string): Json | undefined {
  let found: Json | undefined = value
  for (const [, key, index, quoted] of path.matchAll(/(?:^\$?|\.)([^.[\]$]+)|\[(\d+)\]|\["([^"]*)"\]/g)) {
    const step = key ?? quoted ?? Number(index)
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as { readonly [key: string]: Json })[step]
  }
  return found
}

async function unmatched(pattern: string, { answer, ask }: TestOutcome): Promise<readonly UnmetExpectation[]> {
  try {
    if (await matchesPattern(pattern, answer, ask.signal)) return []
    return [plain(`the answer does not match /${pattern}/u: ${shown(answer)}`)]
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
    return [plain(`the answer cannot be matched against /${pattern}/u: ${error.message}`)]
  }
}

async function misfits(schema: JsonObject, { output, answer, ask }: TestOutcome): Promise<readonly UnmetExpectation[]> {
  if (output === undefined) return [plain(noJson(answer))]
  const result = await compileSchema(schema)
  if (result.kind === 'invalid') return [plain(`the schema is not valid: ${result.message}`)]
  const problems = await checkBySchema(result.compiled, output, ask.signal)
  return problems.map(({ path, message }) => plain(`the output does not match the schema: ${path} ${message}`))
}

function otherFiles(expected: readonly string[], changed: readonly string[]): readonly UnmetExpectation[] {
  const missing = expected.filter((path) => !changed.includes(path)).map((path) => `${path} was not changed`)
  const others = changed.filter((path) => !expected.includes(path)).map((path) => `${path} was changed unexpectedly`)
  return [...missing, ...others].map(plain)
}

async function notTrue(expression: string, { lua }: CheckContext): Promise<readonly UnmetExpectation[]> {
  let value: Json
  try {
    value = await lua(expression)
  } catch (error) {
    if (!isBatonError(error)) throw error
    return [plain(`the Lua expression failed: ${error.message}`)]
  }
  return value === true ? [] : [plain(`the Lua expression is ${JSON.stringify(value)}, not true`)]
}

async function judgedBad(criteria: readonly string[], { judge }: CheckContext): Promise<readonly UnmetExpectation[]> {
  const verdicts = await judge(criteria)
  return verdicts.flatMap(({ is_met: isMet, reason }, index) =>
    isMet ? [] : [plain(`the judge model found this not met: ${criteria[index]} (${reason})`)],
  )
}

function noJson(answer: string): string {
  return `the answer is not JSON: ${shown(answer)}`
}

function pretty(value: Json | undefined): string {
  return value === undefined ? '' : `${JSON.stringify(value, null, 2)}\n`
}

function tooExpensive(limit: number, { costUsd }: TestOutcome): readonly UnmetExpectation[] {
  if (costUsd === null) return [plain('the cost of the model calls is unknown')]
  return costUsd <= limit ? [] : [plain(`the model calls cost $${costUsd}, more than $${limit}`)]
}

function missingPieces(pieces: string | readonly string[] | undefined, text: string): readonly string[] {
  return piecesOf(pieces).filter((piece) => !text.includes(piece))
}

function piecesOf(pieces: string | readonly string[] | undefined): readonly string[] {
  return pieces === undefined ? [] : typeof pieces === 'string' ? [pieces] : pieces
}

function noFile(path: string): UnmetExpectation {
  return { path: [path], message: `there is no file ${path}` }
}

function plain(message: string): UnmetExpectation {
  return { path: [], message }
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function shown(text: string, as: 'quoted' | 'plain' = 'quoted'): string {
  const quoted = (part: string): string => (as === 'quoted' ? JSON.stringify(part) : part)
  return text.length <= shownText ? quoted(text) : `${quoted(text.slice(0, shownText))} …`
}
