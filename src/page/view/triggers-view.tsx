import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { numberOf, whenText } from '../data/format.ts'
import { fetchTriggers, startTrigger } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { TriggerState } from '../live/wire.ts'
import { hashOf, type Route } from '../route.ts'
import { Loading } from './loading.tsx'
import { useNotice } from './notice.tsx'
import { StateBadge } from './state-badge.tsx'

interface TriggersViewProps {
  readonly go: (route: Route) => void
}

/** Milliseconds between looks at the triggers. */
const lookMs = 3_000

/** The triggers of the workspace with their last and next start. */
export function TriggersView({ go }: TriggersViewProps): VNode {
  const [loaded, again] = useLoaded('triggers', fetchTriggers)
  const { say, complain } = useNotice()
  useEffect(() => {
    const timer = setInterval(again, lookMs)
    return () => clearInterval(timer)
  }, [again])

  async function start(name: string): Promise<void> {
    try {
      const { state, id, message } = await startTrigger(name)
      if (id !== undefined) go({ kind: 'run', id, tab: 'answer' })
      else if (state === 'queued') say('It starts when the run in progress has ended.')
      else complain(new Error(message ?? state))
    } catch (error) {
      complain(error)
    }
    again()
  }

  return (
    <section class="view scroll" aria-label="Triggers">
      <h1 class="hidden">Triggers</h1>
      <Loading loaded={loaded}>
        {({ triggers, problem }) => (
          <>
            {problem !== null && (
              <p class="problem" role="status">
                {problem}
              </p>
            )}
            {triggers.length === 0 ? (
              <p class="empty">
                No triggers for this workspace. A <code>[[trigger]]</code> of your config file starts a prompt file at
                certain times, when files change, or by a webhook. It is followed as soon as the file is saved.
              </p>
            ) : (
              <ul class="triggers">
                {triggers.map((trigger) => (
                  <Trigger key={trigger.name} trigger={trigger} onStart={() => void start(trigger.name)} />
                ))}
              </ul>
            )}
          </>
        )}
      </Loading>
    </section>
  )
}

const kinds = { cron: 'at', files: 'files', webhook: 'webhook' } as const

function Trigger({ trigger, onStart }: { readonly trigger: TriggerState; readonly onStart: () => void }): VNode {
  const { name, file, kind, when, state, problem, next, waiting, running, last, overlap, origin } = trigger
  return (
    <li aria-label={`Trigger ${name}`}>
      <div class="trigger-title">
        <h2>{name}</h2>
        <StateBadge state={state} />
        {waiting > 0 && <span class="about">{waiting} waiting</span>}
        <button
          type="button"
          aria-label={`Start ${name}`}
          disabled={running.length > 0 && overlap === 'skip'}
          onClick={onStart}
        >
          Start
        </button>
      </div>
      <p>
        {kinds[kind]} <code>{when}</code> → <a href={hashOf({ kind: 'file', path: file })}>{file}</a>{' '}
        <span class="about" title="Where it is written">
          {origin}
        </span>
      </p>
      {problem !== null && <p class="problem">{problem}</p>}
      <dl class="facts">
        <div>
          <dt>Next</dt>
          <dd>{next === null ? '–' : <time dateTime={next}>{whenText(next)}</time>}</dd>
        </div>
        <div>
          <dt>Last</dt>
          <dd>
            <LastStart trigger={trigger} />
          </dd>
        </div>
        {running.some((id) => id !== last?.run) && (
          <div>
            <dt>{state === 'waiting' ? 'Waits for you' : `${numberOf(running.length, 'run')} in progress`}</dt>
            <dd>
              {running.map((id) => (
                <a key={id} href={hashOf({ kind: 'run', id, tab: 'answer' })}>
                  {id}
                </a>
              ))}
            </dd>
          </div>
        )}
      </dl>
    </li>
  )
}

const causes = {
  cron: 'on time',
  missed: 'made up for a missed time',
  files: 'by',
  webhook: 'by a webhook',
  hand: 'by hand',
} as const

function LastStart({ trigger: { last } }: { readonly trigger: TriggerState }): VNode {
  if (last === null) return <>–</>
  const { at, cause, about, outcome, run, status, message } = last
  const how = cause === 'cron' || about === '' ? causes[cause] : `${causes[cause]} ${about}`
  return (
    <>
      <time dateTime={at}>{whenText(at)}</time> {how}
      {': '}
      {run === null ? (
        <>
          {outcome}
          {message === null ? '' : `, ${message}`}
        </>
      ) : (
        <>
          <a href={hashOf({ kind: 'run', id: run, tab: 'answer' })}>run {run}</a>{' '}
          {status !== null && <StateBadge state={status} />}
        </>
      )}
    </>
  )
}
