import { BatonError, isBatonError, rewordError, type SourcePlace, stopsRun } from '../base/error.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { ScriptAgent, ScriptResult } from '../event/agent.ts'
import { below, emit, type RunContext, withServices } from '../event/context.ts'
import { sectionInputWithoutLimits } from '../event/limits.ts'
import type { AipBlock, AipDocument } from '../prompt/aip.ts'
import { concurrencyOf, scriptAgentOptions, mergeOptions } from './options.ts'
import { placeOfInput, type ScriptRun } from './script-run.ts'
import { mapSiblings } from '../base/concurrency.ts'
import type { ErrorInfo } from '../event/event.ts'
import { errorTextForScript } from '../script/error-for-script.ts'
import { type AttachmentSource, readAttachments } from './attachments.ts'

/**
 * Runs an `.aip` agent: Before All, then Data, prompt and Output for each input, then After All. Each section gets a
 * fresh Lua state; values are passed as JSON.
 * @throws BatonError SCRIPT_FAILED when a section fails, and errors of the model call
 */
export async function runAip(run: ScriptRun, document: AipDocument): Promise<ScriptResult> {
  const { agent } = run.request
  const start = await inSection(agent, document.beforeAll, () => runBeforeAll(run, document))
  if (start.kind === 'skip') return { kind: 'script', end: 'skipped', reason: start.reason }
  if (start.kind === 'redo') return { kind: 'script', end: 'redo', outputs: [], failedInputs: 0, afterAll: undefined }

  const inputs = taskInputs(document, start.inputs)
  const results = await runTasks(run, document, { ...start, inputs })
  const outputs = results.map(({ output }) => output)
  const failedInputs = results.filter(({ failed }) => failed).length
  const last = await inSection(agent, document.afterAll, () =>
    runAfterAll(run, document, { ...start, inputs, outputs }),
  )
  const end = readDirective(last).kind === 'redo' ? 'redo' : 'done'
  return { kind: 'script', end, outputs, failedInputs, afterAll: last }
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

  const context = below(section.context, { kind: 'section', name: 'before_all' })
  const value = await section.run(
    { text: beforeAll.text, variables: { inputs: inputs ?? undefined, options } },
    { context, stage: 'before_all' },
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
        options: mergeOptions(options, optionsOf(directive.response, 'before_all_response')),
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

/** Without inputs there is one task without input; `_display` of an input is its label. */
function taskInputs({ data, output, parts }: AipDocument, given: readonly Json[] | null): readonly Json[] | null {
  const hasTaskSections = data !== undefined || output !== undefined || parts.length > 0
  if (hasTaskSections && (given ?? []).length === 0) return [null]
  return given?.map(withDisplay) ?? null
}

function withDisplay(input: Json): Json {
  if (!isJsonObject(input) || '_display' in input) return input
  const { _type: type, path } = input
  const isFile = type === 'FileInfo' || type === 'FileRecord'
  return isFile && typeof path === 'string' ? { ...input, _display: path } : input
}

async function runTasks(run: ScriptRun, document: AipDocument, start: Started): Promise<readonly AipTaskResult[]> {
  const inputs = start.inputs ?? []
  const { context } = run.section
  return mapSiblings(
    inputs,
    { limit: concurrencyOf(start.options), signal: context.services.signal },
    async (input, index, signal) => {
      const at = below(withServices(context, { signal }), ...placeOfInput(index, inputs.length))
      const work = (): Promise<AipTaskResult> => runAipTask(run, document, { ...start, input, index, context: at })
      const result =
        inputs.length === 1
          ? await work()
          : await context.services.effects.boundary(at.scope.at, work, {
              inputs: sectionInputWithoutLimits({
                input,
                before_all: start.beforeAll,
                options: start.options,
                agent: run.request.agent.text,
              }),
              isFinal: ({ failed }) => !failed,
              failureIn: failureInTask,
            })
      run.request.onOutput?.(result.output, index)
      return result
    },
  )
}

async function runAfterAll(
  { section }: ScriptRun,
  { afterAll }: AipDocument,
  { inputs, outputs, beforeAll, options }: Started & { readonly outputs: readonly Json[] },
): Promise<Json | undefined> {
  if (afterAll === undefined) return undefined
  const variables = {
    inputs: inputs ?? undefined,
    outputs: outputs.length > 0 ? outputs : undefined,
    before_all: beforeAll,
    options,
  }
  return section.run(
    { text: afterAll.text, variables },
    { context: below(section.context, { kind: 'section', name: 'after_all' }), stage: 'after_all' },
  )
}

interface AipTask extends Started {
  readonly input: Json
  readonly index: number
  readonly context: RunContext
}

/** How one input ended; JSON, because it is recorded as the boundary of its task. */
interface AipTaskResult {
  /** Null for nil and for skipped inputs; `{ error }` for a failed input in a run that continues. */
  readonly output: Json
  readonly failed: boolean
}

/** The error of a failed input in a run that continues. */
function failureInTask({ output, failed }: AipTaskResult): ErrorInfo | undefined {
  const error = failed && isJsonObject(output) ? output['error'] : undefined
  return typeof error === 'string' ? { code: 'TASK_FAILED', message: error } : undefined
}

/** Runs one input of an `.aip` agent: Data, the prompt and its answer, Output. */
async function runAipTask(run: ScriptRun, document: AipDocument, task: AipTask): Promise<AipTaskResult> {
  try {
    const { agent } = run.request
    const data = await inSection(agent, document.data, () => runData(run, document, task))
    if (data.kind === 'skip') {
      const { index, context } = task
      emit(context, { type: 'task.skipped', index, label: agent.name, ...defined({ reason: data.reason }) })
      return { output: null, failed: false }
    }
    const ready = { ...task, ...data }
    // agents that ask no model load no code for it
    const asks = document.parts.length > 0 || ready.attachments.length > 0
    const answer = asks ? await (await import('./aip-prompt.ts')).askAip(run, document, ready) : undefined
    const output = await inSection(agent, document.output, () => outputOf(run, document, { ...ready, answer }))
    return { output, failed: false }
  } catch (error) {
    task.context.services.signal.throwIfAborted()
    if (task.options['allow_run_on_task_fail'] !== true || stopsRun(error)) throw error
    const text = errorTextForScript(error, task.context.scope.folders.workspace)
    emit(task.context, {
      type: 'warning',
      message: `input ${task.index + 1} of ${run.request.agent.name} failed: ${text}`,
    })
    return { output: { error: text }, failed: true }
  }
}

type DataOutcome =
  | { readonly kind: 'skip'; readonly reason: string | undefined }
  | {
      readonly kind: 'run'
      readonly input: Json
      readonly data: Json | undefined
      readonly attachments: readonly AttachmentSource[]
      readonly options: JsonObject
    }

async function runData({ section }: ScriptRun, { data }: AipDocument, task: AipTask): Promise<DataOutcome> {
  const { input, options } = task
  if (data === undefined) return { kind: 'run', input, data: undefined, attachments: [], options }

  const variables = { input, before_all: task.beforeAll, options }
  const value = await section.run(
    { text: data.text, variables },
    { context: below(task.context, { kind: 'section', name: 'data' }), stage: 'data' },
  )
  const directive = readDirective(value)
  switch (directive.kind) {
    case 'value':
      return { kind: 'run', input, data: directive.value, attachments: [], options }
    case 'skip':
      return directive
    case 'data':
      return {
        kind: 'run',
        input: directive.response['input'] === undefined ? input : directive.response['input'],
        data: directive.response['data'],
        attachments: readAttachments(directive.response['attachments']),
        options: mergeOptions(options, optionsOf(directive.response, 'data_response')),
      }
    case 'redo':
      throw misplaced('redo_run', 'Data')
    case 'before_all':
      throw misplaced('before_all_response', 'Data')
  }
}

type Answered = AipTask & { readonly data: Json | undefined; readonly answer: JsonObject | undefined }

/** The result of Output; without that section, the text of the answer. */
async function outputOf(run: ScriptRun, { output }: AipDocument, task: Answered): Promise<Json> {
  if (task.context.scope.dry === 'res') return null
  if (output === undefined) return task.answer?.['content'] ?? null
  return runOutput(run, output, task)
}

async function runOutput({ section }: ScriptRun, output: AipBlock, task: Answered): Promise<Json> {
  const { input, data, beforeAll, options, answer } = task
  const variables = { input, data, before_all: beforeAll, ai_response: answer, options }
  const value = await section.run(
    { text: output.text, variables },
    { context: below(task.context, { kind: 'section', name: 'output' }), stage: 'output' },
  )
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

/** Runs a section of an agent. Errors without a place are about its return value, and get the section's place. */
async function inSection<T>(agent: ScriptAgent, block: AipBlock | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (block === undefined || !isBatonError(error) || error.place !== undefined) throw error
    throw rewordError(error, { place: placeOfReturn(agent, block, error.message) })
  }
}

/** The line of the function named in the message, if it occurs once; else the first line of the section. */
function placeOfReturn({ file, text }: ScriptAgent, block: AipBlock, message: string): SourcePlace {
  const name = /aip\.flow\.\w+/.exec(message)?.[0]
  const lines = block.text.split('\n')
  const calls = name === undefined ? [] : lines.flatMap((line, index) => (line.includes(name) ? [index + 1] : []))
  const [line, second] = calls
  if (name === undefined || line === undefined || second !== undefined) return { file, line: block.line, text }
  const column = (lines[line - 1] ?? '').indexOf(name) + 1
  return { file, line, column, endLine: line, endColumn: column + name.length, text }
}

/** The meaning of a stage value: a plain value or a flow response (docs/aipack.md "Flow"). */
type Directive =
  | { readonly kind: 'value'; readonly value: Json | undefined }
  | { readonly kind: 'before_all'; readonly response: JsonObject }
  | { readonly kind: 'data'; readonly response: JsonObject }
  | { readonly kind: 'skip'; readonly reason: string | undefined }
  | { readonly kind: 'redo' }

const responseKeys = {
  BeforeAllResponse: ['inputs', 'before_all', 'options'],
  DataResponse: ['input', 'data', 'attachments', 'options'],
} as const

/**
 * Reads the marker tables that `aip.flow.*` creates; anything else is a plain value.
 * @throws BatonError SCRIPT_FAILED for an unknown kind and for unknown keys of a response, naming them
 */
function readDirective(value: Json | undefined): Directive {
  const marker = isJsonObject(value) ? value['_aipack_'] : undefined
  const kind = isJsonObject(marker) ? marker['kind'] : undefined
  if (!isJsonObject(marker) || typeof kind !== 'string') return { kind: 'value', value }

  const data = marker['data'] ?? null
  switch (kind) {
    case 'BeforeAllResponse':
      return { kind: 'before_all', response: readResponse(kind, data) }
    case 'DataResponse':
      return { kind: 'data', response: readResponse(kind, data) }
    case 'Skip':
      return { kind: 'skip', reason: readReason(data) }
    case 'Redo':
      return { kind: 'redo' }
    default:
      throw new BatonError('SCRIPT_FAILED', `unknown flow response "${kind}"`, {
        hint: 'Create flow responses with aip.flow.before_all_response, data_response, skip or redo_run.',
      })
  }
}

function readResponse(kind: keyof typeof responseKeys, data: Json): JsonObject {
  if (!isJsonObject(data)) return {}
  const known: readonly string[] = responseKeys[kind]
  const unknown = Object.keys(data).filter((key) => !known.includes(key))
  if (unknown.length === 0) return data
  throw new BatonError('SCRIPT_FAILED', `${kind} has unknown keys: ${unknown.join(', ')}`, {
    hint: `Allowed keys: ${known.join(', ')}.`,
  })
}

function readReason(data: Json): string | undefined {
  const reason = isJsonObject(data) ? data['reason'] : undefined
  return typeof reason === 'string' ? reason : undefined
}

/**
 * The options of a flow response; empty if it has none.
 * @throws BatonError SCRIPT_FAILED for invalid options, naming the key
 */
function optionsOf(response: JsonObject, flow: 'before_all_response' | 'data_response'): JsonObject {
  return scriptAgentOptions(response['options'], `aip.flow.${flow}`)
}

/** The error for a flow response in a section that may not return it. */
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
