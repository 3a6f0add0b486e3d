import { useEffect, useState } from 'preact/hooks'

/** The time, in milliseconds since 1970; it passes only while something goes on. */
export function useNow(goesOn: boolean): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    setNow(Date.now())
    if (!goesOn) return undefined
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [goesOn])
  return now
}
