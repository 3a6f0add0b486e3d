import { isObject, type Json } from '../base/json.ts'
import { type Cost, type Effects, placeText } from '../event/effects.ts'
import type { EventBody } from '../event/event.ts'
import type { RunContext } from '../event/context.ts'
import type { Budget } from '../journal/budget.ts'
import type { AgentParts } from '../agent/parts.ts'
import { createEffects } from '../journal/effects.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { Repeated } from '../journal/resumed-effects.ts'
import { costOfAnswer, costOfFailedCall } from '../model/estimate.ts'
import type { SourceLog } from '../run/source-log.ts'
import type { SourceRecorder } from '../run/stored-sources.ts'

/** What a run that goes on takes over from its older epochs; see past.ts, which is loaded only for it. */
export interface Past {
  /** Agent runs of the older epochs: their numbers are taken. */
  readonly agentRuns: number
  /** What counts as spent already below a place. */
  readonly spentBelow: (place: string) => Required<Cost>
  /** The same effects, answered by the record as far as it goes. */
  readonly around: (live: Effects, told: ToldOfPast) => Effects
}

export interface ToldOfPast {
  readonly onRepeat: (repeated: Repeated) => void
  readonly events: RunContext['events']
}

/** What answers in place of everything outside. */
export interface Replay {
  readonly effects: Effects
  readonly chooseModel: AgentParts['chooseModel']
}

export interface EffectParts {
  readonly journal: RunJournal
  readonly budget: Budget
  readonly signal: AbortSignal
  readonly workspace: string
  readonly events: RunContext['events']
  /** Told when an effect begins, and how it ended. */
  readonly onEffect: () => void
  /** Left out: the run begins. */
  readonly past: Past | undefined
  /** Told of what is done again where the run goes on. */
  readonly onRepeat: ToldOfPast['onRepeat']
  /** Keeps what is changed, for who watches the run. */
  readonly log: SourceLog | undefined
  /** Told which sources the run changes itself. */
  readonly sources: SourceRecorder
}

/** The effects of one run: recorded, answered from its record where it goes on, and looked at by who watches it. */
export function createRunEffects({
  journal,
  budget,
  signal,
  workspace,
  events,
  onEffect,
  past,
  onRepeat,
  log,
  sources,
}: EffectParts): Effects {
  const live = createEffects({
    journal,
    signal,
    budget,
    costOf: ({ kind }, value) => (kind === 'model' ? costOfAnswer(value) : undefined),
    costOfFailure: ({ kind }, error) => (kind === 'model' ? costOfFailedCall(error) : undefined),
    onEffect,
    usedBy: ({ kind, request }, value) => (kind === 'model' ? usedBy(request, value) : undefined),
  })
  const noted = sources.around(live, workspace)
  const watched = log?.around(noted, workspace) ?? noted
  return past?.around(watched, { onRepeat, events }) ?? watched
}

/** What the total of a run counts of a model call; see `totalBefore`. */
function usedBy(request: Json, value: unknown): Json | undefined {
  if (!isObject(value) || !isObject(request)) return undefined
  return { model: request['provider'] as string, usage: value['usage'] as Json, usd: value['costUsd'] as number | null }
}

/** Events that are shown again when the boundary they were sent in is read back. */
const shown: ReadonlySet<EventBody['type']> = new Set(['print', 'pin', 'label'])

/** Sends events, and records those that a resumed run shows again. */
export function recordShown(journal: RunJournal, send: RunContext['events']): RunContext['events'] {
  return (at, event) => {
    if (shown.has(event.type)) journal.note({ k: 'show', p: placeText(at), event })
    send(at, event)
  }
}
