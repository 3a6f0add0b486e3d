import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isActive } from '../../journal/summary.ts'
import { createLiveTextStore, type LiveTexts } from '../data/live-texts.ts'
import type { Row } from '../data/row.ts'
import { createRowStore } from '../data/row-store.ts'
import { createRowTree, type RowTree } from '../data/row-tree.ts'
import { errorText, fetchRun } from './api.ts'
import { listen, type StreamState } from './listen.ts'
import { useInbox } from './use-inbox.ts'
import { useChange } from './use-loaded.ts'
import type { Delta, RunDetail, RunSummary, SentRows, ShownRun } from './wire.ts'

export interface LiveRun {
  readonly detail: RunDetail | undefined
  readonly error: string | undefined
  /** Always the same list, which grows; `version` changes with it. */
  readonly rows: readonly Row[]
  readonly tree: RowTree
  readonly version: number
  readonly texts: LiveTexts
  readonly stream: StreamState
  /** Fetches the run again after an action. */
  readonly reload: () => void
  /** Opens a new stream after the run was resumed, because a stream ends with the run. */
  readonly follow: () => void
}

/** Updates within this many milliseconds are drawn together. */
const drawEvery = 150
/** The answers of tasks that end within this many milliseconds are fetched together. */
const fetchEvery = 1_000

/** What the server adds to the record of a run, which events do not have. */
function besidesRecord({ name, chat, foreign }: ShownRun): Pick<ShownRun, 'name' | 'chat' | 'foreign'> {
  return { ...(name !== undefined && { name }), ...(chat && { chat }), ...(foreign && { foreign }) }
}

/** Follows a run: its details and rows. */
export function useRun(id: string): LiveRun {
  const [detail, setDetail] = useState<RunDetail>()
  const [error, setError] = useState<string>()
  const [stream, setStream] = useState<StreamState>('connecting')
  const [version, setVersion] = useState(0)
  const [session, setSession] = useState(0)
  const [state] = useState(() => ({ store: createRowStore(), tree: createRowTree(), live: createLiveTextStore() }))
  const asked = useRef(0)
  /** As it was fetched last. */
  const known = useRef<RunDetail | undefined>(undefined)

  const reload = useCallback(async (): Promise<void> => {
    const number = (asked.current += 1)
    try {
      const sent = await fetchRun(id)
      if (number !== asked.current) return
      known.current = sent
      setDetail(sent)
      state.live.fetched()
      if (!isActive(sent.run.status)) state.live.clear()
      setError(undefined)
    } catch (problem) {
      if (number === asked.current) setError(errorText(problem))
    }
  }, [id])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const draw = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined
        setVersion((before) => before + 1)
      }, drawEvery)
    }
    // a run of many tasks ends one every moment
    let later: ReturnType<typeof setTimeout> | undefined
    const reloadSoon = (): void => {
      later ??= setTimeout(() => {
        later = undefined
        void reload()
      }, fetchEvery)
    }
    const goesOn = (): boolean => known.current !== undefined && isActive(known.current.run.status)
    const first = reload()
    const close = listen(`/api/runs/${encodeURIComponent(id)}/events`, {
      onState: setStream,
      on: {
        rows: (data) => {
          const { rows }: SentRows = JSON.parse(data)
          state.store.add(rows)
          state.tree.add(rows)
          state.live.rows(rows)
          draw()
          if (rows.some(({ kind }) => kind === 'approval')) void reload()
          else if (goesOn() && rows.some(({ kind, state: how }) => kind === 'task' && how !== 'running')) reloadSoon()
        },
        delta: (data) => {
          const delta: Delta = JSON.parse(data)
          state.live.add(delta)
          draw()
        },
        run: (data) => {
          const run: RunSummary = JSON.parse(data)
          const isNews = known.current !== undefined && known.current.run.status !== run.status
          setDetail((before) => before && { ...before, run: { ...besidesRecord(before.run), ...run } })
          if (isNews) void reload()
        },
        over: () => {
          draw()
          // a run that had ended is not read again: it may be long
          void first.then(() => (goesOn() ? reload() : undefined))
          close()
          setStream('open')
        },
      },
    })
    return () => {
      clearTimeout(timer)
      clearTimeout(later)
      close()
    }
  }, [id, reload, session])
  const follow = useCallback(() => setSession((before) => before + 1), [])

  // questions of servers are in no row
  const { items } = useInbox()
  useChange(items.find(({ run }) => run.id === id)?.questions ?? 0, () => void reload())

  const { store, tree, live } = state
  return {
    detail,
    error,
    rows: store.rows,
    tree,
    version,
    texts: live.texts,
    stream,
    reload: () => void reload(),
    follow,
  }
}
