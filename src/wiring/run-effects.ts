import type { AgentParts } from '../agent/parts.ts'
import type { Cost, Effects } from '../event/effects.ts'
import type { EventBody } from '../event/event.ts'
import type { RunServices } from '../event/context.ts'
import type { McpServers } from '../event/mcp.ts'
import type { Meter } from '../event/meter.ts'
import type { OverlayChange } from '../event/overlay.ts'
import type { Grant, Permission } from '../event/permission.ts'
import { openerOf, type Place, placeText } from '../event/place.ts'
import type { ApprovalOptions } from '../journal/approvals.ts'
import type { Budget } from '../journal/budget.ts'
import { createEffects, type EffectHook, type EffectsOptions } from '../journal/effects.ts'
import type { PastApprovals } from '../journal/grants.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { ResumeOptions } from '../journal/resumed-effects.ts'

/** What a resumed run takes over from its older epochs; see older-epochs.ts, which is loaded only for resumed runs. */
export interface PreviousAttempts {
  /** Number of agent runs in the older epochs: their numbers are taken. */
  readonly agentRuns: number
  /** Files that the older epochs created, as records name them. */
  readonly madeFiles: Iterable<string>
  /** The file changes that the older epochs planned, in a run that changes no files. */
  readonly planned: () => Promise<readonly OverlayChange[]>
  readonly approvals: PastApprovals
  /** What was already spent below a place. */
  readonly spentBelow: (place: string) => Required<Cost>
  /** Wraps the effects so that they are answered from the record as far as it goes. */
  readonly around: (live: Effects, notified: PastNotices) => Effects
}

interface PastNotices extends Pick<ResumeOptions, 'onRepeat' | 'onRecall'> {
  readonly events: RunServices['events']
}

/** What answers instead of everything external. */
export interface Replay {
  readonly effects: Effects
  /** The path that stands for the folder of the recorded run; omitted: it had none. */
  readonly folder?: string
  readonly chooseModel: AgentParts['chooseModel']
  /** The MCP servers that the run had; undefined: none. */
  readonly mcp: McpServers | undefined
  /** The servers that a pack (`namespace@name`) brought for its agents; omitted: no pack did. */
  readonly mcpOfPack?: (pack: string) => McpServers | undefined
}

export interface EffectParts {
  readonly journal: RunJournal
  readonly permission: Permission
  readonly budget: Budget
  readonly signal: AbortSignal
  readonly meter: Meter
  readonly events: RunServices['events']
  readonly onEffect: EffectsOptions['onEffect'] & {}
  readonly hooks: readonly EffectHook[]
  readonly approver?: EffectsOptions['approver'] | undefined
  /** How long an approval request may stay open; undefined: indefinitely. */
  readonly approvalMs?: number | undefined
  /** Called with questions that cannot be answered now. */
  readonly onWaiting?: ApprovalOptions['onWaiting']
  /** What the user allowed before the run started; omitted: nothing. */
  readonly granted?: readonly Grant[] | undefined
  /** Undefined: a new run. */
  readonly past: PreviousAttempts | undefined
  readonly onRepeat: ResumeOptions['onRepeat']
}

/** The effects of one run: recorded, and answered from its record if it is resumed. */
export function createRunEffects({
  meter,
  events,
  past,
  onRepeat,
  approvalMs,
  granted = [],
  ...parts
}: EffectParts): Effects {
  const { places, grants } = past?.approvals ?? { places: [], grants: [] }
  const approvals = {
    before: { places, grants: [...granted, ...grants] },
    limitMs: approvalMs,
    events,
    onWaiting: parts.onWaiting,
  }
  const live = createEffects({ ...parts, approvals, onSpent: countUsage(meter, events) })
  return past?.around(live, { onRepeat, onRecall: meter.recall, events }) ?? live
}

/** Counts the usage of each model call, and reports it together with the total of the run. */
export function countUsage(meter: Meter, events: RunServices['events']): EffectsOptions['onSpent'] {
  return (at, spent) => {
    const { usage: total, costUsd: totalCost } = meter.add(at, spent)
    const { model, usage: call, costUsd } = spent
    events(openerOf(at), { type: 'usage', model, call, total, cost_usd: costUsd, total_cost_usd: totalCost })
  }
}

/** Events that are shown again if the boundary they were sent in is reused. */
const shown: ReadonlySet<EventBody['type']> = new Set([
  'print',
  'pin',
  'label',
  'changes.left_out',
  'isolation.applied',
  'isolation.left_out',
])

/** Sends events, and records those that a resumed run shows again. */
export function recordShown(
  journal: Pick<RunJournal, 'note'>,
  send: (at: Place, event: EventBody) => void,
): RunServices['events'] {
  return (at, event) => {
    if (shown.has(event.type)) journal.note({ k: 'show', p: placeText(at), event })
    send(at, event)
  }
}
