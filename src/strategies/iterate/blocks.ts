import { modelText } from '../../base/model-text.ts'
import type { Iteration } from './load.ts'
import type { IterationRecord } from './records.ts'

/** What an iteration is told about the work so far. */
export interface IterationFacts {
  /** From 0. */
  readonly iteration: number
  /** The number of iterations; undefined: unknown. */
  readonly count: number | undefined
  /** Full id of the commit at the start; undefined outside of git and before the first commit. */
  readonly baseCommit: string | undefined
  /** Text of the plan; undefined without one. */
  readonly plan: string | undefined
  /** Records of the earlier iterations, oldest first. */
  readonly records: readonly IterationRecord[]
}

export interface PromptFrame {
  /** Body of the assessment block; undefined: none. */
  readonly assessment: string | undefined
  /** The text after the prompt of later iterations instead of the context block; undefined: the block is used. */
  readonly continuation: string | undefined
}

/** The texts around the prompts of all iterations. */
export function frameOf({ settings, assessment }: Pick<Iteration, 'settings' | 'assessment'>): PromptFrame {
  return { assessment, continuation: settings.context ? undefined : (settings.continuation ?? defaultContinuation) }
}

/**
 * The prompt of one iteration: context block, assessment block, and the original prompt. Texts
 * are joined and never substituted, so a prompt may contain anything.
 */
export function iterationPrompt(original: string, facts: IterationFacts, frame: PromptFrame): string {
  const isLater = facts.iteration > 0
  const parts = [
    ...(isLater && frame.continuation === undefined ? [contextBlock(original, facts)] : []),
    ...(frame.assessment === undefined ? [] : [assessmentBlock(frame.assessment)]),
    original,
    ...(isLater && frame.continuation !== undefined ? [frame.continuation] : []),
  ]
  return parts.join('\n\n')
}

function assessmentBlock(body: string): string {
  return modelText`<task_assessment>\n## Task Complexity Assessment\n${body}\n</task_assessment>`
}

function contextBlock(original: string, { iteration, count, baseCommit, plan, records }: IterationFacts): string {
  const progress =
    count === undefined
      ? modelText`## Progress\nIteration: ${iteration} of ongoing`
      : modelText`## Progress\nIteration: ${iteration} of ${count}`
  const base =
    baseCommit === undefined ? modelText`Base commit: unknown` : modelText`Base commit: ${shortCommit(baseCommit)}`
  const sections = [
    modelText`## Original Task\n${original}`,
    ...(plan === undefined ? [] : [modelText`## Plan\n${plan}`]),
    `${progress}\n${base}`,
    modelText`## Previous Iterations\n${records.map(entry).join('\n\n')}`,
  ]
  return modelText`<task_context>\n${sections.join('\n\n')}\n</task_context>`
}

/** Only the last check is shown with its output: the others are about files that have changed since. */
function entry(record: IterationRecord, index: number, all: readonly IterationRecord[]): string {
  const { iteration, commit_id: commit, changed_files: files, summary, score, check } = record
  const id = shortCommit(commit)
  return [
    id === undefined
      ? modelText`### Iteration ${iteration} → no changes`
      : modelText`### Iteration ${iteration} → commit ${id}`,
    files.length === 0 ? modelText`Files: none` : modelText`Files: ${filesText(files)}`,
    modelText`Summary: ${summary}`,
    ...(score === undefined ? [] : [modelText`Score: ${score}`]),
    ...(check === undefined ? [] : [modelText`Check: ${index === all.length - 1 ? check : check.split('\n', 1)[0]}`]),
  ].join('\n')
}

const shownNames = 5

/** At most five names: `a, b` or `a, b, c, d, e, ... (2 more)`; `none` without any. */
export function filesText(files: readonly string[]): string {
  if (files.length === 0) return 'none'
  const shown = files.slice(0, shownNames)
  const more = files.length - shown.length
  return [...shown, ...(more > 0 ? [modelText`... (${more} more)`] : [])].join(', ')
}

/** The displayed form of a commit: nine characters. */
export function shortCommit(id: string | undefined): string | undefined {
  return id?.slice(0, 9)
}

/** The default assessment, which every iteration makes first. */
export const defaultAssessment = modelText`Assess the task before you start:
- Does it touch three or more files?
- Does it require understanding how the parts of this project work together?
- Could it break something that works now?

If any answer is yes, the task is complex: first work out a short plan that names the files concerned, then carry it out.
If all answers are no, do it directly.`

/** The default text after the prompt of later iterations if the context block is off. */
const defaultContinuation = modelText`Earlier iterations have already worked on this task, and the files contain their results. Look at what exists, improve what is unfinished or weak, and leave what is good unchanged.`
