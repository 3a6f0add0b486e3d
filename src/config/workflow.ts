import { defined, type JsonObject } from '../base/json.ts'

/** What becomes of the run when a step fails. */
type ErrorPolicy = 'fail_fast' | 'continue'

/** One `[[workflow.step]]`, with its defaults. Plain JSON. */
export interface WorkflowStep {
  readonly id: string
  /** From 0. Its place is that of the path `['workflow', 'step', index]`. */
  readonly index: number
  /** Left out: the main agent answers `instructions`. */
  readonly agent?: string
  readonly instructions?: string
  /** Ids of the steps whose end it waits for. */
  readonly needs: readonly string[]
  /** A template; left out: what its needs gave. */
  readonly input?: string
  /** `success`, `failure`, `always`, or a Lua expression. */
  readonly when: string
  /** A Lua expression that gives a list. */
  readonly for_each?: string
  /** Items at the same time. */
  readonly concurrency?: number
  /** Agents that are tried in this order once it has failed. */
  readonly fallback: readonly string[]
  readonly on_error: ErrorPolicy
  /** Where it works: in the workspace when it is left out. */
  readonly isolation?: 'none' | 'worktree'
  /** Settings for its agent. */
  readonly options: JsonObject
}

export interface Workflow {
  /** Steps at the same time; left out: as many as tasks. */
  readonly concurrency?: number
  /** As they are written. */
  readonly steps: readonly WorkflowStep[]
}

/** A `[[workflow.step]]` as it is written, once its types were checked. */
export interface WrittenStep extends Partial<Omit<WorkflowStep, 'index' | 'on_error'>> {
  readonly id: string
  readonly on_error?: ErrorPolicy | 'fallback'
}

export interface WrittenWorkflow {
  readonly concurrency?: number
  readonly on_error?: ErrorPolicy
  readonly step?: readonly WrittenStep[]
}

/** Whether a step looks at how one that it needs has ended, so that a failure of that one is not the end of the run. */
export function looksAtEnd({ when = 'success' }: { readonly when?: string }, id: string): boolean {
  const word = when.trim()
  if (whenWords.includes(word)) return word !== 'success'
  const named = `(?:\\.\\s*${id}(?![\\w-])|\\[\\s*["']${id}["']\\s*\\])`
  return new RegExp(`\\bsteps\\s*${named}\\s*\\.\\s*(?:status|error)\\b`).test(when)
}

/** The words of `when` that are no expression. */
export const whenWords: readonly string[] = ['success', 'failure', 'always']

/**
 * The workflow of a checked `workflow` table. Where nothing says what becomes of a failure, the run goes on if a step
 * that needs the failed one looks at how it ended, and else ends.
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
