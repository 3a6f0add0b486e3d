import type { Json, JsonObject } from '../../base/json.ts'
import type { WorkflowStep } from '../../settings/strategies/workflow.ts'
import type { ErrorInfo } from '../../event/event.ts'
import { joinTexts, textOf } from '../../prompt/value-text.ts'

/** How a step ended. Plain JSON, because it is recorded. */
export type StepEnd =
  /** `changes`: the file changes of the main agent, applied or refused. */
  | { readonly status: 'done'; readonly output: Json; readonly changes?: readonly JsonObject[] }
  | { readonly status: 'skipped'; readonly reason: string }
  /** `output`: the outputs of the items that did not fail. */
  | { readonly status: 'failed'; readonly error: ErrorInfo; readonly output?: Json }

export type StepEnds = ReadonlyMap<string, StepEnd>

/** The common input of all steps of a workflow. */
export interface Request {
  /** The instruction, and the input from the caller of the file. */
  readonly text: string
  readonly instruction: string
  readonly params: JsonObject
  /** The table of `[input]` variables, or the input of the task. */
  readonly input: Json
  readonly stdin: string | undefined
}

/** One item of `for_each`; undefined without `for_each`. */
export type Item = { readonly value: Json; readonly index: number } | undefined

/** The input of a step: a value for scripts, and the same as text. */
export interface StepInput {
  readonly value: Json
  readonly text: string
}

/** The data of templates and expressions about the steps that a step waits for. */
export function stepsTable(ids: Iterable<string>, ends: StepEnds): JsonObject {
  return Object.fromEntries(
    [...ids].flatMap((id): readonly (readonly [string, Json])[] => {
      const end = ends.get(id)
      return end === undefined ? [] : [[id, viewOf(end)]]
    }),
  )
}

/** A step as others see it; fields that it does not have are omitted. */
export function viewOf(end: StepEnd): JsonObject {
  switch (end.status) {
    case 'done':
      return end.output === null ? { status: 'done' } : { status: 'done', output: end.output }
    case 'skipped':
      return { status: 'skipped' }
    case 'failed':
      return {
        status: 'failed',
        error: end.error.message,
        ...(end.output === undefined ? {} : { output: end.output }),
      }
  }
}

/** The input of a step without a template: its item, else the outputs of its needs, else the request. */
export function plainInput(step: WorkflowStep, { ends, item, request }: InputParts): StepInput {
  if (item !== undefined) return inputOf(item.value)
  if (step.needs.length === 0) return inputOf(requestText(request))
  const outputs = step.needs.flatMap((id): readonly (readonly [string, Json])[] => {
    const end = ends.get(id)
    if (end?.status === 'failed') return [[id, `step "${id}" failed: ${end.error.message}`]]
    return end?.status === 'done' && end.output !== null ? [[id, end.output]] : []
  })
  const text = joinTexts(outputs.map(([, output]) => textOf(output)))
  if (outputs.every(([, output]) => typeof output === 'string')) return { value: text, text }
  // structured values are kept; if there are several, as a table by step id
  const [only] = outputs
  const isOnly = step.needs.length === 1 && only !== undefined
  return { value: isOnly ? only[1] : Object.fromEntries(outputs), text }
}

export interface InputParts {
  readonly ends: StepEnds
  readonly item: Item
  readonly request: Request
}

function inputOf(value: Json): StepInput {
  return { value, text: textOf(value) }
}

/** The instruction, and standard input. */
function requestText({ text, stdin }: Request): string {
  return joinTexts([text, stdin ?? ''])
}
