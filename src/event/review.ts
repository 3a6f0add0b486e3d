import { BatonError } from '../base/error.ts'
import { modelText } from '../base/model-text.ts'
import { changedLines, type Hunk, readDiff } from './hunks.ts'
import type { Action, Decision, HunkEdit, HunkRemark, PartialDecision } from './permission.ts'

/*
 * The review of a change: its diff in hunks, and what was decided about each. Terminal, chat, page, command line and
 * HTTP show and answer the same.
 */

/** The hunks of an action that can be decided one by one: those of a change of one file that is not deleted. */
export function hunksOf(action: Action): readonly Hunk[] {
  const isChange = action.kind === 'write' || (action.kind === 'tool' && action.subject?.kind === 'path')
  return isChange && action.diff !== undefined ? readDiff(action.diff).hunks : []
}

/** The numbers of the hunks of an action that can be decided one by one; empty if it can only be decided as a whole. */
export function hunkNumbers(action: Action): readonly number[] {
  const hunks = hunksOf(action)
  return hunks.length < 2 ? [] : hunks.map(({ number }) => number)
}

/** The same for a decision that may edit hunks: the only hunk of a change, too. */
export function numbersToDecide(
  action: Action,
  { edits }: { readonly edits?: readonly HunkEdit[] | undefined },
): readonly number[] {
  return edits === undefined || edits.length === 0 ? hunkNumbers(action) : hunksOf(action).map(({ number }) => number)
}

/** What a person or a program says about a change whose hunks have these numbers. */
export type PartVerdict =
  /** Only these hunks are made. `reason`: a remark about each of the others that has none. */
  | {
      readonly kind: 'approve'
      readonly hunks: readonly number[]
      readonly remarks?: readonly HunkRemark[] | undefined
      readonly edits?: readonly HunkEdit[] | undefined
      readonly reason?: string | undefined
    }
  /** All hunks except these are made. */
  | { readonly kind: 'reject'; readonly hunks: readonly number[]; readonly reason?: string | undefined }

/**
 * The decision about a change whose hunks have these numbers.
 * @throws BatonError USAGE for hunks that it does not have
 */
export function partDecision(
  verdict: PartVerdict,
  all: readonly number[],
): Exclude<Decision, { readonly always: unknown }> {
  const { kind, hunks, reason = '' } = verdict
  const given = kind === 'approve' ? (verdict.remarks ?? []) : []
  const edits = kind === 'approve' ? (verdict.edits ?? []) : []
  const named = given.flatMap(({ hunk }) => (hunk === undefined ? [] : [hunk]))
  const unknown = [...hunks, ...named].find((number) => !all.includes(number))
  if (unknown !== undefined) {
    const why = all.length === 0 ? 'can only be decided as a whole' : `has ${all.length} hunks`
    throw new BatonError('USAGE', `there is no hunk ${unknown} to decide: the change ${why}`, {
      hint: 'Hunks are numbered from 1, in the order of the diff.',
    })
  }
  const both = kind === 'approve' ? hunks.find((number) => named.includes(number)) : undefined
  if (both !== undefined) {
    throw new BatonError('USAGE', `hunk ${both} is accepted, and has a remark about its rejection`, {
      hint: 'A remark says why a hunk is rejected.',
    })
  }
  const edited = edits.find(({ hunk }) => !hunks.includes(hunk))
  if (edited !== undefined) {
    throw new BatonError('USAGE', `hunk ${edited.hunk} is edited, and is not one of those to make`, {
      hint: 'Name it among the hunks.',
    })
  }
  const made = all.filter((number) => hunks.includes(number) === (kind === 'approve'))
  const others = reason.trim() === '' ? [] : all.filter((number) => !made.includes(number) && !named.includes(number))
  const remarks = [...given, ...others.map((hunk) => ({ hunk, text: reason.trim() }))]
  if (remarks.length > 0 || edits.length > 0) {
    return { hunks: made, ...(remarks.length > 0 && { remarks }), ...(edits.length > 0 && { edits }) }
  }
  return made.length === all.length ? 'allow' : made.length === 0 ? 'deny' : { hunks: made }
}

/**
 * A decision as it is recorded. With `{ remark }` about a change of an answer, earlier versions sent all changes of the
 * answer back; now a remark is about this one. A call of a tool that is rejected as a whole has one remark.
 */
export function toRecord(decision: Decision, action: Action): Decision {
  if (typeof decision === 'string') return decision
  if (action.kind === 'write' || action.kind === 'delete') {
    return 'remark' in decision ? { hunks: [], remarks: [{ text: decision.remark }] } : decision
  }
  const isRejected = 'hunks' in decision && decision.hunks.length === 0
  return isRejected ? { remark: remarksText(decision, action) } : decision
}

/** The remarks of a decision in one text: `src/a.ts:14: use a RangeError`. */
export function remarksText({ remarks = [] }: PartialDecision, action: Action): string {
  const hunks = hunksOf(action)
  const path = action.kind === 'write' ? (action.shown ?? action.named) : undefined
  return remarks.map((remark) => `${placeOf(remark, { hunks, path })}${remark.text}`).join('\n')
}

function placeOf(
  { hunk }: HunkRemark,
  { hunks, path }: { readonly hunks: readonly Hunk[]; readonly path: string | undefined },
): string {
  if (hunk === undefined || hunks.length < 2) return ''
  const line = hunks.find(({ number }) => number === hunk)?.line ?? 1
  return path === undefined ? `hunk ${hunk}, line ${line}: ` : `${path}:${line}: `
}

/** Numbers as a phrase: `hunk 2`, `hunks 1 and 3`. */
export function hunkNames(numbers: readonly number[]): string {
  const [last, ...others] = numbers.toReversed()
  const listed = others.length === 0 ? `${last}` : `${others.toReversed().join(', ')} and ${last}`
  return `${numbers.length === 1 ? 'hunk' : 'hunks'} ${listed}`
}

/** What a model is told about hunks that the user has edited: the lines that are in the file now. */
export function editedText(
  path: string,
  hunks: readonly Hunk[],
  { edits = [] }: Pick<PartialDecision, 'edits'>,
): string {
  const parts = edits.map(({ hunk: number, text }) => {
    const place = `${path}:${hunks.find((hunk) => hunk.number === number)?.line ?? 1}`
    return modelText`The user made it otherwise: ${place}\n\n${text.replace(/\n$/, '')}`
  })
  return parts.join('\n\n')
}

/** What a model is told about a change that was decided in part: each rejected hunk, with its lines and its remark. */
export function rejectedText(
  path: string,
  hunks: readonly Hunk[],
  { hunks: made, remarks = [] }: PartialDecision,
): string {
  const said = (texts: readonly string[]): string => modelText`They say:\n\n${texts.join('\n')}`
  const whole = remarks.filter(({ hunk }) => hunk === undefined || hunks.length < 2).map(({ text }) => text)
  const rejected = hunks.length < 2 ? [] : hunks.filter(({ number }) => !made.includes(number))
  const parts = rejected.map((hunk) => {
    const lines = changedLines(hunk).join('\n')
    const place = `${path}:${hunk.line}`
    const own = remarks.filter((remark) => remark.hunk === hunk.number).map(({ text }) => text)
    if (own.length === 0) return modelText`Rejected, without a remark: ${place}\n\n${lines}`
    return `${modelText`Rejected: ${place}`}\n\n${lines}\n\n${said(own)}`
  })
  return [...(whole.length > 0 ? [said(whole)] : []), ...parts].join('\n\n')
}
