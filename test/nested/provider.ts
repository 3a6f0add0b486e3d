import { textIn } from '../helpers/messages.ts'
import { setImmediate } from 'node:timers/promises'
import { createFakeProvider, type FakeProvider } from '../helpers/fake-model.ts'

export interface MeasuredProvider extends FakeProvider {
  /** The most requests that were under way at once. */
  readonly peak: () => number
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate()
}

/**
 * Answers each prompt with itself in brackets, but nothing before so many requests are under way at once; then it waits
 * for some turns of the event loop, in which a request too many would come. After that requests end out of their order.
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
