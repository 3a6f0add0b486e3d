import { useEffect, useState } from 'preact/hooks'

/** Whether a media query matches; updates when that changes. */
function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = (): void => setMatches(list.matches)
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [query])
  return matches
}

/** Whether the page is as narrow as on a phone. page.css uses the same width. */
export function useIsNarrow(): boolean {
  return useMedia('(max-width: 720px)')
}
