import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { type AgentUsage, tokensOf, usageByAgent, usageOverTime, type UsagePoint } from '../data/chart-data.ts'
import { costText, countText, durationText, numberOf } from '../data/format.ts'
import type { Row } from '../data/row.ts'

interface ChartsTabProps {
  readonly rows: readonly Row[]
  readonly version: number
}

/** Tokens and cost of a run's model calls, by agent and over time. */
export function ChartsTab({ rows, version }: ChartsTabProps): VNode {
  const agents = useMemo(() => usageByAgent(rows), [rows, version])
  const points = useMemo(() => usageOverTime(rows), [rows, version])
  if (agents.length === 0) return <p class="empty">No model calls.</p>
  return (
    <div class="charts">
      <section>
        <h2>Tokens and cost by agent</h2>
        <AgentBars agents={agents} />
      </section>
      <section>
        <h2>Tokens over time</h2>
        <Curve points={points} valueOf={({ tokens }) => tokens} textOf={countText} name="tokens" />
      </section>
      <section>
        <h2>Cost over time</h2>
        <Curve points={points} valueOf={({ usd }) => usd} textOf={costText} name="cost" />
      </section>
    </div>
  )
}

const mostAgents = 30

function AgentBars({ agents }: { readonly agents: readonly AgentUsage[] }): VNode {
  const most = Math.max(1, ...agents.map(tokensOf))
  return (
    <table class="agent-bars">
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">Input and output tokens</th>
          <th scope="col" class="number">
            Tokens
          </th>
          <th scope="col" class="number">
            Cost
          </th>
          <th scope="col" class="number">
            Calls
          </th>
        </tr>
      </thead>
      <tbody>
        {agents.slice(0, mostAgents).map((agent) => (
          <tr key={agent.name}>
            <th scope="row">{agent.name}</th>
            <td>
              <span class="stack" aria-hidden="true">
                <span class="input" style={{ width: `${(100 * agent.input) / most}%` }} />
                <span class="output" style={{ width: `${(100 * agent.output) / most}%` }} />
              </span>
            </td>
            <td class="number" title={`${agent.input} in, ${agent.output} out`}>
              {countText(tokensOf(agent))}
            </td>
            <td class="number">{costText(agent.usd)}</td>
            <td class="number">{agent.calls}</td>
          </tr>
        ))}
      </tbody>
      {agents.length > mostAgents && (
        <caption>{numberOf(agents.length - mostAgents, 'more agent')} with fewer tokens</caption>
      )}
    </table>
  )
}

interface CurveProps {
  readonly points: readonly UsagePoint[]
  readonly valueOf: (point: UsagePoint) => number
  readonly textOf: (value: number) => string
  readonly name: string
}

const [width, height] = [600, 140]

function Curve({ points, valueOf, textOf, name }: CurveProps): VNode {
  const [begin, last] = [points[0], points.at(-1)]
  if (begin === undefined || last === undefined || valueOf(last) === 0) return <p class="empty">No {name} yet.</p>
  const span = Math.max(1, last.time - begin.time)
  const at = (point: UsagePoint): string => {
    const y = height - (height * valueOf(point)) / valueOf(last)
    return `${((width * (point.time - begin.time)) / span).toFixed(1)},${y.toFixed(1)}`
  }
  const line = points.map(at).join(' ')
  return (
    <figure class="curve">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Total ${name} over time: ${textOf(valueOf(last))} after ${durationText(span)}`}
      >
        <polygon points={`0,${height} ${line} ${width},${height}`} />
        <polyline points={line} />
      </svg>
      <figcaption>
        <span>0</span>
        <span>{durationText(span)}</span>
        <strong>{textOf(valueOf(last))}</strong>
      </figcaption>
    </figure>
  )
}
