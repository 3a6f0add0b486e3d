import { basename } from 'node:path'
import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { StrategyTables } from '../config/strategies.ts'
import type { FileRef } from './files.ts'
import type { GivenInputs } from './inputs.ts'
import type { PromptTarget } from './prompt-target.ts'
import { strategyOf } from './strategies.ts'

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
  /** `-i` values; empty if none were given. */
  readonly inputs: readonly string[]
  /** The groups of files that match `working_globs`; undefined if the file has none. */
  readonly groups: readonly (readonly FileRef[])[] | undefined
  readonly settings: Partial<StrategyTables>
}

/**
 * The tasks of a prompt file, from exactly one source: `-i` values, or working groups; neither is one task.
 * With a strategy that has one task, there is no such source.
 * @throws BatonError USAGE if both are given, or one together with such a strategy
 */
export function planTasks({ file, asked, inputs, groups, settings }: TaskSources): readonly TaskPlan[] {
  checkSources({ file, hasInputs: inputs.length > 0, ...(groups && { groups: 'working_globs' }), settings })
  if (groups !== undefined) return numbered(groups.map(groupTask))
  if (inputs.length > 0) return numbered(inputs.map((input) => ({ label: shorten(input), input, working: [] })))
  return numbered([{ label: asked === undefined ? basename(file) : shorten(asked), input: null, working: [] }])
}

interface GivenSources extends Pick<TaskSources, 'file' | 'settings'> {
  readonly hasInputs: boolean
  /** What names the files, if anything does. */
  readonly groups?: 'working_globs' | '-f'
}

/** @throws BatonError USAGE for more than one source of tasks */
export function checkSources({ file, hasInputs, groups, settings }: GivenSources): void {
  const source = hasInputs ? '-i' : groups
  const { key, oneTask } = strategyOf(settings) ?? {}
  if (oneTask !== undefined && source !== undefined) {
    throw new BatonError('USAGE', `${source} and [${key}] cannot be combined: ${oneTask.why}`, {
      place: { file },
      hint: oneTask.hint,
    })
  }
  if (hasInputs && groups !== undefined) {
    throw new BatonError('USAGE', '-i and working_globs cannot be combined: both define the tasks', {
      place: { file },
      hint: 'Omit -i, or remove working_globs from the file.',
    })
  }
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

/** Refuses inputs before anything is paid for, or lets an agent definition get them as messages. */
export function withInputs(target: PromptTarget, { texts, ignoresUnread = false }: GivenInputs): PromptTarget {
  const { settings, spec } = target
  // a `pre` agent may change the globs
  const hasGroups = settings.globs.working.length > 0 && !spec.agents.some(({ enabled }) => enabled)
  checkSources({
    file: spec.file,
    settings,
    hasInputs: texts.length > 0,
    ...(hasGroups ? { groups: 'working_globs' } : {}),
  })
  if (texts.length === 0 || ignoresUnread) return target
  if (takesMessages(target)) return { ...target, inputsAreMessages: true }
  if (readsInputs(target)) return target
  const { file, text, instructionLine: line } = spec.document
  const [what, hint] =
    spec.source === 'file'
      ? [file, `${reading} Files are given with -f, other context with --stdin.`]
      : ['the prompt', 'Write it into the prompt, give it with --stdin as context, or use a file that reads it.']
  throw new BatonError('USAGE', `an input (-i) is given, but nothing in ${what} reads it`, {
    place: { file, text, line },
    hint,
  })
}

const reading =
  'Set template = true and write {{input}} where it belongs, or name an agent in sub_agents that reads it.'

/** Whether the inputs of a target are the messages of the user to its model: it is an agent that asks one. */
export function takesMessages(target: PromptTarget): boolean {
  return target.spec.isDefinition && !readsInputs(target)
}

/** Whether a template, an agent or a program of the file gets the input. */
function readsInputs({ settings, spec, answerAgent }: PromptTarget): boolean {
  return (
    settings.template ||
    answerAgent !== undefined ||
    strategyOf(settings)?.readsInput === true ||
    spec.agents.some(({ enabled }) => enabled)
  )
}
