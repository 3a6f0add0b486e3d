import type { VNode } from 'preact'
import { isActive } from '../../journal/summary.ts'
import { costText, countText, durationText, numberOf, splitPath, tasksText, whenText } from '../data/format.ts'
import { cancelRun, resumeRun, undoRun } from '../live/api.ts'
import type { BegunRun, RunDetail } from '../live/wire.ts'
import { hashOf, type Route } from '../route.ts'
import { ConfirmButton } from './confirm-button.tsx'
import { useNotice } from './notice.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'

/** The prompt file, if this workspace has a page of it. */
function pageOf({ prompt_file: file }: RunDetail): string | undefined {
  return file === null || file.startsWith('/') || file.startsWith('..') ? undefined : file
}

interface RunHeaderProps {
  readonly detail: RunDetail
  /** Milliseconds since 1970. */
  readonly now: number
  readonly reload: () => void
  readonly follow: () => void
  readonly go: (route: Route) => void
}

/** Status, figures and actions of a run. */
export function RunHeader({ detail, now, reload, follow, go }: RunHeaderProps): VNode {
  const { run, canResume, canUndo, owned, again, uncertain } = detail
  const { say, complain } = useNotice()
  const { folder, name } = splitPath(run.name ?? run.file)
  const page = pageOf(detail)
  const goesOn = isActive(run.status)
  const { done, failed, skipped } = run.tasks

  const act = (what: string, begun: Promise<BegunRun>, then: (id: string) => void): void => {
    begun.then(({ id }) => {
      say(what)
      then(id)
    }, complain)
  }
  const took = goesOn ? now - Date.parse(run.started) : run.duration_ms

  return (
    <header class="run-header">
      <div class="title">
        <button type="button" class="quiet back" aria-label="Back to runs" onClick={() => go({ kind: 'runs' })}>
          ←
        </button>
        <h1>
          {run.chat === undefined ? (
            <>
              {page === undefined ? name : <a href={hashOf({ kind: 'file', path: page })}>{name}</a>}{' '}
              <span class="folder">{folder}</span>
            </>
          ) : (
            run.name
          )}
        </h1>
        <StateBadge state={stateOf(run)} />
        {run.chat !== undefined && <a href={hashOf({ kind: 'conversation', id: run.chat.id })}>Conversation</a>}
        <span class="actions">
          {owned && goesOn && (
            <button type="button" onClick={() => act('Cancelling the run…', cancelRun(run.id), reload)}>
              Cancel
            </button>
          )}
          {canResume && uncertain.length === 0 && (
            <button type="button" class="primary" onClick={() => act('Run resumed.', resumeRun(run.id), follow)}>
              Resume
            </button>
          )}
          {again !== null && (
            <a class="button" href={hashOf({ kind: 'new', file: again.file ?? '', from: run.id })}>
              Run again…
            </a>
          )}
          {canUndo && (
            <ConfirmButton
              label="Undo"
              question="Undo all file changes of this run?"
              onConfirm={() =>
                act('File changes undone.', undoRun(run.id), (id) => go({ kind: 'run', id, tab: 'changes' }))
              }
            />
          )}
        </span>
      </div>
      <dl class="facts">
        <Fact name="Cost">{costText(run.cost_usd)}</Fact>
        <Fact name="Tokens">
          <span title="input / output">
            {countText(run.tokens.input)} / {countText(run.tokens.output)}
          </span>
        </Fact>
        <Fact name="Calls">{run.calls}</Fact>
        <Fact name="Duration">{durationText(took)}</Fact>
        <Fact name="Started">
          <time dateTime={run.started} title={run.started}>
            {whenText(run.started)}
          </time>
        </Fact>
        <Fact name="Model">{run.models.length === 0 ? '–' : run.models.join(', ')}</Fact>
        <Fact name="Tasks">{done + failed + skipped === 0 ? numberOf(0, 'task') : tasksText(run.tasks)}</Fact>
        <Fact name="Run">
          <code>{run.id}</code>
        </Fact>
      </dl>
      {run.status === 'interrupted' && (
        <p class="problem run-error">
          Its process has ended unexpectedly. What it has done is recorded
          {uncertain.length > 0
            ? ': it goes on when you have said what became of the calls below.'
            : canResume
              ? ': Resume goes on from there.'
              : '.'}
        </p>
      )}
      {run.error !== null && (
        <p class="problem run-error">
          {run.error}
          {run.error_place !== null && ` (${placeText(run.error_place)})`}
        </p>
      )}
    </header>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: VNode | string | number }): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function placeText({ file, line, column }: NonNullable<RunDetail['run']['error_place']>): string {
  return [file, line, column].filter((part) => part !== undefined).join(':')
}
