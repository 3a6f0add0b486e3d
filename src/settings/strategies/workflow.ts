import { defined, isJsonObject, type JsonObject } from '../../base/json.ts'
import type { DataPath } from '../../base/data-text.ts'
import { type Finding, suggestionHint, wrongKey, wrongValue } from '../issue.ts'
import { checkRetries, type Retries, retryRows } from '../retries.ts'
import { type OptionCheck, type SettingRow, strategyOnly, type TableOf } from '../setting.ts'

export const workflow = {
  ...strategyOnly,
  text: 'Steps that depend on each other, each done by an agent or by the main agent.',
  strategy: { agents: ['steps', 'a step'], readsParams: true, read: readWorkflow },
  check: (table, checkOption) => [...checkWorkflow(table), ...checkStepOptions(table, checkOption)],
  keys: {
    concurrency: {
      schema: ({ integer }) => integer(1, 1000),
      text: 'Maximum number of steps at the same time. Default: input_concurrency.',
    },
    on_error: {
      schema: ({ oneOf }) => oneOf('fail_fast', 'continue'),
      text: 'What happens to the run if a step without its own on_error fails.',
    },
    step: {
      text: 'The steps. Each starts when the steps that it needs have ended.',
      each: { list: 'a list of tables, written [[workflow.step]]' },
      keys: {
        id: {
          isRequired: true,
          schema: ({ text }) =>
            text.regex(/^[A-Za-z][\w-]*$/, 'a name of letters, digits, - and _ that starts with a letter'),
          text: 'Its name, used in needs of other steps.',
        },
        agent: {
          schema: ({ name }) => name,
          text: 'The agent that does it: a file, a built-in agent, or namespace@pack/agent.',
        },
        instructions: {
          schema: ({ name }) => name,
          text: 'Instead of agent: a Handlebars template of the instruction for the main agent.',
        },
        needs: {
          schema: ({ listOf, name }) => listOf(name, 'a list of ids'),
          text: 'Ids of the steps that it waits for.',
        },
        input: {
          schema: ({ text }) => text,
          text: 'A Handlebars template of its input. Default: its item, else the results of its needs.',
        },
        when: {
          schema: ({ name }) => name,
          text: 'success, failure, always, or a Lua expression over steps and params.',
        },
        for_each: {
          schema: ({ name }) => name,
          text: 'A Lua expression that returns a list: the step runs once for each item.',
        },
        concurrency: {
          schema: ({ integer }) => integer(1, 1000),
          text: 'Maximum number of items of for_each at the same time.',
        },
        fallback: {
          schema: ({ listOf, name }) => listOf(name, 'a list of agents'),
          text: 'Agents that are tried in this order after its own has failed.',
        },
        label: {
          schema: ({ name }) => name,
          text: 'A Handlebars template of the name of an item of for_each. Default: the item, or its path, name, id or title.',
        },
        ...retryRows,
        on_error: {
          schema: ({ oneOf }) => oneOf('fail_fast', 'continue', 'fallback'),
          text: 'End the run, continue with the steps that do not need it, or try the agents of fallback.',
        },
        isolation: {
          schema: ({ isolation }) => isolation,
          text: 'worktree: it works in a git worktree, whose changes reach the workspace when it is done.',
        },
        options: {
          schema: ({ tableOf, anything }) => tableOf(anything),
          text: 'Settings of its agent, such as its model.',
        },
      },
    },
  },
} as const satisfies SettingRow

/** What happens to the run when a step fails. */
type ErrorPolicy = 'fail_fast' | 'continue'

/** One `[[workflow.step]]`, with its defaults. Plain JSON. */
export interface WorkflowStep extends Retries {
  readonly id: string
  /** From 0. Located at the path `['workflow', 'step', index]`. */
  readonly index: number
  /** Omitted: the main agent answers `instructions`. */
  readonly agent?: string
  readonly instructions?: string
  /** Ids of the steps that it waits for. */
  readonly needs: readonly string[]
  /** A template; default: the results of its needs. */
  readonly input?: string
  /** `success`, `failure`, `always`, or a Lua expression. */
  readonly when: string
  /** A Lua expression that returns a list. */
  readonly for_each?: string
  /** Maximum number of items at the same time. */
  readonly concurrency?: number
  /** A template of the name of an item. */
  readonly label?: string
  /** Agents that are tried in this order after the step has failed. */
  readonly fallback: readonly string[]
  readonly on_error: ErrorPolicy
  /** Where it works; default: in the workspace. */
  readonly isolation?: 'none' | 'worktree'
  /** Settings for its agent. */
  readonly options: JsonObject
}

export interface Workflow {
  /** Maximum number of steps at the same time; default: as for tasks. */
  readonly concurrency?: number
  /** As written. */
  readonly steps: readonly WorkflowStep[]
}

type WrittenWorkflow = TableOf<typeof workflow>
/** A `[[workflow.step]]` as written, after its types were checked. */
type WrittenStep = TableOf<typeof workflow.keys.step>

/** Whether a step inspects how one of its needs ended, so that a failure of that one does not end the run. */
export function looksAtEnd({ when = 'success' }: { readonly when?: string }, id: string): boolean {
  const word = when.trim()
  if (whenWords.includes(word)) return word !== 'success'
  const named = `(?:\\.\\s*${id}(?![\\w-])|\\[\\s*["']${id}["']\\s*\\])`
  return new RegExp(`\\bsteps\\s*${named}\\s*\\.\\s*(?:status|error|failed)\\b`).test(when)
}

/** The words of `when` that are not expressions. */
export const whenWords: readonly string[] = ['success', 'failure', 'always']

/**
 * The workflow of a checked `workflow` table. Unless on_error is set, a failure does not end the run if a step that
 * needs the failed one inspects how it ended; otherwise it does.
 */
export function readWorkflow(value: JsonObject): Workflow {
  const { concurrency, on_error: common, step: written = [] } = value as WrittenWorkflow
  const looked = new Set(written.flatMap((step) => (step.needs ?? []).filter((id) => looksAtEnd(step, id))))
  return {
    ...defined({ concurrency }),
    steps: written.map(({ id, on_error: own, ...step }, index) => ({
      ...step,
      id,
      index,
      needs: [...new Set(step.needs)],
      when: step.when ?? 'success',
      fallback: step.fallback ?? [],
      on_error: (own === 'fallback' ? undefined : own) ?? common ?? (looked.has(id) ? 'continue' : 'fail_fast'),
      options: step.options ?? {},
    })),
  }
}

/** The steps in topological order, otherwise as written. They must have no cycle. */
export function inOrder(steps: readonly WorkflowStep[]): readonly WorkflowStep[] {
  const waits = new Map(steps.map(({ id, needs }) => [id, needs.length]))
  const dependents = dependentsOf(steps)
  const ready = steps.filter(({ needs }) => needs.length === 0)
  for (const { id } of ready) {
    for (const next of dependents.get(id) ?? []) {
      const left = (waits.get(next.id) ?? 0) - 1
      waits.set(next.id, left)
      if (left === 0) ready.push(next)
    }
  }
  return ready
}

/** The dependents of each step, by its id. */
export function dependentsOf(steps: readonly WorkflowStep[]): ReadonlyMap<string, readonly WorkflowStep[]> {
  const dependents = new Map<string, WorkflowStep[]>(steps.map(({ id }) => [id, []]))
  for (const step of steps) for (const need of step.needs) dependents.get(need)?.push(step)
  return dependents
}

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
  if (step.label !== undefined && step.for_each === undefined) {
    const message = `workflow step "${id}" has a label without for_each`
    findings.push(wrongKey(at(index, 'label'), { message, hint: 'It names the items of for_each.' }))
  }
  findings.push(...checkRetries(step, at(index), `workflow step "${id}"`))
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
    const ends = endsFor(step, { known, byId })
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

/** How steps must have ended for a step to run, by id; not those with items, of which some may fail. */
type Ends = ReadonlyMap<string, 'done' | 'failed'>

type NeededEnds =
  | { readonly kind: 'possible'; readonly ends: Ends }
  | { readonly kind: 'impossible'; readonly why: string }

interface Reached {
  readonly known: ReadonlyMap<string, Ends>
  readonly byId: ReadonlyMap<string, WorkflowStep>
}

function endsFor({ when, needs }: WorkflowStep, { known, byId }: Reached): NeededEnds {
  const only = needs.length === 1
  const wanted = when === 'success' ? 'done' : when === 'failure' && only ? 'failed' : undefined
  const ends = new Map<string, 'done' | 'failed'>()
  if (wanted === undefined) return { kind: 'possible', ends }
  for (const need of needs) {
    // some items of a step may fail while others succeed
    const own = byId.get(need)?.for_each === undefined ? [[need, wanted] as const] : []
    for (const [id, end] of [...(known.get(need) ?? []), ...own]) {
      const other = ends.get(id)
      if (other !== undefined && other !== end) {
        return { kind: 'impossible', why: `"${id}" would have to have both succeeded and failed` }
      }
      ends.set(id, end)
    }
  }
  return { kind: 'possible', ends }
}

/** Errors in the options that steps of a checked workflow set for the main agent. */
function checkStepOptions({ step: steps = [] }: JsonObject, checkOption: OptionCheck): readonly Finding[] {
  return (steps as readonly JsonObject[]).flatMap(({ agent, options = null }, index) => {
    if (agent !== undefined || !isJsonObject(options)) return []
    const path = ['workflow', 'step', index, 'options']
    return Object.entries(options).flatMap(([key, value]) => checkOption(key, value, path))
  })
}
