import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { isObject, type Json, type JsonObject, parseSentJson } from '../base/json.ts'
import { variableFlags } from '../config/input-variables.ts'
import type { RunReport } from '../wiring/conduct.ts'
import type { Asking, Verdict } from './expectations.ts'
import type { TestCase, TestedFile } from './load-tests.ts'
import type { RunTestOptions } from './run-test.ts'
import { runForTest, sourceOf, type TestRun } from './runs.ts'
import type { WorkspaceCopy } from './workspace-copy.ts'

interface Tested {
  readonly test: TestCase
  readonly file: TestedFile
  readonly copy: WorkspaceCopy
  readonly run: TestRun
}

/** The result of a run, for expectations. */
export function resultOf({ tasks, outputs }: Pick<RunReport, 'tasks' | 'outputs'>): {
  readonly answer: string
  readonly output: Json | undefined
} {
  const done = tasks.flatMap((task) => (task.status === 'done' ? [task] : []))
  const texts = outputs.map((output) => (typeof output === 'string' ? output : JSON.stringify(output)))
  const answer = [...done.map(({ content }) => content), ...texts].join('\n\n')
  const values = [...done.map(({ content, value }) => value ?? jsonOf(content)), ...outputs]
  return {
    answer,
    output: values.length === 1 ? values[0] : values.includes(undefined) ? undefined : (values as Json[]),
  }
}

function jsonOf(text: string): Json | undefined {
  try {
    return parseSentJson(text)
  } catch {
    return undefined
  }
}

/** Checks for expectations that need more than a comparison; `spent` is the cost of judging in US dollars. */
export function createAsking(
  tested: Tested,
  options: RunTestOptions,
): { readonly ask: Asking; readonly spent: () => number | null } {
  let spent: number | null = 0
  return {
    spent: () => spent,
    ask: {
      signal: options.signal ?? new AbortController().signal,
      schema: (name) => schemaIn(resolve(dirname(tested.file.file), name)),
      lua: (expression) => runExpression(expression, tested, options),
      async judge(criteria) {
        const { verdicts, costUsd } = await judge(criteria, tested, options)
        spent = spent === null || costUsd === null ? null : spent + costUsd
        return verdicts
      },
    },
  }
}

function schemaIn(file: string): JsonObject {
  const schema = jsonOf(readSourceFile(file))
  if (isObject(schema)) return schema as JsonObject
  throw new BatonError('CONFIG_INVALID', `the schema file ${file} does not contain a JSON object`, {
    place: { file },
    hint: 'Start with { "type": "object", "properties": { … } }.',
  })
}

/** Runs the expression as a separate agent, which may not read or call anything. */
async function runExpression(expression: string, { copy, run }: Tested, options: RunTestOptions): Promise<Json> {
  const cwd = join(copy.folder, 'expect')
  const file = join(cwd, 'expect.lua')
  mkdirSync(join(cwd, '.aipack'), { recursive: true })
  const names = ['answer', 'output', 'files', 'exit', 'calls']
  const values = names.map((name) => `input.${name}`).join(', ')
  writeFileSync(file, `local ${names.join(', ')} = ${values}\nreturn (${expression}\n)\n`)
  const { report, calls } = run
  const { answer, output = null } = resultOf(report)
  const files = Object.fromEntries(copy.changed().map((path) => [path, copy.read(path) ?? null]))
  const facts: Json = { answer, output, files, exit: report.exitCode, calls }
  const source = { kind: 'nothing' } as const
  const { report: ended } = await runForTest({ ...options, file, cwd, source, vars: [], params: {}, inputs: [facts] })
  if (ended.error !== undefined) throw ended.error
  return ended.outputs[0] ?? null
}

const judging = `+++
[input.criteria]
[input.result]
+++
You check the result of a program. For each criterion, in order, say whether the result meets it, and why in a few words. Judge by what is there, not by what may be meant.

# Criteria

{{input.criteria}}

# Result

{{input.result}}
`

function verdictSchema(count: number): JsonObject {
  const properties = { is_met: { type: 'boolean' }, reason: { type: 'string' } }
  const items = { type: 'object', properties, required: ['is_met', 'reason'], additionalProperties: false }
  const verdicts = { type: 'array', items, minItems: count, maxItems: count }
  return { type: 'object', properties: { verdicts }, required: ['verdicts'], additionalProperties: false }
}

/** Asks a model about the criteria, in a separate run with a cassette next to that of the test. */
async function judge(
  criteria: readonly string[],
  { test, copy, run }: Tested,
  options: RunTestOptions,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly costUsd: number | null }> {
  const cassette = test.cassette?.replace(/(?:\.cassette)?$/, '.judge.cassette')
  if (cassette === undefined) {
    throw new BatonError('USAGE', 'judge needs a cassette to record the verdict of the model', {
      place: await test.placeOf(['name']),
      hint: 'Set cassette = "…", and record it with baton test --record.',
    })
  }
  const { answer } = resultOf(run.report)
  const cwd = join(copy.folder, 'judge')
  mkdirSync(join(cwd, '.aipack'), { recursive: true })
  const recording = options.writeCassette === undefined ? undefined : join(copy.folder, 'judge-record')
  const source = await sourceOf({ cassette, placeOf: test.placeOf }, { workspace: dirname(cassette), recording })
  const { report, record, costUsd } = await runForTest({
    ...options,
    ...(test.judgeModel !== undefined && { model: test.judgeModel }),
    file: 'judge',
    text: judging,
    outputSchema: verdictSchema(criteria.length),
    vars: variableFlags({ criteria: criteria.map((one, index) => `${index + 1}. ${one}`).join('\n'), result: answer }),
    cwd,
    source,
    inputs: [],
    params: {},
  })
  if (report.error !== undefined) throw report.error
  if (record !== undefined) await options.writeCassette?.(cassette, record)
  const [task] = report.tasks
  const value = (task?.status === 'done' ? task.value : undefined) as
    | { readonly verdicts: readonly Verdict[] }
    | undefined
  if (value === undefined) throw new BatonError('TASK_FAILED', 'the judge model did not answer')
  return { verdicts: value.verdicts, costUsd }
}
