import { isObject, type Json, type JsonObject } from '../base/json.ts'
import type { RecordSource } from '../journal/source.ts'
import { endedOf, startedOf } from './node-view.ts'
import { dataText, valueOf } from './recorded.ts'
import { nodesIn, type RunNode, type RunView, type ViewOptions } from './run-view.ts'

/** What an agent did before its answer: what its model said, or a tool that it called. */
export type RunStep =
  | { readonly kind: 'said'; readonly place: string; readonly text: string }
  | {
      readonly kind: 'tool'
      /** That of the model call. */
      readonly place: string
      readonly name: string
      /** Its arguments; long texts are cut. */
      readonly input: Json
      /** `called`: its result has not reached the model. */
      readonly state: 'called' | 'done' | 'failed'
      /** The start of its result; empty if there is none. */
      readonly result: string
    }

export interface RunSteps {
  readonly steps: readonly RunStep[]
  /** How many earlier steps were left out. */
  readonly earlier: number
  /** The paths of files that were changed, as they are recorded. */
  readonly files: readonly string[]
}

const mostSteps = 500
const mostInput = 300
const mostResult = 1_000

/** A model call of an agent that was not started by a tool. */
const ownTurn = /^(?!.*\/tool\/)(.*?)(?:^|\/)turn\/(\d+)#\d+$/

/** A view for `stepsIn`: other nodes are not needed. */
export const stepsOnly: ViewOptions = {
  most: Number.POSITIVE_INFINITY,
  keeps: (place) => ownTurn.test(place),
}

/** The steps of the agents of a run, in their order, without the answers that they ended with. */
export function stepsIn({ root, source, changes }: RunView): RunSteps {
  const turns = [...nodesIn(root)].flatMap((node) => {
    const [, agent] = (node.started !== undefined && ownTurn.exec(node.place)) || []
    return agent === undefined ? [] : [{ node, agent }]
  })
  const inOrder = turns.toSorted((one, other) => (one.node.started ?? 0) - (other.node.started ?? 0))
  /** The call after the one that is looked at, by agent: from the last one backwards. */
  const next = new Map<string, RunNode>()
  const backwards = inOrder.toReversed().map(({ node, agent }) => {
    const own = stepsOf(node, next.get(agent), source)
    next.set(agent, node)
    return own
  })
  const all = backwards.toReversed().flat()
  const files = changes.flatMap(({ started }) => {
    const record = source.at(started)
    const request = record.k === 'started' ? valueOf(record.request, source) : undefined
    return isObject(request) && typeof request['path'] === 'string' ? [request['path']] : []
  })
  const steps = all.slice(-mostSteps)
  return { steps, earlier: all.length - steps.length, files: [...new Set(files)] }
}

function stepsOf(turn: RunNode, next: RunNode | undefined, source: RecordSource): readonly RunStep[] {
  const { place } = turn
  const ended = endedOf(turn, source)
  const answer = ended?.status === 'ok' ? valueOf(ended.value, source) : undefined
  const parts = partsOf(answer)
  const calls = parts.filter(({ type }) => type === 'tool_call')
  // the answer itself
  if (next === undefined && calls.length === 0) return []
  const text = parts.flatMap((part) => (part['type'] === 'text' ? [textOf(part)] : [])).join('')
  const results = next === undefined ? [] : resultsIn(next, source)
  const said: readonly RunStep[] = text.trim() === '' ? [] : [{ kind: 'said', place, text }]
  return [...said, ...calls.map((call) => stepOf(call, { place, results }))]
}

function stepOf(
  { id, name, input }: JsonObject,
  { place, results }: { readonly place: string; readonly results: readonly JsonObject[] },
): RunStep {
  const result = results.find((one) => one['id'] === id)
  const state = result === undefined ? 'called' : result['is_error'] === true ? 'failed' : 'done'
  const text = result === undefined ? '' : partsOf(result).map(resultText).join('\n')
  return {
    kind: 'tool',
    place,
    name: typeof name === 'string' ? name : '',
    input: cutTexts(argumentsOf(input)),
    state,
    result: cut(text, mostResult),
  }
}

/** Some models send them as text, which may not be JSON. */
function argumentsOf(input: Json | undefined): Json {
  if (typeof input !== 'string') return input ?? null
  try {
    return JSON.parse(input) as Json
  } catch {
    return input
  }
}

/** The results of tools that a model got with its request, after its last answer. */
function resultsIn(turn: RunNode, source: RecordSource): readonly JsonObject[] {
  const started = startedOf(turn, source)
  const request = started && valueOf(started.request, source)
  const messages = isObject(request) && Array.isArray(request['messages']) ? request['messages'].filter(isObject) : []
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  return messages.slice(last + 1).flatMap((message) => partsOf(message).filter(({ type }) => type === 'tool_result'))
}

function partsOf(value: unknown): readonly JsonObject[] {
  const parts = isObject(value) ? value['parts'] : undefined
  return Array.isArray(parts) ? parts.filter((part): part is JsonObject => isObject(part)) : []
}

function textOf({ text }: JsonObject): string {
  return typeof text === 'string' ? text : ''
}

function resultText(part: JsonObject): string {
  return part['type'] === 'text' ? textOf(part) : part['type'] === 'file' ? '(file)' : dataText(part)
}

function cutTexts(value: Json): Json {
  if (typeof value === 'string') return cut(value, mostInput)
  if (Array.isArray(value)) return value.slice(0, 20).map(cutTexts)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value as JsonObject).map(([key, one]) => [key, cutTexts(one)]))
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
