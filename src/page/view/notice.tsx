import { type ComponentChildren, createContext, type VNode } from 'preact'
import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import { errorText } from '../live/api.ts'

interface Notice {
  readonly tone: 'said' | 'problem'
  readonly text: string
}

interface Speaker {
  readonly say: (text: string) => void
  readonly complain: (error: unknown) => void
}

const NoticeContext = createContext<Speaker>({ say: () => {}, complain: () => {} })

/** Shows notifications at the bottom of the page: `say` for results, `complain` for errors. */
export function useNotice(): Speaker {
  return useContext(NoticeContext)
}

const shownFor = 6_000

/** Holds the notification, which screen readers announce. */
export function NoticeBoard({ children }: { readonly children: ComponentChildren }): VNode {
  const [notice, setNotice] = useState<Notice>()
  const say = useCallback((text: string) => setNotice({ tone: 'said', text }), [])
  const complain = useCallback((error: unknown) => setNotice({ tone: 'problem', text: errorText(error) }), [])
  useEffect(() => {
    if (notice === undefined || notice.tone === 'problem') return undefined
    const timer = setTimeout(() => setNotice(undefined), shownFor)
    return () => clearTimeout(timer)
  }, [notice])
  return (
    <NoticeContext.Provider value={{ say, complain }}>
      {children}
      <div class="notices" role="status" aria-live="polite">
        {notice !== undefined && (
          <div class={`notice ${notice.tone}`}>
            <span>{notice.text}</span>
            <button type="button" class="quiet" aria-label="Close" onClick={() => setNotice(undefined)}>
              ×
            </button>
          </div>
        )}
      </div>
    </NoticeContext.Provider>
  )
}
