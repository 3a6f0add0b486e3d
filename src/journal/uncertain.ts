import { BatonError } from '../base/error.ts'
import type { FileChangeRecord } from '../event/effects.ts'
import type { JournalRecord, UncertainChoice } from './record.ts'
import { callText } from './difference.ts'
import type { StartedRecord } from './matching.ts'
import { openError } from './recorded-error.ts'
import type { RunIndex } from './run-index.ts'
import { type ChangeState, isFinished, type Location, type PlaceNode } from './tree.ts'

/** An effect that began in a process that is gone, and that nobody may do again without a person's choice. */
export interface Uncertain {
  /** `EPOCH.N`, what `--uncertain` takes. */
  readonly id: string
  readonly place: string
  readonly kind: string
  readonly what: string
  /** Set when it is known that it failed or was stopped. */
  readonly error?: string
}

interface Begun {
  readonly node: PlaceNode
  readonly place: string
  readonly started: StartedRecord
}

/** The effects that began and have no end that counts, in unfinished boundaries and in calls that have not returned. */
export function begunEffects({ tree, source }: RunIndex): readonly Begun[] {
  const found: { readonly node: PlaceNode; readonly place: string; readonly started: Location }[] = []
  tree.visit((node, place) => {
    const { started, isOk, choice, ended, returned } = node
    const isPast = (returned !== undefined || ended !== undefined) && tree.goesOn(place)
    if (isPast || (returned !== undefined && isGood(source.at(returned)))) return 'skip'
    if (started !== undefined && isOk !== true && choice === undefined) found.push({ node, place, started })
    return node.done === undefined ? undefined : 'skip'
  })
  // a conversation may have been opened in a boundary that is finished
  const open = found.filter(({ place }) => !isFinished(tree, place))
  const ordered = open.toSorted((left, right) => left.started - right.started)
  return ordered.map(({ node, place, started }) => ({ node, place, started: source.at(started) as StartedRecord }))
}

function isGood(record: JournalRecord): boolean {
  return record.k === 'call' && record.status === 'ok'
}

/** An effect that was said to have failed, and that its script died of, is open again: nothing was built on the choice. */
export function askAgain({ tree }: RunIndex): void {
  tree.visit((node, place) => {
    if (node.choice === 'fail' && !tree.goesOn(place)) delete node.choice
    return node.done === undefined ? undefined : 'skip'
  })
}

/** Those of them that need a choice. `stateOf` looks at the files of a change; what it says is kept. */
export function uncertainEffects(
  index: RunIndex,
  stateOf: (record: FileChangeRecord) => ChangeState,
): readonly Uncertain[] {
  return begunEffects(index).flatMap(({ node, place, started }) => {
    if (node.waits === true) return []
    const { e, n, kind, repeat, request } = started
    const ended = node.ended === undefined ? undefined : index.source.at(node.ended)
    if (kind === 'file') {
      if (ended !== undefined) return []
      node.state = stateOf(index.source.value(request) as FileChangeRecord)
      if (node.state !== 'neither') return []
    } else if (repeat === 'safe') return []
    const error =
      ended?.k === 'ended' && ended.status !== 'ok' ? openError(index.source, ended.error).message : undefined
    return [{ id: `${e}.${n}`, place, kind, what: callText(kind, request), ...(error !== undefined && { error }) }]
  })
}

/** Stops a resume that would have to guess (docs/design/matching.md). */
export function refuseUncertain(uncertain: readonly Uncertain[]): void {
  const [first] = uncertain
  if (first === undefined) return
  const lines = uncertain.map(
    ({ id, place, what, error }) => `  ${id}  ${what} at ${place}${error === undefined ? '' : `: ${error}`}`,
  )
  const count = uncertain.length === 1 ? 'an effect' : `${uncertain.length} effects`
  throw new BatonError('UNCERTAIN', `it is not known whether ${count} of this run happened:\n${lines.join('\n')}`, {
    hint: `Look, then resume with --uncertain ${first.id}=redo (do it again), =done (it happened) or =fail (it failed).`,
  })
}

/** One `--uncertain` value: `1.17=redo`. @throws BatonError USAGE */
export function readChoice(text: string): { readonly id: string; readonly choice: UncertainChoice } {
  const [, id, choice] = /^(\d+\.\d+)=(redo|done|fail)$/.exec(text.trim()) ?? []
  if (id !== undefined) return { id, choice: choice as UncertainChoice }
  throw new BatonError('USAGE', `--uncertain ${text} is not a choice`, {
    hint: 'Write for example --uncertain 1.17=redo; done and fail are the others.',
  })
}
