import { textIn } from '../helpers/messages.ts'
import { setImmediate } from 'node:timers/promises'
import { createFakeProvider, type FakeProvider } from '../helpers/fake-model.ts'

export interface MeasuredProvider extends FakeProvider {
  /** The largest number of requests in flight at the same time. */
  readonly peak: () => number
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate()
}

/**
 * Answers each prompt with itself in brackets, but only once `atOnce` requests are in flight; it then waits for some
 * turns of the event loop, in which an excess request would arrive. After that, requests end out of order.
 */
export function createMeasuredProvider(atOnce: number): MeasuredProvider {
  let underWay = 0
  let most = 0
  let release: () => void
  const released = new Promise<void>((resolve) => {
    release = () => void turns(20).then(resolve)
  })
  const fake = createFakeProvider(({ messages }, index) => ({
    text: [`<${textIn(messages[0]).trim() ?? ''}>`],
    gate: released.then(() => turns((index * 7) % 5)),
  }))

  async function* stream(...call: Parameters<FakeProvider['stream']>): ReturnType<FakeProvider['stream']> {
    underWay += 1
    most = Math.max(most, underWay)
    if (underWay === atOnce) release()
    try {
      yield* fake.stream(...call)
    } finally {
      underWay -= 1
    }
  }

  return { ...fake, stream, peak: () => most }
}
