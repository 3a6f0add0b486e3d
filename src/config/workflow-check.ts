import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type JsonObject } from '../base/json.ts'
import { checkReserved } from './check-settings.ts'
import { type Finding, suggestionHint, wrongKey, wrongValue } from './issue.ts'
import { isRequestKey, isReserved, reserved } from './keys.ts'
import {
  inOrder,
  readWorkflow,
  whenWords,
  type WorkflowStep,
  type WrittenStep,
  type WrittenWorkflow,
} from './workflow.ts'

/** Inconsistencies between the steps of a checked `workflow` table. Templates and expressions are checked elsewhere. */
export function checkWorkflow(value: JsonObject): readonly Finding[] {
  const { step: written = [] } = value as WrittenWorkflow
  if (written.length === 0) {
    const hint = 'Add [[workflow.step]] with an id, and an agent or instructions.'
    return [wrongKey(['workflow'], { message: '"workflow" has no steps', hint })]
  }
  const ids = written.map(({ id }) => id)
  const single = [...written.entries()].flatMap(([index, step]) => [
    ...checkStep(step, index),
    ...checkId(step, index, ids),
    ...checkNeeds(step, index, ids),
  ])
  if (single.length > 0) return single
  const { steps } = readWorkflow(value)
  const cycle = findCycle(steps)
  return cycle === undefined ? checkReach(steps, value) : [cycle]
}

function at(index: number, ...key: readonly (string | number)[]): DataPath {
  return ['workflow', 'step', index, ...key]
}

function checkStep(step: WrittenStep, index: number): readonly Finding[] {
  const { id, agent, instructions, when, fallback = [] } = step
  const findings: Finding[] = []
  if (agent !== undefined && instructions !== undefined) {
    const message = `workflow step "${id}" has both agent and instructions`
    findings.push(
      wrongKey(at(index, 'instructions'), { message, hint: 'Keep one: instructions are for the main agent.' }),
    )
  }
  if (agent === undefined && instructions === undefined) {
    const message = `workflow step "${id}" has neither agent nor instructions`
    const hint = 'Name an agent, or write instructions = "…" for the main agent.'
    findings.push(wrongKey(at(index), { message, hint }))
  }
  if (step.on_error === 'fallback' && fallback.length === 0) {
    const message = `workflow step "${id}" has on_error = "fallback" but no fallback`
    findings.push(wrongKey(at(index, 'on_error'), { message, hint: 'Add fallback = ["agent"].' }))
  }
  if (step.concurrency !== undefined && step.for_each === undefined) {
    const message = `workflow step "${id}" has concurrency without for_each`
    const hint = 'It limits the items of for_each; [workflow] concurrency limits the steps.'
    findings.push(wrongKey(at(index, 'concurrency'), { message, hint }))
  }
  // a single word can only be a variable, and no variable is a condition
  if (when !== undefined && /^\s*\w+\s*$/.test(when) && ![...whenWords, 'true', 'false'].includes(when.trim())) {
    const otherwise = 'Write "success", "failure", "always", or a Lua expression such as "#steps.a.output > 3".'
    const message = `workflow step "${id}": unknown condition "${when.trim()}"`
    findings.push(wrongValue(at(index, 'when'), { message, hint: suggestionHint(when.trim(), whenWords, otherwise) }))
  }
  return findings
}

function checkId({ id }: WrittenStep, index: number, ids: readonly string[]): readonly Finding[] {
  if (ids.indexOf(id) === index) return []
  return [wrongValue(at(index, 'id'), { message: `two workflow steps have the id "${id}"`, hint: 'Rename one.' })]
}

function checkNeeds({ id, needs = [] }: WrittenStep, index: number, ids: readonly string[]): readonly Finding[] {
  return [...needs.entries()].flatMap(([position, need]) => {
    if (ids.includes(need)) return []
    const others = ids.filter((other) => other !== id)
    const message = `workflow step "${id}" needs "${need}", but there is no step with that id`
    const hint = suggestionHint(need, others, others.length === 0 ? 'Remove it.' : `Steps are: ${others.join(', ')}.`)
    return [wrongValue(at(index, 'needs', position), { message, hint })]
  })
}

/** A cycle with its whole path, at the need that closes it. */
function findCycle(steps: readonly WorkflowStep[]): Finding | undefined {
  const byId = new Map(steps.map((step) => [step.id, step]))
  const finished = new Set<string>()
  for (const start of steps) {
    // depth first without recursion: a chain may be long
    const path: { readonly step: WorkflowStep; next: number }[] = finished.has(start.id)
      ? []
      : [{ step: start, next: 0 }]
    const open = new Set(path.map(({ step }) => step.id))
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { step } = top
      const need = step.needs[top.next]
      top.next += 1
      if (need === undefined) {
        finished.add(step.id)
        open.delete(step.id)
        path.pop()
      } else if (open.has(need)) {
        return cycleOf([...path.map((one) => one.step.id), need], { step, position: top.next - 1 })
      } else if (!finished.has(need)) {
        const below = byId.get(need)
        if (below !== undefined) path.push({ step: below, next: 0 })
        open.add(need)
      }
    }
  }
  return undefined
}

function cycleOf(
  path: readonly string[],
  { step, position }: { readonly step: WorkflowStep; readonly position: number },
): Finding {
  const circle = path.slice(path.indexOf(path.at(-1) ?? ''))
  const message = `workflow steps need each other in a cycle: ${circle.join(' → ')}`
  return wrongValue(at(step.index, 'needs', position), { message, hint: 'Remove one of these needs.' })
}

/** Steps that can never run; the steps have no cycle. */
function checkReach(steps: readonly WorkflowStep[], value: JsonObject): readonly Finding[] {
  const byId = new Map(steps.map((step) => [step.id, step]))
  const known = new Map<string, Ends>()
  return inOrder(steps).flatMap((step) => {
    const needs = step.needs.map((id) => byId.get(id)).filter((need) => need !== undefined)
    const ends = endsFor(step, known)
    known.set(step.id, ends.kind === 'possible' ? ends.ends : new Map())
    const why = ends.kind === 'impossible' ? ends.why : whyNeverFailed(step, needs, value)
    if (why === undefined) return []
    const message = `workflow step "${step.id}" can never run: ${why}`
    return [wrongValue(at(step.index, step.when === 'success' ? 'needs' : 'when'), { message, hint: reachHint })]
  })
}

const reachHint = 'Change when or needs: success means that all needs are done, failure that one of them has failed.'

function whyNeverFailed({ when }: WorkflowStep, needs: readonly WorkflowStep[], value: JsonObject): string | undefined {
  if (when !== 'failure') return undefined
  if (needs.length === 0) return 'it waits for a failure but needs no step'
  if (needs.some(({ on_error: policy }) => policy === 'continue')) return undefined
  const common = isJsonObject(value) && value['on_error'] === 'fail_fast' ? ' of [workflow]' : ''
  return `the run ends when ${needs.map(({ id }) => `"${id}"`).join(' or ')} fails, because of on_error = "fail_fast"${common}`
}

/** How steps must have ended for a step to run, by id. */
type Ends = ReadonlyMap<string, 'done' | 'failed'>

type NeededEnds =
  | { readonly kind: 'possible'; readonly ends: Ends }
  | { readonly kind: 'impossible'; readonly why: string }

function endsFor({ when, needs }: WorkflowStep, known: ReadonlyMap<string, Ends>): NeededEnds {
  const only = needs.length === 1
  const wanted = when === 'success' ? 'done' : when === 'failure' && only ? 'failed' : undefined
  const ends = new Map<string, 'done' | 'failed'>()
  if (wanted === undefined) return { kind: 'possible', ends }
  for (const need of needs) {
    for (const [id, end] of [...(known.get(need) ?? []), [need, wanted] as const]) {
      const other = ends.get(id)
      if (other !== undefined && other !== end) {
        return { kind: 'impossible', why: `"${id}" would have to have both succeeded and failed` }
      }
      ends.set(id, end)
    }
  }
  return { kind: 'possible', ends }
}

/** Errors in the options that steps of a checked workflow set for the main agent: only request keys are allowed. */
export function checkStepOptions({ step: steps }: JsonObject): readonly Finding[] {
  return ((steps ?? []) as readonly JsonObject[]).flatMap(({ agent, options }, index) => {
    if (agent !== undefined || !isJsonObject(options ?? null)) return []
    return Object.entries(options as JsonObject).flatMap(([key, value]) => {
      const path = ['workflow', 'step', index, 'options']
      if (isReserved(key) && isRequestKey(key)) return checkReserved(key, value).map((found) => moved(found, path))
      const message = `unknown option "${key}" of a step without an agent`
      const known = [...reserved.keys()].filter(isRequestKey)
      const otherwise = 'Options for the main agent are model, temperature, context_globs and the like.'
      return [wrongKey([...path, key], { message, hint: suggestionHint(key, known, otherwise) })]
    })
  })
}

function moved(finding: Finding, below: DataPath): Finding {
  return { ...finding, path: [...below, ...finding.path] }
}
