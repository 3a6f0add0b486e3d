import { stopsRun } from '../base/error.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { AipBlock, AipDocument } from '../prompt/aip.ts'
import { toldText } from '../script/told-error.ts'
import type { Started } from './aip-agent.ts'
import { type AttachmentSource, readAttachments } from './attachments.ts'
import { misplaced, optionsOf, readDirective } from './directive.ts'
import { mergeOptions } from './options.ts'
import { inSection } from './section-place.ts'
import type { ScriptRun } from './script-run.ts'

export interface AipTask extends Started {
  readonly input: Json
  readonly index: number
  readonly context: RunContext
}

/** How one input ended; JSON, because it is recorded as the boundary of its task. */
export interface AipTaskResult {
  /** Null for nil and for skipped inputs; `{ error }` for a failed input in a run that continues. */
  readonly output: Json
  readonly failed: boolean
}

/** The error of a failed input in a run that continues. */
export function failureInTask({ output, failed }: AipTaskResult): ErrorInfo | undefined {
  const error = failed && isJsonObject(output) ? output['error'] : undefined
  return typeof error === 'string' ? { code: 'TASK_FAILED', message: error } : undefined
}

/** Runs one input of an `.aip` agent: Data, the prompt and its answer, Output. */
export async function runAipTask(run: ScriptRun, document: AipDocument, task: AipTask): Promise<AipTaskResult> {
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
    const text = toldText(error, task.context.scope.folders.workspace)
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
