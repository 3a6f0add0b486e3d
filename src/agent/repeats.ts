import { sha256 } from '../base/hash.ts'
import type { CalledTool } from './modes/mode.ts'
import { canonicalText } from './message-log.ts'
import { inputOf } from './call-input.ts'

const warnsAt = 3
const endsAt = 10

/** Calls that a model repeats, with the same result each time. */
export interface Repeats {
  readonly add: (called: readonly CalledTool[], warn: (message: string) => void) => void
  readonly isEndless: () => boolean
}

export function createRepeats(): Repeats {
  const counts = new Map<string, number>()
  let isEndless = false
  return {
    add(called, warn) {
      for (const { call, result } of called) {
        const key = sha256(JSON.stringify([call.name, canonicalText(inputOf(call)), result.text]))
        const count = (counts.get(key) ?? 0) + 1
        counts.set(key, count)
        if (count === warnsAt) {
          warn(`the model has called ${call.name} ${warnsAt} times with the same input and the same result`)
        }
        if (count >= endsAt) isEndless = true
      }
    },
    isEndless: () => isEndless,
  }
}
