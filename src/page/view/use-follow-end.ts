import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

/** How far from the end, in pixels, a reader still follows it. */
const near = 40

/**
 * Keeps the end of a growing content in view, unless the reader has scrolled up. What scrolls is the element around the
 * content.
 * @param follows whether it grows
 */
export function useFollowEnd(content: RefObject<HTMLElement | null>, follows: boolean): void {
  useEffect(() => {
    const inner = content.current
    const outer = inner?.parentElement
    if (!follows || inner === null || outer === null || outer === undefined) return undefined
    let isAtEnd = true
    const toEnd = (): void => {
      if (isAtEnd) outer.scrollTop = outer.scrollHeight
    }
    const onScroll = (): void => {
      isAtEnd = outer.scrollHeight - outer.scrollTop - outer.clientHeight < near
    }
    toEnd()
    const observer = new ResizeObserver(toEnd)
    observer.observe(inner)
    outer.addEventListener('scroll', onScroll)
    return () => {
      observer.disconnect()
      outer.removeEventListener('scroll', onScroll)
    }
  }, [follows])
}
