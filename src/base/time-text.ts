const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** A length of time for people, by its two greatest units: `250 ms`, `45 s`, `1 min 30 s`, `2 h`, `1 d 4 h`. */
export function durationText(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.round(ms)} ms`
  let left = Math.round(ms / 1_000)
  const first = units.findIndex(([, seconds]) => left >= seconds)
  const parts: string[] = []
  for (const [unit, seconds] of units.slice(first, first + 2)) {
    const count = Math.floor(left / seconds)
    left -= count * seconds
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.join(' ')
}

const minuteMs = 60_000
const latestDate = 8.64e15

/** The local time of `at` in whole minutes, rounded up; with the date when that is not the day of `now`. */
export function localTimeText(at: number, now: number): string {
  const date = new Date(Math.min(Math.ceil(at / minuteMs) * minuteMs, latestDate))
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`
  if (date.toDateString() === new Date(now).toDateString()) return time
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
