import { resolve } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { isBatonError } from '../../base/error.ts'
import { realName } from '../../base/real-name.ts'
import { hashInSlices } from '../../base/slow-hash.ts'
import { sizeText } from '../../base/size.ts'
import type { FileChange } from '../../event/event.ts'
import type { Place } from '../../event/place.ts'
import { readDiff } from '../../event/hunks.ts'
import { editedText, hunkNames, rejectedText } from '../../event/review.ts'
import { type ChangeStep, reportOf } from '../changes/plan.ts'
import { type ContentDirective, type Directive, relativeTo, type ReplaceDirective } from '../changes/directive.ts'
import { diskSpace, type Files, overlaid } from '../changes/change-space.ts'
import type { ApprovedChange } from '../changes/approved-changes.ts'
import { planTransaction, type RefusedPlan, shownSteps } from '../changes/plan-transaction.ts'
import { createTextThread } from '../changes/text-thread.ts'
import { presentHash } from '../workspace-files.ts'
import { readTextInSlices, statusAt } from '../workspace-reads.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import type { SeenFile } from './seen-log.ts'
import type { ReplacedLines } from '../changes/edits.ts'
import { linesText, numberedLines } from './output.ts'

/** The file change that a tool call requests. */
export type FileDirective = ReplaceDirective | (ContentDirective & { readonly kind: 'New' })

/**
 * The plan of a change as recorded, without the contents. A type alias, because interfaces are not assignable to JSON.
 */
export type FilePlan =
  | { readonly kind: 'refused'; readonly text: string; readonly gone?: readonly string[] }
  /** The file already has that content. */
  | { readonly kind: 'same'; readonly text: string; readonly seen: readonly SeenFile[] }
  | {
      readonly kind: 'ready'
      readonly path: string
      /** Hash of the content it replaces; null if there is no file. */
      readonly over: string | null
      /** Hash of the new content. */
      readonly after: string
      readonly text: string
      readonly change: FileChange
      readonly seen: readonly SeenFile[]
      readonly dry?: DryDiffs
    }

/** A type alias, because interfaces are not assignable to JSON. */
export type DryDiffs = {
  /** Diff of what the call would change. */
  readonly diff: string
  /** Diff of what the whole conversation would change in the file. */
  readonly whole: string
}

/** Larger files cannot be known to a model. */
const mostBytes = 10 * 1024 * 1024

export interface PlannedFileChange {
  readonly plan: FilePlan
  readonly steps: readonly ChangeStep[]
  /** The files that the change was planned for. */
  readonly files: (disk: Files) => Files
  readonly content?: Buffer
  /** The current content; null if there is no file, or it is not text. */
  readonly present?: string | null
}

export type ChangeCall = Omit<ToolCall, 'permit'>

/**
 * Plans a change for the current content of its file, without writing anything. `approved`: what the user has
 * approved. Large files are read, changed and hashed in slices or in a thread.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export async function planFileChange(
  asked: FileDirective,
  call: ChangeCall,
  approved?: ApprovedChange,
): Promise<PlannedFileChange> {
  const { box, context } = call
  const { baseDir, seen, limits } = box
  const { sources, signal } = context.services
  // the path that the call was permitted for
  const absolute = resolve(baseDir, asked.filePath)
  const real = realName(absolute)
  const [written = asked] = relativeTo(baseDir, [real === absolute ? asked : { ...asked, filePath: real }])
  const named = written.filePath
  const path = diskSpace(baseDir, context).resolve(named, 'write')
  const large = tooLarge(named, { path, asked })
  if (large !== undefined) return refused(large)
  const { over, text: present } = await presentText(path, call)
  const directive = present === undefined ? written : withoutLineNumbers(written, present)
  const files = filesWith(path, present, call)
  const options = {
    baseDir,
    partial: false,
    shown: seen.whole(),
    isMade: sources.made,
    files,
    ...limits,
    ...(approved !== undefined && { approved: [approved] }),
  }
  const thread = createTextThread(signal)
  const result = await planTransaction([directive], options, { context, thread })
  if (result.kind !== 'ready') return refused(...whyNot(result, { path, named, call }))

  const [step] = result.steps
  const before = over ?? null
  const known = (hash: string): readonly SeenFile[] => [{ path, hash }]
  if (step?.action?.op !== 'write') {
    const same = `${named} already has exactly this content: nothing was changed.`
    return { plan: { kind: 'same', text: same, seen: known(before ?? '') }, steps: [], files }
  }
  const { content } = step.action
  if (content.length > mostBytes) return refused(`${named} would have more than ${sizeText(mostBytes)}`)
  const isPart = approved?.hunks !== undefined
  const isKnown = isPart ? false : asked.kind === 'New' || before === null || seen.files().hashOf(path) === before
  const worked = { steps: result.steps, files }
  await thread.pause()
  const bytes = Buffer.from(content)
  const after = await hashInSlices(bytes, signal)
  return {
    ...worked,
    content: bytes,
    present: present ?? null,
    plan: {
      kind: 'ready',
      path,
      over: before,
      after,
      text: isPart
        ? partText(named, approved)
        : changedText(named, {
            isNew: before === null,
            content,
            places: step.places,
            placeCount: step.placeCount,
            isShown: isKnown || seen.knows(path),
            at: call.at,
          }),
      change: reportOf(step.item),
      seen: isKnown ? known(after) : [],
    },
  }
}

/**
 * The directive without the numbers of lines that a model copied from `read`, if the file does not have them. A
 * replacement of which only some lines have numbers is left as it is: nothing is found, and the model is told.
 */
function withoutLineNumbers(directive: Directive, present: string): Directive {
  if (directive.kind !== 'Replace') return directive
  const { search, content } = directive
  const meant = withoutNumbers(search)
  const plain = (text: string): string => text.replaceAll('\r\n', '\n')
  if (meant === undefined || meant === '' || plain(present).includes(plain(search))) return directive
  const lines = content.split('\n').filter((line) => line.trim() !== '')
  const numbered = lines.filter((line) => lineNumber.test(line))
  if (numbered.length > 0 && numbered.length < lines.length) return directive
  return { ...directive, search: meant, content: content.replaceAll(new RegExp(lineNumber, 'gm'), '') }
}

/** Earlier versions wrote an arrow instead of the tab, and conversations that they began go on. */
const lineNumber = /^ *\d+[\t→]/

/** A text of numbered lines, as `read` shows them, without their numbers; undefined if it is none. */
function withoutNumbers(text: string): string | undefined {
  const lines = text.split('\n').map((line) => /^ *(\d+)(?:[\t→](.*)|\r?)$/.exec(line))
  const [first] = lines
  const isNumbered = lines.every((line, index) => line !== null && Number(line[1]) === Number(first?.[1]) + index)
  return isNumbered ? lines.map((line) => line?.[2] ?? '').join('\n') : undefined
}

/** The diff that the approval prompt shows; an output if there is nothing to show. @throws like `planFileChange` */
export async function previewChange(directive: FileDirective, call: ChangeCall): Promise<string | ToolOutput> {
  const worked = await planFileChange(directive, call)
  const { plan } = worked
  if (plan.kind === 'ready') return workDiff(worked, call)
  return plan.kind === 'refused' ? refusal(plan) : { text: plan.text, seen: plan.seen }
}

/** The output for the model if a change is refused. */
export function refusal({ text, gone }: Extract<FilePlan, { readonly kind: 'refused' }>): ToolOutput {
  return { text, isError: true, ...(gone === undefined ? {} : { gone }) }
}

function refused(text: string, gone?: readonly string[]): PlannedFileChange {
  const plan = { kind: 'refused', text, ...(gone === undefined ? {} : { gone }) } as const
  return { plan, steps: [], files: (disk) => disk }
}

interface PresentText {
  /** Hash of the current content; null if there is no file. */
  readonly over: string | null | undefined
  /** Undefined if the file is not text, or must not be read. */
  readonly text?: string
}

async function presentText(path: string, { context }: ChangeCall): Promise<PresentText> {
  const planned = context.services.planned?.at(path) ?? { kind: 'disk', path }
  if (planned.kind === 'file') {
    return { text: planned.text, over: await hashInSlices(Buffer.from(planned.text), context.services.signal) }
  }
  if (planned.kind !== 'disk') return { over: null }
  const { path: present } = planned
  if (statusAt(present)?.kind !== 'file') return { over: presentHash(present) }
  try {
    const { text, hash: over } = await readTextInSlices(present, context)
    return { text, over }
  } catch (error) {
    if (!isBatonError(error)) throw error
    // planning the change reports why it cannot be read
    return { over: presentHash(present) }
  }
}

/** The files on disk, one of which is already in memory; in a dry run with the changes planned so far. */
function filesWith(path: string, text: string | undefined, { context }: ChangeCall): (disk: Files) => Files {
  return (disk) => {
    const files = overlaid(context.services.planned, disk)
    return { ...files, textAt: (asked) => (asked === path && text !== undefined ? text : files.textAt(asked)) }
  }
}

/** The planned change as a diff for the user. */
export async function workDiff(
  { steps, files }: Pick<PlannedFileChange, 'steps' | 'files'>,
  { box, context }: ChangeCall,
): Promise<string> {
  const thread = createTextThread(context.services.signal)
  const shown = await shownSteps(steps, { baseDir: box.baseDir, files }, { context, thread })
  return shown.map(({ diff }) => diff).join('')
}

function tooLarge(
  named: string,
  { path, asked: { content } }: { readonly path: string; readonly asked: FileDirective },
): string | undefined {
  if (content.length > mostBytes) {
    return modelText`the content has ${sizeText(content.length)}, but a call writes at most ${sizeText(mostBytes)}`
  }
  const { kind, size = 0 } = statusAt(path) ?? {}
  if (kind !== 'file' || size <= mostBytes) return undefined
  return modelText`${named} has ${sizeText(size)}, but tools do not change files larger than ${sizeText(mostBytes)}`
}

interface Refusal {
  /** Absolute. */
  readonly path: string
  readonly named: string
  readonly call: ChangeCall
}

/** Why nothing was changed, for the model, and the files it must learn are gone. */
function whyNot(result: RefusedPlan, { path, named, call }: Refusal): [string, (readonly string[])?] {
  const { seen } = call.box
  if (result.kind === 'stale') {
    if (result.gone !== undefined) {
      return [`${named} was deleted since you saw it. Call again to create it again.`, [path]]
    }
    if (result.paths.length > 0) {
      return [`${named} has changed since you saw it: nothing was written. Read it again, then decide what to write.`]
    }
    const how = seen.knows(path) ? 'you have not seen all of its current content' : 'you have not seen it'
    return [`${named} exists, and ${how}: nothing was written. Read it first, or change a part of it with edit.`]
  }
  const [{ error_msg: reason = '', error_hunks: hunks = [] } = {}] = result.items
  if (hunks.length === 0) return [`${reason.replace(/\.$/, '')}. Nothing was changed.`]
  // an error must not reveal content that the model has not read
  if (!seen.knows(path)) return [`${reason}. You have not read this file: read it first.`]
  const changed = result.changed.length > 0 ? ', which has changed since you saw it' : ''
  const nearest = hunks[0]?.nearest
  if (nearest === undefined) return [`${reason}${changed}, and nothing in it is similar.`]
  return [
    `${reason}${changed}. The nearest place is:\n${excerptLines(nearest.text.split('\n'), nearest.line, call.at)}`,
  ]
}

/** The text for the model after a change of which the user accepted some hunks. */
function partText(file: string, { diff, hunks = [], remarks = [], edits = [] }: ApprovedChange): string {
  const all = readDiff(diff).hunks
  const head =
    hunks.length === all.length
      ? modelText`Changed ${file}.`
      : modelText`Changed ${file} only in part: the user accepted ${hunkNames(hunks)} of ${all.length}.`
  const parts = [editedText(file, all, { edits }), rejectedText(file, all, { hunks, remarks })]
  return [head, ...parts.filter((text) => text !== '')].join('\n\n')
}

/** Context lines shown before and after a place. */
const around = 2
/** Beyond this number of places, only the line numbers are given. */
const mostPlaces = 4
const mostNamed = 20
const mostLines = 40
const mostCharacters = 400

interface ChangedFile {
  readonly isNew: boolean
  readonly content: string
  /** If omitted, the whole file was written. */
  readonly places?: readonly ReplacedLines[] | undefined
  /** The total number, if not all places are given. */
  readonly placeCount?: number | undefined
  /** Whether the model may see lines that it did not write. */
  readonly isShown: boolean
  /** Of the call. */
  readonly at: Place
}

/**
 * The text for the model after a file change: the new lines with their numbers, so that it need not read the file
 * again.
 */
function changedText(
  file: string,
  { isNew, content, places, placeCount = places?.length ?? 0, isShown, at }: ChangedFile,
): string {
  if (isNew) return modelText`Created ${file}, ${linesText(countLines(content))}.`
  if (places === undefined) return modelText`Replaced ${file}, which now has ${linesText(countLines(content))}.`
  const named = placeCount === 1 && (places[0]?.count ?? 0) <= 1 ? 'line' : 'lines'
  const where = `at ${named} ${places.slice(0, mostNamed).map(rangeText).join(', ')}${placeCount > mostNamed ? ' and more' : ''}`
  const head = modelText`Changed ${file}${placeCount === 1 ? '' : modelText` in ${placeCount} places,`} ${where}.`
  if (!isShown || placeCount > mostPlaces) return head
  const parts = excerpts(places, countLines(content))
  const texts = linesAt(content, parts)
  return [head, ...parts.map(({ from }, index) => excerptLines(texts[index] ?? [], from, at))].join('\n')
}

/** Numbered lines as `read` shows them, each cut to its beginning. */
function excerptLines(lines: readonly string[], first: number, at: Place): string {
  const short = (line: string): string => (line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line)
  return numberedLines(lines.map(short), first, at)
}

function rangeText({ line, count }: ReplacedLines): string {
  return count > 1 ? `${line}-${line + count - 1}` : `${line}`
}

interface Excerpt {
  readonly from: number
  readonly to: number
}

/** Adjacent and overlapping excerpts are merged. */
function excerpts(places: readonly ReplacedLines[], last: number): readonly Excerpt[] {
  const result: Excerpt[] = []
  for (const { line, count } of places) {
    const from = Math.max(1, line - around)
    const to = Math.min(last, line + Math.min(count, mostLines) - 1 + around)
    const before = result.at(-1)
    if (before !== undefined && from <= before.to + 1) result.splice(-1, 1, { from: before.from, to })
    else result.push({ from, to })
  }
  return result
}

/** The lines of excerpts in ascending order; only these lines are extracted, because the text may be large. */
function linesAt(text: string, parts: readonly Excerpt[]): readonly (readonly string[])[] {
  let line = 1
  let at = 0
  const pass = (to: number): number => {
    const start = at
    for (; line < to && at < text.length; line += 1) at = endOfLine(text, at)
    return start
  }
  return parts.map(({ from, to }) => {
    pass(from)
    const start = pass(to + 1)
    return text
      .slice(start, at)
      .replace(/\n$/, '')
      .split('\n')
      .map((one) => one.replace(/\r$/, ''))
  })
}

/** The index after its line feed. */
function endOfLine(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  return feed === -1 ? text.length : feed + 1
}

function countLines(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at = endOfLine(text, at)) count += 1
  return count
}
