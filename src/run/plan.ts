import { basename } from 'node:path'
import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { FileRef } from './files.ts'

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
  /** What is asked in place of the text of the file. */
  readonly asked?: string
  /** `-i` values; empty when none was given. */
  readonly inputs: readonly string[]
  /** Matching files of `working_globs`; undefined when the file has none. */
  readonly groups: readonly (readonly FileRef[])[] | undefined
  /** Steps take the place of the tasks. */
  readonly workflow?: unknown
  /** Work items do. */
  readonly delegate?: unknown
}

/**
 * The tasks of a prompt file, from exactly one source: `-i` values, or working groups; neither is one task.
 * With a workflow or a team there is one task, and no such source.
 * @throws BatonError USAGE when both are given, or one beside a workflow
 */
export function planTasks({ file, asked, inputs, groups, workflow, delegate }: TaskSources): readonly TaskPlan[] {
  const source = inputs.length > 0 ? '-i' : groups === undefined ? undefined : 'working_globs'
  if (workflow !== undefined && source !== undefined) {
    throw new BatonError('USAGE', `${source} and [workflow] do not go together: the steps are the tasks`, {
      place: { file },
      hint: 'Let a step with for_each work on a list; its items may be params or what another step gives.',
    })
  }
  if (delegate !== undefined && source !== undefined) {
    throw new BatonError('USAGE', `${source} and [delegate] do not go together: the leader makes the items`, {
      place: { file },
      hint: 'Say in the prompt what the team is to work on.',
    })
  }
  if (inputs.length > 0 && groups !== undefined) {
    throw new BatonError('USAGE', '-i and working_globs both give tasks', {
      place: { file },
      hint: 'Leave out -i, or remove working_globs from the file.',
    })
  }
  if (groups !== undefined) return numbered(groups.map(groupTask))
  if (inputs.length > 0) return numbered(inputs.map((input) => ({ label: shorten(input), input, working: [] })))
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

const labelLength = 60

function shorten(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ')
  const characters = Array.from(line)
  return characters.length <= labelLength ? line : `${characters.slice(0, labelLength - 1).join('')}…`
}
