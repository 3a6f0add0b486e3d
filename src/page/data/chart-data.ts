import { parsePlace, type Place } from '../../event/place.ts'
import { isModelCall, type Row } from './row.ts'

/** The number, tokens and cost of model calls. */
export interface Usage {
  readonly calls: number
  readonly input: number
  readonly output: number
  /** Cost in US dollars of the calls with a known price. */
  readonly usd: number
}

export interface AgentUsage extends Usage {
  readonly name: string
}

/** The total usage up to a time in milliseconds since 1970. */
export interface UsagePoint {
  readonly time: number
  readonly tokens: number
  readonly usd: number
}

const nothing: Usage = { calls: 0, input: 0, output: 0, usd: 0 }

/** The usage of each agent, most tokens first. */
export function usageByAgent(rows: readonly Row[]): readonly AgentUsage[] {
  const byName = new Map<string, Usage>()
  for (const row of rows) {
    if (!isModelCall(row)) continue
    const name = agentAt(parsePlace(row.place))
    byName.set(name, plus(byName.get(name) ?? nothing, row))
  }
  const all = [...byName].map(([name, usage]) => ({ name, ...usage }))
  return all.toSorted((one, other) => tokensOf(other) - tokensOf(one))
}

export function tokensOf({ input, output }: Usage): number {
  return input + output
}

function plus({ calls, input, output, usd }: Usage, row: Row): Usage {
  return {
    calls: calls + 1,
    input: input + (row.input ?? 0),
    output: output + (row.output ?? 0),
    usd: usd + (row.usd ?? 0),
  }
}

/** The name of the innermost agent, step or member around a place. */
function agentAt(place: Place): string {
  for (const segment of place.toReversed()) {
    switch (segment.kind) {
      case 'step':
      case 'agent':
      case 'member':
        return segment.name
      case 'workflow_step':
        return segment.id
      case 'conversation': {
        const name = agentAt(segment.opened)
        if (name !== mainAgent) return name
        break
      }
      default:
    }
  }
  return mainAgent
}

const mainAgent = 'main agent'

/**
 * Total usage over time, from nothing when the first call begins, in about `most` points: every n-th call that has
 * ended.
 */
export function usageOverTime(rows: readonly Row[], most = 200): readonly UsagePoint[] {
  const ended = rows
    .filter((row) => isModelCall(row) && row.end !== undefined)
    .toSorted((one, other) => (one.end ?? 0) - (other.end ?? 0))
  let [tokens, usd] = [0, 0]
  const points = ended.map((row): UsagePoint => {
    tokens += (row.input ?? 0) + (row.output ?? 0)
    usd += row.usd ?? 0
    return { time: row.end ?? row.start, tokens, usd }
  })
  if (ended.length === 0) return []
  const step = Math.max(1, Math.ceil(points.length / most))
  const shown = points.filter((_, index) => index % step === 0 || index === points.length - 1)
  return [{ time: ended.reduce((least, { start }) => Math.min(least, start), Infinity), tokens: 0, usd: 0 }, ...shown]
}

/** Round values from 0 to at least `most`, for an axis. */
export function axisValues(most: number): readonly number[] {
  if (!(most > 0)) return [0]
  const rough = most / mostSteps
  const unit = 10 ** Math.floor(Math.log10(rough))
  const step = unit * ([1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough * (1 - 1e-9)) ?? 10)
  const count = Math.ceil(most / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

const mostSteps = 4
