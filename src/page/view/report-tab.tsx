import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { fetchReport, openReport } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { Loading } from './loading.tsx'
import { Markdown } from './markdown.tsx'
import { useNotice } from './notice.tsx'

interface ReportTabProps {
  readonly run: string
  /** Status of the run. The report is fetched again when it changes. */
  readonly status: string
}

/** What a run did, for somebody who was not there; the same as `baton report`. */
export function ReportTab({ run, status }: ReportTabProps): VNode {
  const [loaded, again] = useLoaded(run, () => fetchReport(run))
  const { complain } = useNotice()
  useEffect(again, [status])
  return (
    <>
      <div class="toolbar small">
        <button type="button" onClick={() => void openReport(run).catch(complain)}>
          Open as a page
        </button>
        <span class="about">
          in a terminal: <code>baton report {run}</code>
        </span>
      </div>
      <Loading loaded={loaded}>
        {(text) => (
          <div class="report">
            <Markdown text={text} />
          </div>
        )}
      </Loading>
    </>
  )
}
