import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { durationText } from '../data/format.ts'
import { iterationNumber, iterationRows } from '../data/iterations.ts'
import { durationOf, type Row } from '../data/row.ts'
import { StateBadge } from './state-badge.tsx'

interface IterationsTabProps {
  readonly rows: readonly Row[]
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The iterations of a run with their results. The one with the highest score is highlighted. */
export function IterationsTab({ rows, version, now }: IterationsTabProps): VNode {
  const iterations = useMemo(() => iterationRows(rows), [rows, version])
  const scores = iterations.flatMap(({ score }) => (score === undefined ? [] : [score]))
  const best = Math.max(...scores)
  const least = Math.min(0, ...scores)
  return (
    <table class="iterations">
      <thead>
        <tr>
          <th scope="col" class="number">
            #
          </th>
          <th scope="col">State</th>
          <th scope="col">Description</th>
          {scores.length > 0 && <th scope="col">Score</th>}
          <th scope="col" class="number">
            Duration
          </th>
        </tr>
      </thead>
      <tbody>
        {iterations.map((row) => (
          <tr key={row.n} class={row.score === best && scores.length > 1 ? 'best' : ''}>
            <td class="number">{iterationNumber(row)}</td>
            <td>
              <StateBadge state={row.state} />
            </td>
            <td>{row.text}</td>
            {scores.length > 0 && <ScoreCell score={row.score} least={least} best={best} />}
            <td class="number">{durationText(durationOf(row, now))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface ScoreCellProps {
  readonly score: number | undefined
  readonly least: number
  readonly best: number
}

function ScoreCell({ score, least, best }: ScoreCellProps): VNode {
  if (score === undefined) return <td>–</td>
  const width = best === least ? 100 : (100 * (score - least)) / (best - least)
  return (
    <td class="score">
      <span class="score-bar" aria-hidden="true" style={{ width: `${width * 0.7}%` }} />
      {score}
    </td>
  )
}
