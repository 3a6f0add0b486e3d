import { isBatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { emit } from '../../event/context.ts'
import { item, part } from '../../event/place.ts'
import { type HashedFile, hashedFile } from '../hashed-file.ts'
import { saveFileOver } from '../workspace-files.ts'
import { statusAt } from '../workspace-reads.ts'
import { dryDiffs, noteDry, tooMuchPlanned } from './dry-change.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import { type FileDirective, type FilePlan, planFileChange, refusal, type WorkedOut } from './plan-file-change.ts'

/** How often a change is worked out for a file that somebody else is writing. */
const mostTries = 5

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
    return {
      text: `${directive.filePath} is written by somebody else all the time: nothing was changed`,
      isError: true,
    }
  }, signal)
}

/** Undefined: somebody else has changed the file meanwhile. */
async function tryChange(directive: FileDirective, call: ToolCall, count: number): Promise<ToolOutput | undefined> {
  const { context, box } = call
  const { effects, signal } = context.services
  const at = [...call.at, item(count)]
  const { action } = call.permit
  const approved = action.kind === 'tool' ? action.diff : undefined
  const asked = { name: 'file_changes', args: [[directive.kind, directive.filePath]] }
  let worked: WorkedOut | undefined
  const plan = await effects.observeAsync([...at, part('plan')], asked, async () => {
    worked = await planFileChange(directive, call, approved)
    const { plan: ready, content } = worked
    if (ready.kind !== 'ready' || content === undefined || context.scope.dry === undefined) return ready
    // a process that resumes the run asks for it
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
    const dry = `This is a dry run: ${change.file_path} stays as it is on the disk. read, edit and write see it with this change.`
    return { text: `${text}\n${dry}`, seen, planned: { path: realPath(plan.path), diff: plan.dry.whole } }
  }
  const content = worked?.content ?? (await contentAgain(plan, directive, call))
  // a replay has no files to be compared; a content that cannot be made is for a file that is not there any more
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

/** The hash of no file. */
const noFile = ''
/** Of a smaller file both contents are kept in no time. */
const leastAhead = 256 * 1024

/**
 * Keeps what a large file holds and is to hold with the run, and hashes what it holds, piece by piece, before the change would
 * do it at once.
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

/** The content that a recorded plan is about; undefined: it cannot be made any more. */
async function contentAgain(
  { after }: ReadyPlan,
  directive: FileDirective,
  call: ToolCall,
): Promise<Buffer | undefined> {
  const fits = (content: Buffer | undefined): content is Buffer => content !== undefined && sha256(content) === after
  const given = directive.kind === 'New' ? Buffer.from(directive.content) : undefined
  if (fits(given)) return given
  const found = call.context.services.texts?.find(after)
  const kept = found === undefined ? undefined : Buffer.from(found)
  if (fits(kept)) return kept
  try {
    const { content } = await planFileChange(directive, call)
    return fits(content) ? content : undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}
