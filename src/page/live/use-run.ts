import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Row } from '../data/row.ts'
import { createRowStore } from '../data/row-store.ts'
import { createRowTree, type RowTree } from '../data/row-tree.ts'
import { errorText, fetchRun } from './api.ts'
import { listen, type StreamState } from './listen.ts'
import type { Delta, RunDetail, RunSummary, SentRows } from './wire.ts'

/** Answers in progress, by place. */
export type LiveTexts = ReadonlyMap<string, string>

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

/** Follows a run: its details and rows. */
export function useRun(id: string): LiveRun {
  const [detail, setDetail] = useState<RunDetail>()
  const [error, setError] = useState<string>()
  const [stream, setStream] = useState<StreamState>('connecting')
  const [version, setVersion] = useState(0)
  const [session, setSession] = useState(0)
  const [state] = useState(() => ({ store: createRowStore(), tree: createRowTree(), texts: new Map<string, string>() }))
  const asked = useRef(0)

  const reload = useCallback(async (): Promise<void> => {
    const number = (asked.current += 1)
    try {
      const sent = await fetchRun(id)
      if (number !== asked.current) return
      setDetail(sent)
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
    void reload()
    const close = listen(`/api/runs/${encodeURIComponent(id)}/events`, {
      onState: setStream,
      on: {
        rows: (data) => {
          const { rows }: SentRows = JSON.parse(data)
          state.store.add(rows)
          state.tree.add(rows)
          for (const { place, state: how } of rows) if (how !== 'running') state.texts.delete(place)
          draw()
          if (rows.some(({ kind }) => kind === 'approval')) void reload()
        },
        delta: (data) => {
          const { place, kind, at, text }: Delta = JSON.parse(data)
          if (kind === 'text') state.texts.set(place, (state.texts.get(place) ?? '').slice(0, at) + text)
          draw()
        },
        run: (data) => {
          const run: RunSummary = JSON.parse(data)
          setDetail((known) => (known === undefined ? known : { ...known, run }))
          void reload()
        },
        over: () => {
          state.texts.clear()
          draw()
          void reload()
          close()
          setStream('open')
        },
      },
    })
    return () => {
      clearTimeout(timer)
      close()
    }
  }, [id, reload, session])
  const follow = useCallback(() => setSession((before) => before + 1), [])

  const { store, tree, texts } = state
  return { detail, error, rows: store.rows, tree, version, texts, stream, reload: () => void reload(), follow }
}
