/** How many messages that nobody asked for a server may send at once, and how many more in each second. */
const mostAtOnce = 10_000
const mostPerSecond = 1_000

/** Levels of JSON that no message has: reading more takes memory out of proportion to the text. */
const mostLevels = 10_000

/** Counts the messages of a server. */
export interface FloodLimit {
  /** One more message that it may send: the answer to a request. */
  readonly expect: () => void
  /** False once it has sent too many. */
  readonly take: () => boolean
}

export function createFloodLimit(now: () => number = () => performance.now()): FloodLimit {
  let left = mostAtOnce
  let since = now()
  return {
    expect: () => void (left += 1),
    take() {
      left -= 1
      if (left >= 0) return true
      const seconds = (now() - since) / 1000
      since = now()
      left = Math.min(mostAtOnce, Math.floor(seconds * mostPerSecond)) - 1
      return left >= 0
    },
  }
}

/** Whether JSON text is nested so deeply that it is not parsed. */
export function isTooDeep(text: string): boolean {
  if (text.length <= mostLevels) return false
  let level = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === 0x5c) at += 1
      else if (code === 0x22) isInString = false
    } else if (code === 0x22) isInString = true
    else if (code === 0x5b || code === 0x7b) level += 1
    else if (code === 0x5d || code === 0x7d) level -= 1
    if (level > mostLevels) return true
  }
  return false
}
