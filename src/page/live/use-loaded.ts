import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { errorText } from './api.ts'

/** Does something whenever a value changes, but not at first. */
export function useChange(value: unknown, then: () => void): void {
  const before = useRef(value)
  useEffect(() => {
    if (before.current === value) return
    before.current = value
    then()
  }, [value])
}

/** A value that is fetched once, and again on request. */
export type Loaded<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'here'; readonly value: Value }

/** @param key identifies the value; a new key is fetched again */
export function useLoaded<Value>(key: string, load: () => Promise<Value>): readonly [Loaded<Value>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<Value>>({ kind: 'loading' })
  const asked = useRef(0)
  const again = useCallback((): void => {
    const number = (asked.current += 1)
    load().then(
      (value) => void (number === asked.current && setLoaded({ kind: 'here', value })),
      (error: unknown) => void (number === asked.current && setLoaded({ kind: 'failed', error: errorText(error) })),
    )
  }, [key])
  useEffect(() => {
    setLoaded({ kind: 'loading' })
    again()
  }, [again])
  return [loaded, again]
}
