import { modelText } from '../../base/model-text.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import type { WorkflowStep } from '../../settings/strategies/workflow.ts'
import type { ErrorInfo } from '../../event/event.ts'
import { joinTexts, textOf } from '../../prompt/value-text.ts'

/** How a step ended. Plain JSON, because it is recorded. */
export type StepEnd =
  /** `changes`: the file changes of the main agent, applied or refused. */
  | { readonly status: 'done'; readonly output: Json; readonly changes?: readonly JsonObject[] }
  | { readonly status: 'skipped'; readonly reason: string }
  /** `output`: the outputs of the items, with null for each that failed. */
  | {
      readonly status: 'failed' | 'partial'
      readonly error: ErrorInfo
      readonly output?: Json
      readonly failed?: readonly FailedItem[]
      readonly changes?: readonly JsonObject[]
    }

/** An item of `for_each` that failed while others did not end the run. */
interface FailedItem extends JsonObject {
  readonly index: number
  readonly label: string
  readonly error: string
}

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
export type Item = { readonly value: Json; readonly index: number; readonly label: string } | undefined

/** The fields of an item that name it, the most telling first. */
const naming = ['path', 'file', 'name', 'id', 'title', 'key', 'url'] as const

/** Texts longer than this are not names. */
const longestName = 120

/** What an item is called in messages: itself if it is a short text, else what names it, else its position. */
export function itemLabel(value: Json, index: number): string {
  if (!isJsonObject(value)) return isName(value) ? value : `item ${index}`
  for (const key of naming) {
    const name = value[key]
    if (isName(name)) return name
    if (typeof name === 'number') return String(name)
  }
  return `item ${index}`
}

function isName(value: Json | undefined): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= longestName && !/[\r\n]/.test(value)
}

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
    case 'partial':
      return {
        status: end.status,
        error: end.error.message,
        ...defined({ output: end.output, failed: end.failed }),
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
    const output = end?.status === 'done' || end?.status === 'partial' ? (end.output ?? null) : null
    return output === null ? [] : [[id, output]]
  })
  const missing = step.needs.map((id) => missingIn(id, ends.get(id)))
  const text = joinTexts([...outputs.map(([, output]) => textOf(output)), ...missing])
  if (outputs.every(([, output]) => typeof output === 'string')) return { value: text, text }
  // structured values are kept; if there are several, as a table by step id
  const [only] = outputs
  const isOnly = step.needs.length === 1 && only !== undefined
  return { value: isOnly ? only[1] : Object.fromEntries(outputs), text }
}

/** What the output of a step lacks, for a model that works on it. */
function missingIn(id: string, end: StepEnd | undefined): string {
  if (end?.status !== 'partial') return ''
  const lines = (end.failed ?? []).map(({ label, error }) => `- ${label}: ${error}`)
  return modelText`These items of step "${id}" failed, so their results are missing above:
${lines.join('\n')}`
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
