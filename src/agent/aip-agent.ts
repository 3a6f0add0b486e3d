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
 * Runs an `.aip` agent: Before All, then Data, prompt and Output per input, then After All.
 * Each section gets a fresh Lua state; values cross as JSON.
 * @throws BatonError SCRIPT_FAILED when a section fails, and what the model call throws
 */
export async function runAip(run: ScriptRun, document: AipDocument): Promise<ScriptResult> {
  const { agent } = run.request
  const start = await inSection(agent, document.beforeAll, () => runBeforeAll(run, document))
  if (start.kind === 'skip') return { kind: 'script', end: 'skipped', reason: start.reason }
  if (start.kind === 'redo') return { kind: 'script', end: 'redo', outputs: [], failedInputs: 0 }

  const results = await runTasks(run, document, start)
  const outputs = results.map(({ output }) => output)
  const failedInputs = results.filter(({ failed }) => failed).length
  const last = await inSection(agent, document.afterAll, () => runAfterAll(run, document, { ...start, outputs }))
  if (last.kind === 'redo') return { kind: 'script', end: 'redo', outputs, failedInputs }
  return { kind: 'script', end: 'done', outputs, failedInputs, afterAll: last.value }
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

async function runTasks(run: ScriptRun, document: AipDocument, start: Started): Promise<readonly AipTaskResult[]> {
  const hasTaskSections = document.data !== undefined || document.output !== undefined || document.parts.length > 0
  const given = start.inputs ?? []
  const inputs = given.length === 0 && hasTaskSections ? [null] : given
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
): Promise<{ readonly kind: 'value'; readonly value: Json | undefined } | { readonly kind: 'redo' }> {
  if (afterAll === undefined) return { kind: 'value', value: undefined }
  const variables = {
    inputs: inputs ?? undefined,
    outputs: outputs.length > 0 ? outputs : undefined,
    before_all: beforeAll,
    options,
  }
  const value = await section.run(
    { text: afterAll.text, variables },
    { context: below(section.context, { kind: 'section', name: 'after_all' }), stage: 'after_all' },
  )
  return readDirective(value).kind === 'redo' ? { kind: 'redo' } : { kind: 'value', value }
}
