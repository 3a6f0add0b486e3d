import type { VNode } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { numberOf } from '../data/format.ts'
import { splitDiff } from '../data/split-diff.ts'
import { fetchChanges, undoRun } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { FileDiff } from '../live/wire.ts'
import type { Route } from '../route.ts'
import { ConfirmButton } from './confirm-button.tsx'
import { DiffTable } from './diff-table.tsx'
import { Loading } from './loading.tsx'
import { useNotice } from './notice.tsx'

interface ChangesTabProps {
  readonly run: string
  /** Of the run: what it changed is asked for again when it changes. */
  readonly status: string
  readonly go: (route: Route) => void
}

/** What a run has changed in files, side by side, and the way back. */
export function ChangesTab({ run, status, go }: ChangesTabProps): VNode {
  const [loaded, again] = useLoaded(run, () => fetchChanges(run))
  const { complain } = useNotice()
  useEffect(again, [status])
  const undo = (paths?: readonly string[]): void => {
    undoRun(run, paths).then(({ id }) => go({ kind: 'run', id, tab: 'changes' }), complain)
  }
  const canUndo = status !== 'running'
  return (
    <Loading loaded={loaded}>
      {(changes) =>
        changes.length === 0 ? (
          <p class="empty">The run {canUndo ? 'changed' : 'has changed'} no files.</p>
        ) : (
          <div class="changes">
            <div class="toolbar small">
              <span>{numberOf(changes.length, 'file')}</span>
              {canUndo && (
                <ConfirmButton
                  label={`Undo ${changes.length === 1 ? 'it' : 'all'}`}
                  question={`Put back ${numberOf(changes.length, 'file')}?`}
                  onConfirm={() => undo()}
                />
              )}
            </div>
            {changes.map((change) => (
              <ChangedFile key={change.path} change={change} canUndo={canUndo} onUndo={() => undo([change.path])} />
            ))}
          </div>
        )
      }
    </Loading>
  )
}

interface ChangedFileProps {
  readonly change: FileDiff
  readonly canUndo: boolean
  readonly onUndo: () => void
}

function ChangedFile({ change, canUndo, onUndo }: ChangedFileProps): VNode {
  const { path, kind, from, diff } = change
  const { added, removed } = useMemo(() => splitDiff(diff), [diff])
  return (
    <article class="changed-file" aria-label={`${path}, ${kind}`}>
      <div class="panel-head">
        <h2>
          <span class={`tag ${kind}`}>{kind}</span> {path}
          {from !== undefined && <span class="about"> from {from}</span>}
        </h2>
        <span class="counts">
          <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
        </span>
        {canUndo && <ConfirmButton label="Undo" question={`Put back ${path}?`} onConfirm={onUndo} />}
      </div>
      <DiffTable diff={diff} />
    </article>
  )
}
