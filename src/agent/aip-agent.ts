import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { mapLimit } from '../base/limit.ts'
import type { AgentResult } from '../event/agent.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import type { AipDocument } from '../prompt/aip.ts'
import { readDirective } from './directive.ts'
import { concurrencyOf, mergeOptions } from './options.ts'
import { emptyResult } from './result.ts'
import { failureOutput, placeOfInput, type ScriptRun } from './script-run.ts'

/**
 * Runs a script-only `.aip` agent: Before All, then Data and Output per input, then After All (spec/aipack.md 2).
 * Each section gets a fresh Lua state; values cross as JSON.
 * @throws BatonError SCRIPT_FAILED when a section fails, NOT_AVAILABLE for prompt sections
 */
export async function runAip(run: ScriptRun, document: AipDocument): Promise<AgentResult> {
  refusePromptParts(run, document)
  const start = await runBeforeAll(run, document)
  if (start.kind === 'skip') return { ...emptyResult, stopReason: 'skipped', skipReason: start.reason }
  if (start.kind === 'redo') return { ...emptyResult, redoRequested: true }

  const outputs = await runTasks(run, document, start)
  const last = await runAfterAll(run, document, { ...start, outputs })
  if (last.kind === 'redo') return { ...emptyResult, outputs, redoRequested: true }
  return { ...emptyResult, outputs, afterAll: last.value }
}

function refusePromptParts({ request: { agent } }: ScriptRun, { parts }: AipDocument): void {
  const [first] = parts
  if (first === undefined) return
  throw new BatonError(
    'NOT_AVAILABLE',
    `the ${first.role} section of ${agent.name} asks a model, which agents cannot do in this version`,
    {
      place: { file: agent.file, line: first.line, text: agent.text },
      hint: 'Use script sections only: Before All, Data, Output, After All.',
    },
  )
}

interface Started {
  readonly kind: 'run'
  readonly inputs: readonly Json[] | null
  readonly beforeAll: Json | undefined
  readonly options: JsonObject
}

async function runBeforeAll(
  { request, options, section }: ScriptRun,
  { beforeAll }: AipDocument,
): Promise<Started | { readonly kind: 'skip'; readonly reason: string | undefined } | { readonly kind: 'redo' }> {
  const { inputs } = request
  if (beforeAll === undefined) return { kind: 'run', inputs, beforeAll: undefined, options }

  const context = below(section.context, 'before_all')
  const value = await section.run(
    { text: beforeAll.text, variables: { inputs: inputs ?? undefined, options } },
    { context },
  )
  const directive = readDirective(value)
  switch (directive.kind) {
    case 'value':
      return { kind: 'run', inputs, beforeAll: directive.value, options }
    case 'skip':
    case 'redo':
      return directive
    case 'before_all':
      return {
        kind: 'run',
        inputs: readInputs(directive.response['inputs'], inputs),
        beforeAll: directive.response['before_all'],
        options: mergeOptions(options, optionsOf(directive.response)),
      }
    case 'data':
      throw misplaced('data_response', 'Before All')
  }
}

function readInputs(value: Json | undefined, before: readonly Json[] | null): readonly Json[] | null {
  if (value === undefined || value === null) return before
  if (Array.isArray(value)) return value as readonly Json[]
  if (isJsonObject(value) && Object.keys(value).length === 0) return []
  throw new BatonError('SCRIPT_FAILED', 'inputs of aip.flow.before_all_response must be a list')
}

function optionsOf(response: JsonObject): JsonObject | undefined {
  const options = response['options']
  return isJsonObject(options) ? options : undefined
}

async function runTasks(run: ScriptRun, document: AipDocument, start: Started): Promise<readonly Json[]> {
  const hasTaskSections = document.data !== undefined || document.output !== undefined
  const given = start.inputs ?? []
  const inputs = given.length === 0 && hasTaskSections ? [null] : given
  const { context } = run.section
  return mapLimit(
    inputs,
    { limit: concurrencyOf(start.options), signal: context.signal },
    async (input, index, signal) => {
      const at = below({ ...context, signal }, ...placeOfInput(index, inputs.length))
      const work = (): Promise<Json> => runTask(run, document, { ...start, input, index, context: at })
      const output = inputs.length === 1 ? await work() : await context.effects.boundary(at.at, work)
      run.request.onOutput?.(output, index)
      return output
    },
  )
}

interface Task extends Started {
  readonly input: Json
  readonly index: number
  readonly context: RunContext
}

async function runTask(run: ScriptRun, document: AipDocument, task: Task): Promise<Json> {
  try {
    const data = await runData(run, document, task)
    if (data.kind === 'skip') {
      emit(task.context, {
        type: 'task.skipped',
        index: task.index,
        label: run.request.agent.name,
        ...reasonOf(data.reason),
      })
      return null
    }
    return await runOutput(run, document, { ...task, ...data })
  } catch (error) {
    task.context.signal.throwIfAborted()
    if (task.options['allow_run_on_task_fail'] !== true) throw error
    emit(task.context, {
      type: 'warning',
      message: `input ${task.index} of ${run.request.agent.name} failed: ${String(error)}`,
    })
    return failureOutput(error)
  }
}

function reasonOf(reason: string | undefined): { readonly reason?: string } {
  return reason === undefined ? {} : { reason }
}

type DataOutcome =
  | { readonly kind: 'skip'; readonly reason: string | undefined }
  | { readonly kind: 'run'; readonly input: Json; readonly data: Json | undefined; readonly options: JsonObject }

async function runData({ section }: ScriptRun, { data }: AipDocument, task: Task): Promise<DataOutcome> {
  const { input, options } = task
  if (data === undefined) return { kind: 'run', input, data: undefined, options }

  const variables = { input, before_all: task.beforeAll, options }
  const value = await section.run({ text: data.text, variables }, { context: below(task.context, 'data'), options })
  const directive = readDirective(value)
  switch (directive.kind) {
    case 'value':
      return { kind: 'run', input, data: directive.value, options }
    case 'skip':
      return directive
    case 'data':
      return {
        kind: 'run',
        input: directive.response['input'] ?? input,
        data: directive.response['data'],
        options: mergeOptions(options, optionsOf(directive.response)),
      }
    case 'redo':
      throw misplaced('redo_run', 'Data')
    case 'before_all':
      throw misplaced('before_all_response', 'Data')
  }
}

async function runOutput(
  { section }: ScriptRun,
  { output }: AipDocument,
  task: Task & { readonly data: Json | undefined },
): Promise<Json> {
  if (output === undefined) return null
  const { input, data, beforeAll, options } = task
  const variables = { input, data, before_all: beforeAll, options }
  const value = await section.run({ text: output.text, variables }, { context: below(task.context, 'output'), options })
  const directive = readDirective(value)
  switch (directive.kind) {
    case 'value':
      return directive.value ?? null
    case 'skip':
      return null
    case 'redo':
      throw misplaced('redo_run', 'Output')
    case 'before_all':
      throw misplaced('before_all_response', 'Output')
    case 'data':
      throw misplaced('data_response', 'Output')
  }
}

async function runAfterAll(
  { section }: ScriptRun,
  { afterAll }: AipDocument,
  { inputs, outputs, beforeAll, options }: Started & { readonly outputs: readonly Json[] },
): Promise<{ readonly kind: 'value'; readonly value: Json | undefined } | { readonly kind: 'redo' }> {
  if (afterAll === undefined) return { kind: 'value', value: undefined }
  const variables = {
    inputs: inputs ?? undefined,
    outputs: outputs.length > 0 ? outputs : undefined,
    before_all: beforeAll,
    options,
  }
  const value = await section.run({ text: afterAll.text, variables }, { context: below(section.context, 'after_all') })
  return readDirective(value).kind === 'redo' ? { kind: 'redo' } : { kind: 'value', value }
}

function misplaced(name: string, section: string): BatonError {
  const where: Readonly<Record<string, string>> = {
    redo_run: 'Before All or After All',
    before_all_response: 'Before All',
    data_response: 'Data',
  }
  return new BatonError('SCRIPT_FAILED', `${section} may not return aip.flow.${name}()`, {
    hint: `Only ${where[name]} may.`,
  })
}
