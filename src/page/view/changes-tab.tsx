import type { VNode } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { isActive } from '../../journal/summary.ts'
import { numberOf } from '../data/format.ts'
import { splitDiff } from '../data/split-diff.ts'
import { fetchChanges, undoRun } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { FileDiff, RunDetail } from '../live/wire.ts'
import type { Route } from '../route.ts'
import { ConfirmButton } from './confirm-button.tsx'
import { DiffTable } from './diff-table.tsx'
import { Loading } from './loading.tsx'
import { useNotice } from './notice.tsx'

interface ChangesTabProps {
  readonly run: string
  readonly detail: Pick<RunDetail, 'canUndo'>
  /** Status of the run. The changes are fetched again when it changes. */
  readonly status: RunDetail['run']['status']
  readonly go: (route: Route) => void
}

/** The file changes of a run as side-by-side diffs, with undo. */
export function ChangesTab({ run, detail, status, go }: ChangesTabProps): VNode {
  const [loaded, again] = useLoaded(run, () => fetchChanges(run))
  const { complain } = useNotice()
  useEffect(again, [status])
  const undo = (paths?: readonly string[]): void => {
    undoRun(run, paths).then(({ id }) => go({ kind: 'run', id, tab: 'changes' }), complain)
  }
  const { canUndo } = detail
  return (
    <Loading loaded={loaded}>
      {(changes) =>
        changes.length === 0 ? (
          <p class="empty">No files changed{isActive(status) ? ' yet.' : '.'}</p>
        ) : (
          <div class="changes">
            <div class="toolbar small">
              <span>{numberOf(changes.length, 'file')}</span>
              {canUndo && (
                <ConfirmButton
                  label="Undo all"
                  question={`Undo the changes to ${numberOf(changes.length, 'file')}?`}
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
  readonly canUndo?: boolean
  readonly onUndo?: () => void
}

/** One changed file as a diff. */
export function ChangedFile({ change, canUndo = false, onUndo = () => {} }: ChangedFileProps): VNode {
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
        {canUndo && <ConfirmButton label="Undo" question={`Undo the changes to ${path}?`} onConfirm={onUndo} />}
      </div>
      <DiffTable diff={diff} />
    </article>
  )
}
