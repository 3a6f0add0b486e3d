import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { costText, countText, durationText } from '../data/format.ts'
import { fetchPlace } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { PlaceView } from '../live/wire.ts'
import { Loading } from './loading.tsx'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { StateBadge } from './state-badge.tsx'

interface PlacePanelProps {
  readonly run: string
  readonly place: string
  /** Version of the rows. A part in progress is fetched again when it changes. */
  readonly version: number
  readonly onClose: () => void
}

/** The details of a part of a run: its inputs and outputs. */
export function PlacePanel({ run, place, version, onClose }: PlacePanelProps): VNode {
  const [loaded, again] = useLoaded(`${run} ${place}`, () => fetchPlace(run, place))
  const panel = useRef<HTMLElement>(null)
  const isOpen = loaded.kind === 'here' && loaded.value.part.status === 'unfinished'
  useEffect(() => {
    if (isOpen) again()
  }, [version])
  useEffect(() => panel.current?.focus(), [place])
  return (
    <aside
      ref={panel}
      class="place-panel"
      aria-label={`Details of ${place}`}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      <div class="panel-head">
        <h2>
          <code>{place}</code>
        </h2>
        <button type="button" class="quiet" aria-label="Close details" onClick={onClose}>
          ×
        </button>
      </div>
      <Loading loaded={loaded}>{(value) => <PlaceDetails view={value} />}</Loading>
    </aside>
  )
}

function PlaceDetails({ view: { part, details } }: { readonly view: PlaceView }): VNode {
  const { kind, text, status, duration_ms: took, calls, tokens, cost_usd: cost, error } = part
  return (
    <div class="details">
      <p class="about">
        <span class="tag">{kind}</span> {text} <StateBadge state={status} />
      </p>
      <p class="about">
        {[
          ...(took === null ? [] : [durationText(took)]),
          ...(calls === 0
            ? []
            : [
                `${calls} model call${calls === 1 ? '' : 's'}`,
                `${countText(tokens.input)} / ${countText(tokens.output)} tokens`,
                costText(cost),
              ]),
        ].join(' · ')}
      </p>
      {error !== null && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {details.slice(0, mostDetails).map(({ place, title, text: content }, index) => (
        <section key={index} class="detail">
          <h3>
            {title} {place !== part.place && <code>{place}</code>}
          </h3>
          {title === 'answer' ? <Markdown text={content} /> : <LongText text={content} />}
        </section>
      ))}
      {details.length === 0 && <p class="empty">No details recorded.</p>}
      {details.length > mostDetails && <p class="about">{details.length - mostDetails} more in the parts below.</p>}
    </div>
  )
}

const mostDetails = 50
