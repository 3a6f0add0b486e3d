import { basename } from 'node:path'
import type { Json } from '../base/json.ts'
import type { StrategyLoader } from '../load/strategy.ts'
import type { FileRef } from './files.ts'
import { checkSources } from '../load/inputs.ts'

/** One unit of work of a run. */
export interface TaskPlan {
  /** From 0, in input order. */
  readonly index: number
  readonly count: number
  readonly label: string
  /** What sub-agents get as `input`: an `-i` text, a working group, or null. */
  readonly input: Json
  /** The working files, relative to base_dir. */
  readonly working: readonly FileRef[]
}

export interface TaskSources {
  readonly file: string
  /** The instruction instead of the text of the file. */
  readonly asked?: string
  /** `-i` values, or those of the API; empty if none were given. */
  readonly inputs: readonly Json[]
  /** The groups of files that match `working_globs`; undefined if the file has none. */
  readonly groups: readonly (readonly FileRef[])[] | undefined
  readonly strategy?: StrategyLoader | undefined
}

/**
 * The tasks of a prompt file, from exactly one source: `-i` values, or working groups; neither is one task.
 * With a workflow or a team there is one task, and no such source.
 * @throws BatonError USAGE if both are given, or one together with a workflow or team
 */
export function planTasks({ file, asked, inputs, groups, strategy }: TaskSources): readonly TaskPlan[] {
  checkSources({ file, hasInputs: inputs.length > 0, ...(groups && { groups: 'working_globs' }), strategy })
  if (groups !== undefined) return numbered(groups.map(groupTask))
  if (inputs.length > 0) return numbered(inputs.map((input) => ({ label: shorten(textOf(input)), input, working: [] })))
  return numbered([{ label: asked === undefined ? basename(file) : shorten(asked), input: null, working: [] }])
}

type Unnumbered = Omit<TaskPlan, 'index' | 'count'>

function numbered(tasks: readonly Unnumbered[]): readonly TaskPlan[] {
  return tasks.map((task, index) => ({ ...task, index, count: tasks.length }))
}

function groupTask(working: readonly FileRef[]): Unnumbered {
  const files = working.map(({ path }) => path)
  const [first = ''] = files
  const label = files.length === 1 ? first : `${first} +${files.length - 1}`
  const single = files.length === 1 ? { path: first } : {}
  return { label, input: { ...single, files }, working }
}

function textOf(input: Json): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

const labelLength = 60

function shorten(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ')
  const characters = Array.from(line)
  return characters.length <= labelLength ? line : `${characters.slice(0, labelLength - 1).join('')}…`
}
