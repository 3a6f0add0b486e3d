import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type RunFilter, withOlder, withRun } from '../data/run-list.ts'
import { errorText, fetchRuns } from './api.ts'
import { listen, type StreamState } from './listen.ts'
import type { RunSummary } from './wire.ts'

export interface LiveRuns {
  readonly runs: readonly RunSummary[]
  readonly status: 'loading' | 'more' | 'all' | { readonly error: string }
  readonly stream: StreamState
  /** Call when the end of the list becomes visible. */
  readonly loadMore: () => void
}

const pageSize = 200

/** The runs that match a filter, loaded page by page, and new runs as they start. */
export function useRuns(filter: RunFilter): LiveRuns {
  const { text, state } = filter
  const [runs, setRuns] = useState<readonly RunSummary[]>([])
  const [status, setStatus] = useState<LiveRuns['status']>('loading')
  const [stream, setStream] = useState<StreamState>('connecting')
  const asked = useRef(0)

  const load = useCallback(
    async (before: string | undefined): Promise<void> => {
      const number = (asked.current += 1)
      setStatus('loading')
      try {
        const page = await fetchRuns({ text, state }, before, pageSize)
        // the filter has changed in the meantime
        if (number !== asked.current) return
        setRuns((known) => (before === undefined ? page.runs : withOlder(known, page.runs)))
        setStatus(page.more ? 'more' : 'all')
      } catch (error) {
        if (number === asked.current) setStatus({ error: errorText(error) })
      }
    },
    [text, state],
  )

  useEffect(() => void load(undefined), [load])
  useEffect(() => {
    let isAgain = false
    return listen('/api/events', {
      onState: setStream,
      on: {
        // the list may have missed runs while the connection was lost
        hello: () => {
          if (isAgain) void load(undefined)
          isAgain = true
        },
        run: (data) => {
          const run: RunSummary = JSON.parse(data)
          setRuns((known) => withRun(known, run, { text, state }))
        },
      },
    })
  }, [load])

  const last = runs.at(-1)?.id
  const loadMore = useCallback(() => void (status === 'more' && load(last)), [status, load, last])
  return { runs, status, stream, loadMore }
}
