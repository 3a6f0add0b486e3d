import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { modelText } from '../base/model-text.ts'
import { isInTool, parsePlace } from '../event/place.ts'
import type { ChangeStates, FileChangeRecord } from '../event/effects.ts'
import type { RunJournal } from './journal.ts'
import type { JournalRecord, KnownEnd, UncertainChoice } from './record.ts'
import { callText } from './call-text.ts'
import type { StartedRecord } from './matching.ts'
import { openError } from './recorded-error.ts'
import type { Repeated } from './resumed-effects.ts'
import { choose } from './effect-node.ts'
import type { RunIndex } from './run-index.ts'
import { type ChangeState, isFinished, type Location, type PlaceNode } from './tree.ts'

/** An effect that was started by a process that is gone, and that must not be repeated without the user's choice. */
export interface Uncertain {
  /** `EPOCH.N`, the id that `--uncertain` takes. */
  readonly id: string
  readonly place: string
  readonly kind: string
  readonly what: string
  /** The current content there. */
  readonly present?: string
  /** Set if it is known that it failed or was stopped. */
  readonly error?: string
  /** It is the tool of a model, which can be told that its outcome is unknown. */
  readonly isTool?: true
}

interface Begun {
  readonly node: PlaceNode
  readonly place: string
  readonly started: StartedRecord
}

/**
 * The effects that were started and have no end that counts, in unfinished boundaries and in calls that have not
 * returned.
 */
export function startedEffects({ tree, source }: RunIndex): readonly Begun[] {
  const found: { readonly node: PlaceNode; readonly place: string; readonly started: Location }[] = []
  tree.visit((node, place) => {
    const { started, isOk, choice, ended, returned } = node
    const isPast = (returned !== undefined || ended !== undefined) && tree.goesOn(place)
    if (isPast || (returned !== undefined && isGood(source.at(returned)))) return 'skip'
    if (started !== undefined && isOk !== true && choice === undefined) found.push({ node, place, started })
    return node.done === undefined ? undefined : 'skip'
  })
  // a conversation may have been opened in a finished boundary
  const open = found.filter(({ place }) => !isFinished(tree, place))
  const ordered = open.toSorted((left, right) => left.started - right.started)
  return ordered.map(({ node, place, started }) => ({ node, place, started: source.at(started) as StartedRecord }))
}

/** Whether only the user can decide if an effect without a successful end may be repeated. */
export function needsChoice({ repeat }: Pick<StartedRecord, 'repeat'>, { ended }: Pick<PlaceNode, 'ended'>): boolean {
  return repeat === 'unsafe' || (repeat === 'ended' && ended === undefined)
}

function isGood(record: JournalRecord): boolean {
  return record.k === 'call' && record.status === 'ok'
}

/**
 * An effect that was declared failed, and whose script failed because of it, is open again: nothing was based on the
 * choice.
 */
export function askAgain({ tree }: RunIndex): void {
  tree.visit((node, place) => {
    if (node.choice === 'fail' && !tree.goesOn(place)) delete node.choice
    return node.done === undefined ? undefined : 'skip'
  })
}

/** What is known of the effects of a run without a recorded end. */
export interface UnfinishedEffects {
  /** What the disk shows of file changes: they were done, or not. Must be recorded before anything else is done. */
  readonly found: readonly (Repeated & { readonly choice: 'found' | 'missing' })[]
  /** The effects that need a choice. */
  readonly uncertain: readonly Uncertain[]
}

export interface FileInspection {
  /**
   * The current state of the files of a change. `added`: the content that an append was about to add, if it was kept.
   */
  readonly stateOf: (record: FileChangeRecord, added: () => Uint8Array | undefined) => ChangeState
  /** A content that the run kept, by its SHA-256; omitted: contents are not looked up. */
  readonly contentOf?: ((hash: string) => Uint8Array | undefined) | undefined
  /** A description of the current content. */
  readonly presentText: (record: FileChangeRecord) => string
}

/** Separates the effects that the disk decides from those that need a choice. */
export function findUnfinishedEffects(
  index: RunIndex,
  { stateOf, presentText, contentOf }: FileInspection,
): UnfinishedEffects {
  const found: UnfinishedEffects['found'][number][] = []
  const uncertain: Uncertain[] = []
  for (const { node, place, started } of startedEffects(index)) {
    if (node.waits === true) continue
    const { e, n, kind, request, kept } = started
    const id = `${e}.${n}`
    const tool = isInTool(parsePlace(place)) ? ({ isTool: true } as const) : {}
    const ended = node.ended === undefined ? undefined : index.source.at(node.ended)
    if (kind === 'file') {
      if (ended !== undefined) continue
      const change = index.source.value(request) as FileChangeRecord
      const state = stateOf(change, () => {
        const states = kept === undefined ? undefined : (index.source.value(kept) as unknown as ChangeStates)
        const longer = states?.after.find((after) => after.kind === 'longer')
        return longer?.added ?? (change.after === null ? undefined : contentOf?.(change.after))
      })
      if (state === 'neither') {
        const what = `${change.op} of ${change.path}`
        uncertain.push({ id, place, kind, what, present: presentText(change), ...tool })
      } else found.push({ id, place, kind, choice: state === 'after' ? 'found' : 'missing' })
      continue
    } else if (!needsChoice(started, node)) continue
    const error =
      ended?.k === 'ended' && ended.status !== 'ok' ? openError(index.source, ended.error).message : undefined
    uncertain.push({ id, place, kind, what: effectText(kind, request), ...(error !== undefined && { error }), ...tool })
  }
  return { found, uncertain }
}

/**
 * Records the outcome of effects without a recorded end. What the disk shows is recorded as well: this process may
 * change these files before it reaches the effect, and be killed.
 */
export function recordChoices(
  choices: readonly { readonly id: string; readonly place: string; readonly choice: KnownEnd }[],
  journal: Pick<RunJournal, 'note'>,
  { tree }: RunIndex,
): void {
  for (const { id, place, choice } of choices) {
    const [epoch, number] = id.split('.').map(Number) as [number, number]
    const recorded = choice === 'missing' ? ({ choice: 'redo', by: 'disk' } as const) : { choice }
    journal.note({ k: 'choice', p: place, of: [epoch, number], ...recorded })
    choose(tree.make(place), choice)
  }
}

/**
 * Refuses to tell a model about an effect that none of its tools has.
 * @throws BatonError USAGE
 */
export function refuseTelling({ id, what, place, isTool }: Uncertain, choice: UncertainChoice): void {
  if (choice !== 'tell' || isTool === true) return
  throw new BatonError('USAGE', `--uncertain ${id}=tell: no model called ${what} at ${place}, so none can be told`, {
    hint: `A script goes on with the result of its call: choose ${id}=redo, =done or =fail.`,
  })
}

/** Stops a resume that would have to guess (docs/design/matching.md). */
export function refuseUncertain(uncertain: readonly Uncertain[]): void {
  const [first] = uncertain
  if (first === undefined) return
  const lines = uncertain.map(({ id, place, what, error, present }) => {
    const known = error ?? present ?? 'it started, but its process ended first'
    return `  ${id}  ${what} at ${place}: ${known}`
  })
  const count = uncertain.length === 1 ? 'an effect' : `${uncertain.length} effects`
  throw new BatonError('UNCERTAIN', `it is not known whether ${count} of this run happened:\n${lines.join('\n')}`, {
    hint: choicesText(first),
  })
}

/** Calls of servers are shown by server and tool. */
function effectText(kind: string, request: Json): string {
  const { server, tool, input } = isJsonObject(request) ? request : {}
  if (kind !== 'mcp' || typeof server !== 'string' || typeof tool !== 'string') return callText(kind, request)
  return `${callText(tool, input ?? {})} of the MCP server ${server}`
}

/** The first line of the hint of an error about calls whose outcome is unknown; their choices follow. */
export const adviceOnUncertain = 'Check, then resume with one of these for each:'

function choicesText({ id, kind, isTool }: Pick<Uncertain, 'id' | 'kind' | 'isTool'>): string {
  const fail = 'it counts as failed: the caller gets an error'
  const ways =
    kind === 'file'
      ? { redo: 'the change is applied to the current content', done: 'the current content is kept', fail }
      : kind === 'mcp'
        ? { redo: 'the tool is called again', done: 'it counts as called: its result is reported as unknown', fail }
        : { redo: 'it is repeated', done: 'it counts as done, without output', fail }
  const told = isTool === true ? { tell: 'the model is told that its outcome is unknown, and decides' } : {}
  const lines = Object.entries({ ...ways, ...told }).map(([choice, way]) => `  --uncertain ${id}=${choice}  ${way}`)
  return `${adviceOnUncertain}\n${lines.join('\n')}`
}

/**
 * Parses one `--uncertain` value: `1.17=redo`. `known`: the ids of the run that need a choice.
 * @throws BatonError USAGE
 */
export function readChoice(
  text: string,
  known: readonly string[],
): { readonly id: string; readonly choice: UncertainChoice } {
  const [, id, choice] = /^(\d+\.\d+)=(redo|done|fail|tell)$/.exec(text.trim()) ?? []
  if (id !== undefined) return { id, choice: choice as UncertainChoice }
  throw new BatonError('USAGE', `--uncertain ${text} is not a choice`, {
    hint:
      known.length === 0
        ? 'Omit it: nothing in this run needs a choice.'
        : `Use for example --uncertain ${known[0]}=redo, =done, =fail or =tell.`,
  })
}

/** The error of an effect that counts as failed, or whose model is told that nothing is known of its outcome. */
export function chosenError(choice: 'fail' | 'tell', place: string, { kind }: Pick<StartedRecord, 'kind'>): BatonError {
  return new BatonError(
    'SCRIPT_FAILED',
    choice === 'fail'
      ? `the ${kind} at ${place} counts as failed, as chosen with --uncertain`
      : modelText`interrupted: this call had started when the process of the run ended. Its outcome is unknown: it may have taken effect completely, in part, or not at all, and its output is lost. Check what it has done before you repeat it.`,
  )
}
