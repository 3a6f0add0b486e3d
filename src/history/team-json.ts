import { tokenTotals } from '../journal/summary.ts'
import type { Exchange } from './team-exchanges.ts'
import type { Member, Team, Teams } from './team.ts'

/*
 * Teams for programs, as described in docs/runs.md: times in UTC, fields in snake_case.
 */

export interface TimelineJson {
  readonly run: string
  readonly teams: readonly { readonly members: readonly object[] }[]
  /** When no process worked on the run. */
  readonly breaks: readonly { readonly from: string; readonly to: string }[]
}

/** Who worked when in each team. */
export function timelineJson(run: string, { teams, pauses }: Teams): TimelineJson {
  return {
    run,
    teams: teams.map(({ members }) => ({ members: members.map(memberJson) })),
    breaks: pauses.map(({ last, next }) => ({ from: timeText(last), to: timeText(next) })),
  }
}

function memberJson({ id, name, role, label, place, from, depth, status, text, closed, spans, paid }: Member): object {
  const { calls, usd } = paid
  return {
    id,
    name,
    role,
    prompt: label,
    place,
    from,
    depth,
    status,
    text,
    closed,
    calls,
    tokens: tokenTotals(paid),
    cost_usd: usd,
    spans: spans.map(({ kind, from: begin, to, on, ended }) => ({
      kind,
      from: timeText(begin),
      to: to === null ? null : timeText(to),
      on,
      ended,
    })),
  }
}

/**
 * What was said in a team, one object per line. `place`: that of its leader, which distinguishes the teams of a run.
 */
export function exchangesJson({ members, exchanges }: Team): readonly object[] {
  const place = members[0]?.place ?? ''
  return exchanges.map((exchange) => ({ place, at: timeText(exchange.t), ...fieldsOf(exchange) }))
}

function fieldsOf(exchange: Exchange): object {
  const { t: _, ...fields } = exchange
  switch (fields.kind) {
    case 'message':
    case 'end': {
      const { told, ...others } = fields
      return { ...others, told: told === null ? null : timeText(told) }
    }
    case 'wait': {
      const { returnWhen: return_when, ...others } = fields
      return { ...others, return_when }
    }
    case 'waited': {
      const { timedOut: timed_out, ...others } = fields
      return { ...others, timed_out }
    }
    case 'spawn':
    case 'refused':
    case 'close':
    case 'notice':
      return fields
  }
}

function timeText(t: number): string {
  return new Date(t).toISOString()
}
