import { useEffect, useState } from 'preact/hooks'

/** The current time in milliseconds since 1970. It advances only while `goesOn`. */
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
