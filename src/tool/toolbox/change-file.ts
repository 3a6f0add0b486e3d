import { isBatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { sizeText } from '../../base/size.ts'
import { emit } from '../../event/context.ts'
import type { FileChange } from '../../event/event.ts'
import { item, part } from '../../event/place.ts'
import { reportOf } from '../changes/change-report.ts'
import { type ContentDirective, type ReplaceDirective, relativeTo } from '../changes/directive.ts'
import type { ChangeStep } from '../changes/plan.ts'
import { planTransaction, type RefusedPlan, shownSteps } from '../changes/plan-transaction.ts'
import { diskSpace } from '../changes/space.ts'
import { createTextThread } from '../changes/text-thread.ts'
import { presentHash, saveFileOver } from '../workspace-files.ts'
import { statusAt } from '../workspace-reads.ts'
import { changedText, numbered } from './changed-text.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import type { SeenFile } from './seen-log.ts'

/** The change of one file that a tool is called for. */
export type FileDirective = ReplaceDirective | (ContentDirective & { readonly kind: 'New' })

/** What a change comes to, as it is recorded: without the contents. A type, because only types are JSON. */
type Plan =
  | { readonly kind: 'refused'; readonly text: string; readonly gone?: readonly string[] }
  /** The file is as it should be. */
  | { readonly kind: 'same'; readonly text: string; readonly seen: readonly SeenFile[] }
  | {
      readonly kind: 'ready'
      readonly path: string
      /** Hash of what it replaces; null: there is no file. */
      readonly over: string | null
      /** Hash of what it makes. */
      readonly after: string
      readonly text: string
      readonly change: FileChange
      readonly seen: readonly SeenFile[]
      /** In a dry run. */
      readonly diff?: string
    }

/** How often a change is worked out for a file that somebody else is writing. */
const mostTries = 5
/** Larger files are none that a model knows, and working on them would hold up everything else. */
const mostBytes = 10 * 1024 * 1024

/**
 * Changes one file as answers of models may: nothing protected, nothing unseen is replaced, and one change of the run at a time. It
 * is worked out for what the file holds, and only that is replaced: when somebody else writes the file meanwhile, it is
 * worked out again. What is found is an observation, the write a file effect, both below the place of the call.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export async function changeFile(directive: FileDirective, call: ToolCall): Promise<ToolOutput> {
  const { sources, signal } = call.context.services
  return sources.inTurn.run(async () => {
    for (let count = 0; count < mostTries; count += 1) {
      const output = await tryChange(directive, call, count)
      if (output !== undefined) return output
    }
    return failed(`${directive.filePath} is written by somebody else all the time: nothing was changed`)
  }, signal)
}

/** Undefined: somebody else has changed the file meanwhile. */
async function tryChange(directive: FileDirective, call: ToolCall, count: number): Promise<ToolOutput | undefined> {
  const { context, box } = call
  const { effects, signal } = context.services
  const at = [...call.at, item(count)]
  const { action } = call.permit
  const approved = action.kind === 'tool' && action.diff !== undefined ? [action.diff] : undefined
  const asked = { name: 'file_changes', args: [[directive.kind, directive.filePath]] }
  let content: string | undefined
  const plan = await effects.observeAsync([...at, part('plan')], asked, async () => {
    const worked = await workOut(directive, call, approved)
    content = worked.content
    return worked.plan
  })
  if (plan.kind === 'refused') return { ...failed(plan.text), ...(plan.gone === undefined ? {} : { gone: plan.gone }) }
  if (plan.kind === 'same') return { text: plan.text, seen: plan.seen }
  const { change, text, seen, diff } = plan
  const shownBase = displayPath(context.scope.folders.workspace, box.baseDir)
  const base = shownBase === '.' ? {} : { base_dir: shownBase }
  if (diff !== undefined) {
    emit(context, { type: 'changes.planned', items: [change], ...base, diff })
    return { text: `This is a dry run: ${change.file_path} stays as it is on the disk. The change fits.`, diff }
  }
  content ??= await contentAgain(plan, directive, call)
  signal.throwIfAborted()
  // a replay has no files to be compared; a content that cannot be made is for a file that is not there any more
  const over = content === undefined ? noFile : effects.answers(at) ? undefined : plan.over
  const isDone = saveFileOver(plan.path, { content: content ?? '', over }, { context, at })
  if (!isDone) return undefined
  emit(context, { type: 'changes.applied', items: [change], ...base })
  return { text, seen, changes: [change] }
}

/** The hash of no file. */
const noFile = ''

/** The content that a recorded plan is about; undefined: it cannot be made any more. */
async function contentAgain(
  { after }: Extract<Plan, { readonly kind: 'ready' }>,
  directive: FileDirective,
  call: ToolCall,
): Promise<string | undefined> {
  const fits = (content: string | undefined): content is string => content !== undefined && sha256(content) === after
  if (directive.kind === 'New' && fits(directive.content)) return directive.content
  const kept = call.context.services.texts?.find(after)
  if (fits(kept)) return kept
  try {
    const { content } = await workOut(directive, call)
    return fits(content) ? content : undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

/** What a person is shown before they allow it, as a diff; an output when there is nothing to be shown. @throws as `changeFile` */
export async function previewChange(
  directive: FileDirective,
  call: Omit<ToolCall, 'permit'>,
): Promise<string | ToolOutput> {
  const { plan, steps } = await workOut(directive, call)
  if (plan.kind === 'refused') return { ...failed(plan.text), ...(plan.gone === undefined ? {} : { gone: plan.gone }) }
  if (plan.kind === 'same') return { text: plan.text, seen: plan.seen }
  return diffOf(steps, call)
}

interface WorkedOut {
  readonly plan: Plan
  readonly steps: readonly ChangeStep[]
  /** What the file is to hold. */
  readonly content?: string
}

async function workOut(
  asked: FileDirective,
  call: Omit<ToolCall, 'permit'>,
  approved?: readonly string[],
): Promise<WorkedOut> {
  const { box, context } = call
  const { baseDir, seen, limits } = box
  const { sources, signal } = context.services
  const [directive = asked] = relativeTo(baseDir, [asked])
  const named = directive.filePath
  const path = diskSpace(baseDir, context).resolve(named, 'write')
  const large = tooLarge(named, { path, asked })
  if (large !== undefined) return refused(large)
  const over = presentHash(path)
  const options = {
    baseDir,
    partial: false,
    shown: seen.whole(),
    isMade: sources.made,
    ...limits,
    ...(approved && { approved }),
  }
  const thread = createTextThread(signal)
  const result = await planTransaction([directive], options, { context, thread })
  if (result.kind !== 'ready') return refused(...whyNot(result, { path, named, call }))

  const [step] = result.steps
  const before = over ?? null
  const known = (hash: string): readonly SeenFile[] => [{ path, hash }]
  if (step?.action?.op !== 'write') {
    return {
      plan: {
        kind: 'same',
        text: `${named} holds exactly this already: nothing was changed.`,
        seen: known(before ?? ''),
      },
      steps: [],
    }
  }
  const { content } = step.action
  if (content.length > mostBytes) return refused(`${named} would have more than ${sizeText(mostBytes)}`)
  const isKnown = asked.kind === 'New' || before === null || seen.files().hashOf(path) === before
  const diff = context.scope.dry === undefined ? {} : { diff: await diffOf(result.steps, call) }
  return {
    content,
    steps: result.steps,
    plan: {
      kind: 'ready',
      path,
      over: before,
      after: sha256(content),
      text: changedText(named, {
        isNew: before === null,
        content,
        places: step.places,
        isShown: isKnown || seen.knows(path),
      }),
      change: reportOf(step.item),
      seen: isKnown ? known(sha256(content)) : [],
      ...diff,
    },
  }
}

function refused(text: string, gone?: readonly string[]): WorkedOut {
  return { plan: { kind: 'refused', text, ...(gone === undefined ? {} : { gone }) }, steps: [] }
}

function failed(text: string): ToolOutput {
  return { text, isError: true }
}

async function diffOf(steps: readonly ChangeStep[], { box, context }: Omit<ToolCall, 'permit'>): Promise<string> {
  const thread = createTextThread(context.services.signal)
  const shown = await shownSteps(steps, { baseDir: box.baseDir }, { context, thread })
  return shown.map(({ diff }) => diff).join('')
}

function tooLarge(
  named: string,
  { path, asked: { content } }: { readonly path: string; readonly asked: FileDirective },
): string | undefined {
  if (content.length > mostBytes) {
    return `the content has ${sizeText(content.length)}, and a call writes ${sizeText(mostBytes)} at most`
  }
  const { kind, size = 0 } = statusAt(path) ?? {}
  if (kind !== 'file' || size <= mostBytes) return undefined
  return `${named} has ${sizeText(size)}, and files of more than ${sizeText(mostBytes)} are not changed by tools`
}

interface Refusal {
  /** Absolute. */
  readonly path: string
  readonly named: string
  readonly call: Omit<ToolCall, 'permit'>
}

/** Why nothing is changed, for the model, and the files that it has to be told are gone. */
function whyNot(result: RefusedPlan, { path, named, call }: Refusal): [string, (readonly string[])?] {
  const { seen } = call.box
  if (result.kind === 'stale') {
    if (result.gone !== undefined) {
      return [`${named} was deleted since you saw it. Call again if it should be there again.`, [path]]
    }
    if (result.paths.length > 0) {
      return [`${named} has changed since you saw it: nothing was written. Read it again, then decide what to write.`]
    }
    const how = seen.knows(path) ? 'you have not seen all of it as it is now' : 'you have not seen it'
    return [`${named} exists, and ${how}: nothing was written. Read it first, or change a part of it with edit.`]
  }
  const [{ error_msg: reason = '', error_hunks: hunks = [] } = {}] = result.items
  if (hunks.length === 0) return [`${reason.replace(/\.$/, '')}. Nothing was changed.`]
  // a model is not shown by the way what it has not read
  if (!seen.knows(path)) return [`${reason}. You have not read this file: read it first.`]
  const changed = result.changed.length > 0 ? ', which has changed since you saw it' : ''
  const nearest = hunks[0]?.nearest
  if (nearest === undefined) return [`${reason}${changed}, and nothing there is like it.`]
  return [`${reason}${changed}. The nearest place is:\n${numbered(nearest.text.split('\n'), nearest.line)}`]
}
