import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { whenText } from '../data/format.ts'
import { everyRun } from '../data/run-list.ts'
import { fetchFile, fetchRun, startRun, wrongFields } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { RunSummary } from '../live/wire.ts'
import { hashOf, type Route } from '../route.ts'
import { FileReport } from './file-report.tsx'
import { Loading } from './loading.tsx'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { useNotice } from './notice.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'

interface FileViewProps {
  readonly path: string
  readonly go: (route: Route) => void
}

/** A prompt file next to the answers of its last run. */
export function FileView({ path, go }: FileViewProps): VNode {
  const [loaded] = useLoaded(path, () => fetchFile(path))
  const [isStarting, setStarting] = useState(false)
  const { complain } = useNotice()

  async function run(): Promise<void> {
    setStarting(true)
    try {
      const { id } = await startRun({ file: path })
      go({ kind: 'run', id, tab: 'answer' })
    } catch (error) {
      // it needs values
      if (wrongFields(error).size > 0) return go({ kind: 'new', file: path, from: '' })
      complain(error)
      setStarting(false)
    }
  }

  return (
    <section class="view scroll" aria-label={`Prompt file ${path}`}>
      <div class="title">
        <button
          type="button"
          class="quiet back"
          aria-label="Back to prompt files"
          onClick={() => go({ kind: 'files' })}
        >
          ←
        </button>
        <h1>{path}</h1>
        <button type="button" class="primary" disabled={isStarting} onClick={() => void run()}>
          Run
        </button>
        <a class="button" href={hashOf({ kind: 'new', file: path, from: '' })}>
          Run with…
        </a>
        <a href={hashOf({ kind: 'runs', filter: { ...everyRun, file: path } })}>All runs</a>
      </div>
      <Loading loaded={loaded}>
        {({ text, last }) => (
          <div class="sides file-sides">
            <article class="side" aria-label="Prompt file">
              <h2>Prompt file</h2>
              <LongText text={text} />
            </article>
            <article class="side" aria-label="Last answer">
              {last === null ? <p class="empty">Not run yet.</p> : <LastAnswer run={last} />}
            </article>
          </div>
        )}
      </Loading>
      <FileReport path={path} />
    </section>
  )
}

function LastAnswer({ run }: { readonly run: RunSummary }): VNode {
  const [loaded] = useLoaded(run.id, () => fetchRun(run.id))
  return (
    <>
      <h2>
        <a href={hashOf({ kind: 'run', id: run.id, tab: 'answer' })}>Last run, {whenText(run.started)}</a>{' '}
        <StateBadge state={stateOf(run)} />
      </h2>
      <Loading loaded={loaded}>
        {({ answers }) => (
          <>
            {answers.length === 0 && <p class="empty">No answer.</p>}
            {answers.map(({ label, text }, index) => (
              <section key={index}>
                {label !== '' && <h3>{label}</h3>}
                <Markdown text={text} />
              </section>
            ))}
          </>
        )}
      </Loading>
    </>
  )
}
