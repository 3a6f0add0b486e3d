import { modelText } from '../../base/model-text.ts'
import { pathSubject } from './paths.ts'
import { defineTool, type ToolCall, type ToolOutput } from './kind.ts'
import {
  type ChangeCall,
  type DryDiffs,
  type FileDirective,
  type FilePlan,
  planFileChange,
  type PlannedFileChange,
  previewChange,
  refusal,
  workDiff,
} from './plan-file-change.ts'
import { isBatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { emit } from '../../event/context.ts'
import { item, part } from '../../event/place.ts'
import { type HashedFile, hashedFile } from '../hashed-file.ts'
import { saveFileOver } from '../workspace-files.ts'
import { statusAt } from '../workspace-reads.ts'
import { sizeText } from '../../base/size.ts'
import type { ApprovedChange } from '../changes/approved-changes.ts'
import { type Files, mostPlanned, notePlanned } from '../changes/change-space.ts'

interface EditInput {
  readonly path: string
  readonly old_text: string
  readonly new_text: string
  readonly all?: boolean
}

/** Replaces a text in a file. */
export const edit = defineTool<EditInput>({
  name: 'edit',
  description: modelText`Replace text in a file. old_text must match the file exactly, including indentation and without line numbers, and must occur only once: include surrounding lines to make it unique, or set all. The line endings of the file are kept. An empty new_text deletes the text, and its line if nothing else is on it. An empty old_text creates a file that does not exist.`,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: modelText`The file, relative to the base folder.` },
      old_text: { type: 'string', description: modelText`The text to replace.` },
      new_text: { type: 'string', description: modelText`The replacement.` },
      all: { type: 'boolean', description: modelText`Replace all occurrences; default: false.` },
    },
    required: ['path', 'old_text', 'new_text'],
    additionalProperties: false,
  },
  subject: ({ path }, box) => pathSubject(path, box),
  preview: (input, call) => previewChange(editDirective(input), call),
  run: (input, call) => changeFile(editDirective(input), call),
})

function editDirective({ path: filePath, old_text: search, new_text: content, all = false }: EditInput): FileDirective {
  return { kind: 'Replace', filePath, search, content, all }
}

interface WriteInput {
  readonly path: string
  readonly content: string
}

/** Creates a file, or replaces the whole content of one that the model has seen. */
export const write = defineTool<WriteInput>({
  name: 'write',
  description: modelText`Write a whole file. Missing folders are created. An existing file is only replaced if you have seen all of its current content: it was given to you, you have read it, or you wrote it. To change part of a file, use edit. A file with CR LF line endings keeps them.`,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: modelText`The file, relative to the base folder.` },
      content: { type: 'string', description: modelText`The full content.` },
    },
    required: ['path', 'content'],
    additionalProperties: false,
  },
  subject: ({ path }, box) => pathSubject(path, box),
  preview: (input, call) => previewChange(writeDirective(input), call),
  run: (input, call) => changeFile(writeDirective(input), call),
})

function writeDirective({ path: filePath, content }: WriteInput): FileDirective {
  return { kind: 'New', filePath, content }
}

/** Attempts to plan a change for a file that is being written by someone else. */
const mostTries = 5

/**
 * Changes one file under the rules for answers: nothing protected, no replacing of unseen content, and one change of
 * the run at a time. The change is planned for the current content and replaces only that: if the file is written in
 * the meantime, it is planned again. The plan is an observation, the write a file effect, both below the place of the
 * call.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
async function changeFile(directive: FileDirective, call: ToolCall): Promise<ToolOutput> {
  const { sources, signal } = call.context.services
  return sources.inTurn.run(async () => {
    for (let count = 0; count < mostTries; count += 1) {
      const output = await tryChange(directive, call, count)
      if (output !== undefined) return output
    }
    return {
      text: modelText`${directive.filePath} is being changed constantly by something else: nothing was changed`,
      isError: true,
    }
  }, signal)
}

/** Undefined if the file was changed by someone else in the meantime. */
async function tryChange(directive: FileDirective, call: ToolCall, count: number): Promise<ToolOutput | undefined> {
  const { context, box } = call
  const { effects, signal } = context.services
  const at = [...call.at, item(count)]
  const { action, part: accepted } = call.permit
  const diff = action.kind === 'tool' ? action.diff : undefined
  const approved = diff === undefined ? undefined : { diff, ...accepted }
  const asked = { name: 'file_changes', args: [[directive.kind, directive.filePath]] }
  let worked: PlannedFileChange | undefined
  const plan = await effects.observeAsync([...at, part('plan')], asked, async () => {
    worked = await planFileChange(directive, call, approved)
    const { plan: ready, content } = worked
    if (ready.kind !== 'ready' || content === undefined || context.scope.dry === undefined) return ready
    // a process that resumes the run looks it up
    context.services.texts?.keep(content.toString('utf8'))
    return { ...ready, dry: await dryDiffs(ready.path, { worked, approved }, call) }
  })
  if (plan.kind === 'refused') return refusal(plan)
  if (plan.kind === 'same') return { text: plan.text, seen: plan.seen }
  const { change, text, seen } = plan
  const shownBase = displayPath(context.scope.folders.workspace, box.baseDir)
  const base = shownBase === '.' ? {} : { base_dir: shownBase }
  if (plan.dry !== undefined) {
    if (!noteDry(plan, worked, call)) return { text: tooMuchPlanned, isError: true }
    emit(context, { type: 'changes.planned', items: [change], ...base, diff: plan.dry.diff })
    const dry = `This is a dry run: ${change.file_path} is unchanged on disk, but read, edit and write see this change.`
    return { text: `${text}\n${dry}`, seen, planned: { path: realPath(plan.path), diff: plan.dry.whole } }
  }
  const content = worked?.content ?? (await contentAgain(plan, { directive, approved }, call))
  // a replay has no files to compare; if the content cannot be produced again, the file no longer exists
  const isAnswered = effects.answers(at)
  const over = content === undefined ? noFile : isAnswered ? undefined : plan.over
  const present = content === undefined || isAnswered ? undefined : await readAhead(plan, content, call)
  signal.throwIfAborted()
  const made = {
    content: content ?? '',
    ...(content !== undefined && { hash: plan.after }),
    over,
    present,
    isOnlyKept: true,
  }
  const isDone = saveFileOver(plan.path, made, { context, at })
  if (!isDone) return undefined
  emit(context, { type: 'changes.applied', items: [change], ...base })
  return { text, seen, changes: [change] }
}

type ReadyPlan = Extract<FilePlan, { readonly kind: 'ready' }>

/** Stands for the hash of a file that does not exist. */
const noFile = ''
/** For smaller files, storing both contents takes no noticeable time. */
const leastAhead = 256 * 1024

/**
 * Stores the old and the new content of a large file with the run and hashes the old one, in slices. Otherwise the
 * change would do it in one step that blocks.
 */
async function readAhead(
  { path, over, after }: ReadyPlan,
  content: Buffer,
  { context }: ToolCall,
): Promise<HashedFile | undefined> {
  const { texts, signal } = context.services
  if (content.length >= leastAhead) await texts?.keepAhead({ bytes: content, hash: after }, signal)
  if (over === null || (statusAt(path)?.size ?? 0) < leastAhead) return undefined
  const file = realPath(path)
  await texts?.keepAhead({ file, hash: over }, signal)
  return hashedFile(file, context)
}

/** The content that a recorded plan writes; undefined if it can no longer be produced. */
async function contentAgain(
  { after }: ReadyPlan,
  { directive, approved }: { readonly directive: FileDirective; readonly approved: ApprovedChange | undefined },
  call: ToolCall,
): Promise<Buffer | undefined> {
  const fits = (content: Buffer | undefined): content is Buffer => content !== undefined && sha256(content) === after
  const given = directive.kind === 'New' ? Buffer.from(directive.content) : undefined
  if (fits(given)) return given
  const found = call.context.services.texts?.find(after)
  const kept = found === undefined ? undefined : Buffer.from(found)
  if (fits(kept)) return kept
  try {
    const { content } = await planFileChange(directive, call, approved)
    return fits(content) ? content : undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

/** The diffs of a change that a dry run only plans. `approved`: the diff that the user has approved. */
async function dryDiffs(
  path: string,
  { worked, approved }: { readonly worked: PlannedFileChange; readonly approved: ApprovedChange | undefined },
  call: ChangeCall,
): Promise<DryDiffs> {
  const { box } = call
  const real = realPath(path)
  const diff =
    approved?.hunks === undefined ? (approved?.diff ?? (await workDiff(worked, call))) : await workDiff(worked, call)
  if (isFirst(real, call)) return { diff, whole: diff }
  const { steps } = worked
  const first = box.first.get(real)
  // the plan is from an earlier process: the disk still has the first content
  if (first === undefined) return { diff, whole: await workDiff({ steps, files: (disk) => disk }, call) }
  const files = (disk: Files): Files => ({
    ...disk,
    kindAt: (asked) => (asked !== path ? disk.kindAt(asked) : first === null ? undefined : 'file'),
    textAt: (asked) => (asked === path ? (first ?? '') : disk.textAt(asked)),
  })
  return { diff, whole: await workDiff({ steps, files }, call) }
}

/**
 * Records a planned change so that later calls of the dry run see it; false if the limit is exceeded. `worked`: what
 * the plan was made from; undefined if an earlier process planned the change, which is then already recorded.
 */
function noteDry({ path, after }: ReadyPlan, worked: PlannedFileChange | undefined, call: ChangeCall): boolean {
  const { content, present = null } = worked ?? {}
  if (content === undefined) return true
  const texts = new Map([[after, content.toString('utf8')]])
  if (!notePlanned([{ op: 'write', path, hash: after }], texts, call.context.services)) return false
  const real = realPath(path)
  if (isFirst(real, call)) call.box.first.set(real, present)
  return true
}

/** Whether no earlier call would have changed this file. */
function isFirst(real: string, { box }: ChangeCall): boolean {
  return !box.first.has(real) && !box.work.hasPlanned(real)
}

const tooMuchPlanned = `a dry run keeps at most ${sizeText(mostPlanned)} of planned file content: this change is not planned`
