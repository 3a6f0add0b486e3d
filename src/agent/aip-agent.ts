import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { ScriptResult } from '../event/agent.ts'
import { below, withServices } from '../event/context.ts'
import { givenWithoutLimits } from '../event/limits.ts'
import type { AipDocument } from '../prompt/aip.ts'
import { type AipTaskResult, failureInTask, runAipTask } from './aip-task.ts'
import { misplaced, optionsOf, readDirective } from './directive.ts'
import { concurrencyOf, mergeOptions } from './options.ts'
import { inSection } from './section-place.ts'
import { placeOfInput, type ScriptRun } from './script-run.ts'
import { mapSiblings } from './siblings.ts'

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

export interface Started {
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
              inputs: givenWithoutLimits({
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
