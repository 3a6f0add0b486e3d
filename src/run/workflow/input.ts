import type { Json, JsonObject } from '../../base/json.ts'
import type { WorkflowStep } from '../../config/workflow.ts'
import type { ErrorInfo } from '../../event/event.ts'
import { joinTexts, textOf } from '../../prompt/value-text.ts'

/** How a step has ended. Plain JSON: it is recorded. */
export type StepEnd =
  /** `changes`: the file changes of the main agent, applied or refused. */
  | { readonly status: 'done'; readonly output: Json; readonly changes?: readonly JsonObject[] }
  | { readonly status: 'skipped'; readonly reason: string }
  /** `output`: what the items gave that have not failed. */
  | { readonly status: 'failed'; readonly error: ErrorInfo; readonly output?: Json }

export type StepEnds = ReadonlyMap<string, StepEnd>

/** What all steps of a workflow are given. */
export interface Request {
  /** The instruction, and what a caller gives the file. */
  readonly text: string
  readonly instruction: string
  readonly params: JsonObject
  /** The table of `[input]` variables, or the input of the task. */
  readonly input: Json
  readonly stdin: string | undefined
}

/** One item of `for_each`; undefined: the step has none. */
export type Item = { readonly value: Json; readonly index: number } | undefined

/** What a step is given to work on: a value for scripts, and the same as text. */
export interface StepInput {
  readonly value: Json
  readonly text: string
}

/** What templates and expressions see of the steps that a step waits for. */
export function stepsTable(ids: Iterable<string>, ends: StepEnds): JsonObject {
  return Object.fromEntries(
    [...ids].flatMap((id): readonly (readonly [string, Json])[] => {
      const end = ends.get(id)
      return end === undefined ? [] : [[id, viewOf(end)]]
    }),
  )
}

/** A step as others see it: nothing stands for what it does not have. */
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

/** What a step without a template gets: its item, else what its needs gave, else the request. */
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
  // a structured value stays one: with several each is found by the id of its step
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

/** The instruction with what was piped in. */
function requestText({ text, stdin }: Request): string {
  return joinTexts([text, stdin ?? ''])
}
