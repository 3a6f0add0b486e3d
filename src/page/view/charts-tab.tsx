import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import {
  type AgentUsage,
  axisValues,
  tokensOf,
  usageByAgent,
  usageOverTime,
  type UsagePoint,
} from '../data/chart-data.ts'
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
/** With more calls, points would hide the line. */
const mostDots = 40

/** A total that rises when a call ends, with axes; few calls are points. */
function Curve({ points, valueOf, textOf, name }: CurveProps): VNode {
  const [begin, last] = [points[0], points.at(-1)]
  if (begin === undefined || last === undefined || valueOf(last) === 0) return <p class="empty">No {name} yet.</p>
  const span = Math.max(1, last.time - begin.time)
  const marks = axisValues(valueOf(last))
  const most = marks.at(-1) ?? 1
  const places = points.map((point) => ({
    x: Number(((width * (point.time - begin.time)) / span).toFixed(1)),
    y: Number((height - (height * valueOf(point)) / most).toFixed(1)),
  }))
  const line = `M0,${height}${places.map(({ x, y }) => `H${x}V${y}`).join('')}`
  const dots = places.length > mostDots ? [] : places.slice(1)
  return (
    <figure class="curve">
      <div class="plot">
        <div class="y-axis" aria-hidden="true">
          {marks.map((mark) => (
            <span key={mark} style={{ bottom: `${(100 * mark) / most}%` }}>
              {textOf(mark)}
            </span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Total ${name} over time: ${textOf(valueOf(last))} after ${durationText(span)}`}
        >
          {marks.map((mark) => (
            <path key={mark} class="grid-line" d={`M0,${height - (height * mark) / most}H${width}`} />
          ))}
          <path class="area" d={`${line}V${height}Z`} />
          <path class="line" d={line} />
          {dots.map(({ x, y }, index) => (
            // a line without length is a round point, however the chart is stretched
            <path key={index} class="dot" d={`M${x},${y}h0`} />
          ))}
        </svg>
      </div>
      <div class="x-axis" aria-hidden="true">
        <span>0 s</span>
        <span>{durationText(span / 2)}</span>
        <span>{durationText(span)}</span>
      </div>
      <figcaption>
        {textOf(valueOf(last))} after {durationText(span)}
      </figcaption>
    </figure>
  )
}
