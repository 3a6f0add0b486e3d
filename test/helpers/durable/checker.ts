import { isDeepStrictEqual } from 'node:util'
import { sha256 } from '../../../src/base/hash.ts'
import { textOf } from '../../../src/event/message.ts'
import type { Finished } from './finished.ts'
import type { JournalState, Noted, Used } from './journal-state.ts'
import type { PaidCall } from './server.ts'

/** The state of the journal when a process was stopped. */
export interface Stop {
  readonly journal: JournalState
  /**
   * Bytes it wrote to files of the journal, by inode; omitted if it was killed from outside and could not report them.
   */
  readonly written?: Readonly<Record<string, number>>
}

/** Everything known about one run that was stopped and resumed. */
export interface Evidence {
  /** The same run without interruption. */
  readonly reference: Finished
  /** The journal after each stop, in order. */
  readonly stops: readonly Stop[]
  readonly finished: Finished
  /** The journal at the end. */
  readonly journal: JournalState
  /** All calls that reached the model since the first start. */
  readonly calls: readonly PaidCall[]
  /** The most calls that may be in flight at the same time. */
  readonly concurrency: number
}

/** Which of I1 to I6 are violated, in words; empty if none are. */
export function violations(evidence: Evidence): readonly string[] {
  return [
    ...evidence.stops.flatMap((stop) => recordProblems(stop, evidence.journal)),
    ...recordProblems({ journal: evidence.journal }, evidence.journal),
    ...callProblems(evidence),
    ...reportProblems(evidence),
    ...resultProblems(evidence),
    ...costProblems(evidence),
  ]
}

/**
 * I1 every record that was written is present and readable; I2 there are no others; no writer touches another's file.
 */
function recordProblems({ journal, written = {} }: Stop, later: JournalState): readonly string[] {
  const problems: string[] = []
  const { files, records, damaged, reader } = journal
  if (damaged.length > 0) problems.push(`I1: damaged lines: ${damaged.join(' | ').slice(0, 300)}`)
  if (reader.corrupt > 0) problems.push(`I1: the reader reports ${reader.corrupt} damaged parts`)
  if (reader.records !== records.length) problems.push(`I1: the reader gives ${reader.records} of ${records.length}`)
  for (const { name, inode, bytes, hash } of files) {
    const expected = written[inode]
    if (expected !== undefined && expected !== bytes) problems.push(`I1: ${name} has ${bytes} of ${expected} bytes`)
    if (later.files.find((file) => file.name === name)?.hash !== hash) problems.push(`I2: ${name} was changed later`)
    const numbers = records.filter(({ e }) => e === epochOf(name)).map(({ n }) => n)
    if (!numbers.every((number, index) => number === index)) problems.push(`I2: ${name} is numbered ${numbers.join()}`)
  }
  return problems
}

function epochOf(name: string): number {
  return Number(/\d+/.exec(name)?.[0])
}

/** I3 no call with a recorded result is sent again; I4 a call that is sent twice was in flight at a stop. */
function callProblems({ journal, calls, concurrency }: Evidence): readonly string[] {
  const models = effectsOf(journal.records).filter(({ kind }) => kind === 'model')
  const begun = groupBy(models, ({ key }) => key)
  const problems = [...groupBy(calls, ({ key }) => key)].flatMap(([key, sent]) => {
    const tries = begun.get(key) ?? []
    return triesProblems(sent[0]?.name ?? key, { sent: sent.length, tries })
  })
  const underWay = groupBy(
    models.filter(({ status }) => status === undefined),
    ({ epoch }) => epoch,
  )
  for (const [epoch, { length }] of underWay) {
    if (length > concurrency) problems.push(`I4: ${length} calls were under way when epoch ${epoch} stopped`)
  }
  return problems
}

function triesProblems(
  name: string,
  { sent, tries }: { readonly sent: number; readonly tries: readonly EffectTry[] },
): readonly string[] {
  if (tries.length === 0) return [`I2: ${name} was sent without being recorded`]
  const answered = tries.findIndex(({ status }) => status === 'ok')
  return [
    ...(sent > tries.length ? [`I4: ${name} was sent ${sent} times and begun ${tries.length} times`] : []),
    ...(answered !== -1 && answered < tries.length - 1 ? [`I3: ${name} was begun again after its result`] : []),
  ]
}

/** I4 what was in flight or called off and was done again by this resume is exactly what its last event lists. */
function reportProblems({ journal, finished }: Evidence): readonly string[] {
  const epoch = journal.records.at(-1)?.e
  const tries = groupBy(effectsOf(journal.records), ({ kind, place }) => `${kind} ${place}`)
  const again = [...tries].flatMap(([what, each]) => {
    const [before, last] = each.slice(-2)
    const isOpen = before?.status === undefined || before.status === 'cancelled'
    return last?.epoch === epoch && isOpen ? [what] : []
  })
  const listed = (finished.last?.repeated ?? []).map(({ kind, place }) => `${kind} ${place}`)
  const isCounted = (what: string): boolean => /^(?:model|file) /.test(what)
  const [done, told] = [again, listed].map((list) => list.filter(isCounted).toSorted().join(', '))
  return done === told ? [] : [`I4: done again: ${done}; listed: ${told}`]
}

/** One attempt at an effect. */
interface EffectTry {
  readonly key: string
  readonly epoch: number
  readonly place: string
  readonly kind: string
  /** Undefined: it was in flight when the process was stopped. */
  readonly status: string | undefined
  /** The cost of its tries, if its end reports them. */
  readonly spent: readonly Used[]
}

function effectsOf(records: readonly Noted[]): readonly EffectTry[] {
  const ends = new Map(records.flatMap((record) => endIn(record)))
  return records.flatMap((record) => {
    if (record.k !== 'started') return []
    const { e: epoch, n, p: place = '', kind = '' } = record
    const { status, spent = [] } = ends.get(`${epoch}.${n}`) ?? {}
    return [{ key: keyOf(record), epoch, place, kind, status, spent }]
  })
}

/** The start that a record ends. A suspended effect did not happen. */
function endIn(record: Noted): readonly (readonly [string, Pick<Noted, 'status' | 'spent'>])[] {
  if (record.s === undefined) return []
  return [[`${record.e}.${record.s}`, record.k === 'suspended' ? { status: 'suspended' } : record]]
}

/** The same as the server's key of the request. */
function keyOf({ request }: Noted): string {
  return sha256((request?.messages ?? []).map(textOf).join('\n'))
}

function groupBy<T, Key>(items: readonly T[], keyOfItem: (item: T) => Key): ReadonlyMap<Key, readonly T[]> {
  const groups = new Map<Key, T[]>()
  for (const item of items) {
    const key = keyOfItem(item)
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  return groups
}

/** I5 answer and files equal those of the undisturbed run; the command ran once; what scripts printed is shown. */
function resultProblems({ reference, finished }: Evidence): readonly string[] {
  const problems: string[] = []
  const { last } = finished
  if (finished.code !== 0 || last?.type !== 'run.completed') {
    problems.push(`I5: exit ${finished.code}, ${last?.error?.message ?? finished.stderr}`)
  }
  if (!isDeepStrictEqual(finished.answers, reference.answers)) problems.push('I5: other answers')
  if (!isDeepStrictEqual(last?.outputs, reference.last?.outputs)) problems.push('I5: other outputs')
  if (!isDeepStrictEqual(finished.shown, reference.shown)) problems.push(`I5: shown: ${finished.shown.join()}`)
  for (const path of new Set([...Object.keys(reference.files), ...Object.keys(finished.files)])) {
    const [have, want] = [finished.files[path], reference.files[path]]
    if (have !== want) problems.push(`I5: ${path} is ${JSON.stringify(have)}, not ${JSON.stringify(want)}`)
  }
  if (finished.commandRuns !== reference.commandRuns) problems.push(`I5: the command ran ${finished.commandRuns} times`)
  return problems
}

/** I6 tokens and cost are those of the undisturbed run plus what a stopped process has recorded as wasted. */
function costProblems({ reference, finished, journal }: Evidence): readonly string[] {
  // all tries of a retried call but the last were wasted
  const wasted = effectsOf(journal.records).flatMap(({ status, spent }) =>
    status === 'ok' ? spent.slice(0, -1) : spent,
  )
  const sum = (first: number | undefined, more: readonly number[]): number => more.reduce((a, b) => a + b, first ?? 0)
  const { usage, cost_usd: usd } = finished.last ?? {}
  const expected = {
    calls: sum(
      reference.last?.usage.calls,
      wasted.map((each) => each.usage.calls),
    ),
    input: sum(
      reference.last?.usage.input,
      wasted.map((each) => each.usage.input),
    ),
    output: sum(
      reference.last?.usage.output,
      wasted.map((each) => each.usage.output),
    ),
    usd: sum(
      reference.last?.cost_usd ?? 0,
      wasted.map((each) => each.costUsd ?? 0),
    ),
  }
  const told = { calls: usage?.calls, input: usage?.input, output: usage?.output, usd }
  return isDeepStrictEqual(told, expected) ? [] : [`I6: ${JSON.stringify(told)}, not ${JSON.stringify(expected)}`]
}
