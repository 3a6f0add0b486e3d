import type { VNode } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { isActive } from '../../journal/summary.ts'
import { costText, durationText, numberOf } from '../data/format.ts'
import { fitsFilter, type RowFilter } from '../data/row-filter.ts'
import { durationOf, type Row } from '../data/row.ts'
import type { LiveTexts } from '../data/live-texts.ts'
import type { RunDetail } from '../live/wire.ts'
import { FilterSelect } from './filter-select.tsx'
import { LiveText } from './live-text.tsx'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { StateBadge } from './state-badge.tsx'
import { LiveSteps } from './steps.tsx'
import { useFollowEnd } from './use-follow-end.ts'
import { type GridRow, VirtualGrid } from './virtual-grid.tsx'

interface AnswersTabProps {
  readonly detail: RunDetail
  readonly texts: LiveTexts
  readonly rows: readonly Row[]
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly onPlace: (place: string) => void
}

/** With more tasks, their answers are not shown below each other but one by one. */
const mostTasks = 20

/** The answers of a run, or the list of its tasks. */
export function AnswersTab({ rows, version, now, onPlace, ...rest }: AnswersTabProps): VNode {
  const tasks = useMemo(() => lastTasks(rows), [rows, version])
  const { done, failed, skipped } = rest.detail.run.tasks
  if (Math.max(tasks.length, done + failed + skipped) <= mostTasks)
    return <Answers {...rest} rows={rows} version={version} isOne={tasks.length <= 1} />
  return <TaskList tasks={tasks} version={version} now={now} onPlace={onPlace} />
}

/** The tasks of the last round or iteration. */
function lastTasks(rows: readonly Row[]): readonly Row[] {
  const tasks = rows.filter(({ kind }) => kind === 'task')
  const round = tasks.at(-1)?.place.replace(/\d+$/, '')
  return tasks.filter(({ place }) => place.replace(/\d+$/, '') === round)
}

/** The answers of a run, those in progress, and its prompt. */
interface AnswersProps extends Pick<AnswersTabProps, 'detail' | 'texts' | 'rows' | 'version'> {
  /** Whether there is one task at most, so that its steps are shown, too. */
  readonly isOne: boolean
}

function Answers({ detail, texts, rows, version, isOne }: AnswersProps): VNode {
  const { answers, run, text, prompt_file: file } = detail
  const content = useRef<HTMLDivElement>(null)
  useFollowEnd(content, isActive(run.status))
  const isEmpty = answers.length === 0 && texts.size === 0
  return (
    <div ref={content} class="answers">
      {isEmpty && <p class="empty">{isActive(run.status) ? 'No answer yet.' : 'This run has no answer.'}</p>}
      {answers.map(({ label, text: answer }, index) => (
        <article key={index} class="answer" aria-label={label === '' ? 'Answer' : `Answer for ${label}`}>
          {label !== '' && <h2>{label}</h2>}
          <Markdown text={answer} />
        </article>
      ))}
      {isOne && isActive(run.status) ? (
        <article class="answer writing" aria-label="Answer in progress" aria-busy="true">
          <LiveSteps run={run.id} rows={rows} version={version} texts={texts} />
        </article>
      ) : (
        [...texts].map(([place, written]) => (
          <article key={place} class="answer writing" aria-label="Answer in progress" aria-busy="true">
            <h2>
              <code>{place}</code> is writing…
            </h2>
            <LiveText text={written} />
          </article>
        ))
      )}
      {text !== null && text !== '' && (
        <details>
          <summary>{file === null ? 'Prompt' : `Prompt file ${file}`}</summary>
          <LongText text={text} />
        </details>
      )}
    </div>
  )
}

interface TaskListProps {
  /** The rows of the tasks. */
  readonly tasks: readonly Row[]
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly onPlace: (place: string) => void
}

/** Many tasks, as a list; each opens beside it with its answer. */
function TaskList({ tasks, version, now, onPlace }: TaskListProps): VNode {
  const [filter, setFilter] = useState<RowFilter>('all')
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase()
    return tasks.filter((row) => fitsFilter(row, filter) && nameOf(row).toLowerCase().includes(wanted))
  }, [tasks, version, filter, text])
  return (
    <>
      <div class="toolbar small">
        <input
          type="search"
          id="search"
          placeholder="Search tasks (/)"
          aria-label="Search tasks"
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setActive(0)
          }}
        />
        <FilterSelect
          filter={filter}
          onFilter={(chosen) => {
            setFilter(chosen)
            setActive(0)
          }}
        />
        <span class="count" role="status">
          {numberOf(shown.length, 'task')}
        </span>
      </div>
      {shown.length === 0 ? (
        <p class="empty">No such tasks.</p>
      ) : (
        <VirtualGrid
          label="Tasks"
          role="grid"
          className="tasks"
          count={shown.length}
          rowHeight={30}
          active={active}
          onActive={setActive}
          onOpen={(index) => onPlace(shown[index]?.place ?? '')}
          renderRow={(index): GridRow => {
            const row = shown[index]
            if (row === undefined) return { key: index, cells: null }
            return { key: row.n, cells: <TaskCells row={row} now={now} /> }
          }}
        />
      )}
    </>
  )
}

function nameOf({ text, place }: Row): string {
  return text === '' ? place : text
}

function TaskCells({ row, now }: { readonly row: Row; readonly now: number }): VNode {
  return (
    <div class="task-cells" role="presentation">
      <span role="gridcell">
        <StateBadge state={row.state} />
      </span>
      <span role="gridcell" class="name" title={row.place}>
        {nameOf(row)}
      </span>
      <span role="gridcell" class="number cost">
        {row.usd === undefined ? '' : costText(row.usd)}
      </span>
      <span role="gridcell" class="number took">
        {durationText(durationOf(row, now))}
      </span>
    </div>
  )
}
