import type { VNode } from 'preact'
import { chartOf, type RunPoint } from '../data/file-history.ts'
import { costText, countText, durationText, numberOf, whenText } from '../data/format.ts'
import { useState } from 'preact/hooks'
import { fetchFilePlan, fetchFileRuns, fetchFileTests, runFileTests } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { FilePlan, FileRun, FileTests } from '../live/wire.ts'
import { hashOf } from '../route.ts'
import { Loading } from './loading.tsx'
import { useNotice } from './notice.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'

/** What is known of a prompt file: its plan with its price, its tests, and its runs over time. */
export function FileReport({ path }: { readonly path: string }): VNode {
  const [runs] = useLoaded(`runs of ${path}`, () => fetchFileRuns(path))
  const [plan] = useLoaded(`plan of ${path}`, () => fetchFilePlan(path))
  const [tests, again] = useLoaded(`tests of ${path}`, () => fetchFileTests(path))
  return (
    <div class="file-report">
      <section aria-label="Runs">
        <h2>Runs</h2>
        <Loading loaded={runs}>{(all) => <Runs runs={all} />}</Loading>
      </section>
      <section aria-label="Plan">
        <h2>Plan</h2>
        <Loading loaded={plan}>{(found) => <Plan found={found} />}</Loading>
      </section>
      <section aria-label="Tests">
        <h2>Tests</h2>
        <Loading loaded={tests}>{(found) => <Tests found={found} path={path} again={again} />}</Loading>
      </section>
    </div>
  )
}

const charts = [
  { name: 'Score', valueOf: ({ score }: RunPoint) => score, textOf: String },
  { name: 'Cost', valueOf: ({ cost_usd: usd }: RunPoint) => usd, textOf: costText },
  { name: 'Duration', valueOf: ({ duration_ms: ms }: RunPoint) => ms, textOf: durationText },
] as const

/** How many runs are listed below the charts. */
const mostListed = 12

function Runs({ runs }: { readonly runs: readonly FileRun[] }): VNode {
  if (runs.length === 0) return <p class="empty">Not run yet.</p>
  return (
    <>
      <div class="charts">
        {charts.map((chart) => (
          <Chart key={chart.name} runs={runs} {...chart} />
        ))}
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">State</th>
            {runs.some(({ score }) => score !== null) && (
              <th scope="col" class="number">
                Score
              </th>
            )}
            <th scope="col" class="number">
              Cost
            </th>
            <th scope="col" class="number">
              Duration
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.slice(0, mostListed).map((run) => (
            <tr key={run.id}>
              <td>
                <a href={hashOf({ kind: 'run', id: run.id, tab: 'answer' })}>{whenText(run.started)}</a>
              </td>
              <td>
                <StateBadge state={stateOf(run)} />
              </td>
              {runs.some(({ score }) => score !== null) && <td class="number">{run.score ?? '–'}</td>}
              <td class="number">{costText(run.cost_usd)}</td>
              <td class="number">{durationText(run.duration_ms)}</td>
            </tr>
          ))}
        </tbody>
        {runs.length > mostListed && (
          <caption>{numberOf(runs.length - mostListed, 'earlier run')} in the charts</caption>
        )}
      </table>
    </>
  )
}

interface ChartProps {
  readonly runs: readonly FileRun[]
  readonly name: string
  readonly valueOf: (run: RunPoint) => number | null
  readonly textOf: (value: number) => string
}

const [width, height] = [300, 100]

function Chart({ runs, name, valueOf, textOf }: ChartProps): VNode | null {
  const chart = chartOf(runs, valueOf)
  if (chart === undefined) return null
  const { bars, least, most } = chart
  const step = Math.min(24, width / bars.length)
  const last = bars.at(-1)?.value ?? 0
  return (
    <section>
      <h3>{name}</h3>
      <figure class="curve bars">
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${name} of ${numberOf(bars.length, 'run')}, from ${textOf(least)} to ${textOf(most)}; the last: ${textOf(last)}`}
        >
          {bars.map(({ id, started, value, height: share }, index) => (
            <g key={id}>
              <title>{`${whenText(started)}: ${textOf(value)}`}</title>
              <rect x={index * step} y={0} width={step} height={height} class="space" />
              <rect
                x={index * step}
                y={height - Math.max(1, share * height)}
                width={Math.max(1, step - 2)}
                height={Math.max(1, share * height)}
              />
            </g>
          ))}
        </svg>
        <figcaption>
          <span>
            last <strong>{textOf(last)}</strong>
          </span>
          <span>highest {textOf(most)}</span>
        </figcaption>
      </figure>
    </section>
  )
}

const rows = [
  { key: 'as_written', name: 'as written' },
  { key: 'at_least', name: 'at least' },
  { key: 'at_most', name: 'at most' },
] as const

function Plan({ found: { plan, problem } }: { readonly found: FilePlan }): VNode {
  if (plan === null) return <p class="problem">{problem}</p>
  const { total, asks, open, notes, target } = plan
  const { requests, input_tokens: input, output_tokens: output, usd } = total
  const text = (value: number | null, write: (value: number) => string): string =>
    value === null ? 'no limit' : write(value)
  const tasks = target.tasks?.list.length
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">{tasks === undefined ? '' : numberOf(tasks, 'task')}</th>
            {['Requests', 'Tokens in', 'Tokens out', 'Cost'].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name }) => (
            <tr key={key}>
              <th scope="row">{name}</th>
              <td class="number">{text(requests[key], countText)}</td>
              <td class="number">{text(input[key], countText)}</td>
              <td class="number">{text(output[key], countText)}</td>
              <td class="number">{text(usd[key], costText)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <ul class="notes">
        {asks.map(({ model, requests: asked, usd: price }) => (
          <li key={model}>
            <code>{model}</code>: {numberOf(asked.as_written, 'request')},{' '}
            {price === null ? 'no known price' : costText(price.as_written)}
          </li>
        ))}
        {total.unpriced.length > 0 && <li>Not included in the cost: {total.unpriced.join(', ')}</li>}
        {open.map(({ by, what }) => (
          <li key={by}>
            decided by {by}: {what.join(', ')}
          </li>
        ))}
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </>
  )
}

interface TestsProps {
  readonly found: FileTests
  readonly path: string
  /** Reads the results again. */
  readonly again: () => void
}

function Tests({ found: { tests, problem }, path, again }: TestsProps): VNode {
  const [isRunning, setRunning] = useState(false)
  const { say, complain } = useNotice()

  async function run(): Promise<void> {
    setRunning(true)
    try {
      const { tests: ran } = await runFileTests(path)
      const failed = ran.filter(({ result }) => result?.passed !== true).length
      say(
        failed === 0
          ? `${numberOf(ran.length, 'test')} passed.`
          : `${failed} of ${numberOf(ran.length, 'test')} failed.`,
      )
    } catch (error) {
      complain(error)
    }
    setRunning(false)
    again()
  }

  if (problem !== null) return <p class="problem">{problem}</p>
  if (tests.length === 0)
    return (
      <p class="empty">
        No tests. A <code>[[test]]</code> in the file is one.
      </p>
    )
  return (
    <>
      <ul class="tests">
        {tests.map(({ name, result }) => (
          <li key={name}>
            <StateBadge state={result === null ? 'not run' : result.passed ? 'passed' : 'failed'} /> {name}{' '}
            {result !== null && (
              <span class="about">
                {whenText(result.at)}, {durationText(result.ms)}, {costText(result.cost_usd)}
                {result.isOld ? '; the file has changed since' : ''}
              </span>
            )}
            {result?.failures.map((failure, index) => (
              <pre key={index}>{failure}</pre>
            ))}
          </li>
        ))}
      </ul>
      <p class="about">
        <button type="button" disabled={isRunning} onClick={() => void run()}>
          {isRunning ? 'Running…' : 'Run the tests'}
        </button>{' '}
        They call no model, and cost nothing.
      </p>
    </>
  )
}
