import { defined, type JsonObject } from '../base/json.ts'

/** What happens to the run when a step fails. */
type ErrorPolicy = 'fail_fast' | 'continue'

/** One `[[workflow.step]]`, with its defaults. Plain JSON. */
export interface WorkflowStep {
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

/** A `[[workflow.step]]` as written, after its types were checked. */
export interface WrittenStep extends Partial<Omit<WorkflowStep, 'index' | 'on_error'>> {
  readonly id: string
  readonly on_error?: ErrorPolicy | 'fallback'
}

export interface WrittenWorkflow {
  readonly concurrency?: number
  readonly on_error?: ErrorPolicy
  readonly step?: readonly WrittenStep[]
}

/** Whether a step inspects how one of its needs ended, so that a failure of that one does not end the run. */
export function looksAtEnd({ when = 'success' }: { readonly when?: string }, id: string): boolean {
  const word = when.trim()
  if (whenWords.includes(word)) return word !== 'success'
  const named = `(?:\\.\\s*${id}(?![\\w-])|\\[\\s*["']${id}["']\\s*\\])`
  return new RegExp(`\\bsteps\\s*${named}\\s*\\.\\s*(?:status|error)\\b`).test(when)
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
