import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createWatchdog, startThread } from '../../src/script/thread/thread.ts'

const mortal = `import { parentPort } from 'node:worker_threads'
parentPort.on('message', (message) => (message === 'exit' ? process.exit(3) : parentPort.postMessage(message)))`

function start() {
  return startThread<string, string, never>({
    file: new URL(`data:text/javascript,${encodeURIComponent(mortal)}`),
    name: 'a test',
    setup: {},
    limits: {},
  })
}

describe('a thread', () => {
  it('that is idle reports its end whoever has released it', async () => {
    const thread = start()
    const answered = new Promise<string>((resolve, reject) => thread.assign({ onMessage: resolve, onEnd: reject }))
    thread.post('hello')
    expect(await answered).toBe('hello')
    const ended = new Promise<void>((resolve) => thread.release(resolve))
    thread.post('exit')
    await ended
  })
})

describe('the watchdog of a thread', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A thread that has worked for this long, and the number of times it was checked. */
  function watched(timeMs: number) {
    const state = { worked: 0, isWaiting: false, looks: 0, isLate: false }
    const thread = {
      workedMs() {
        state.looks += 1
        return state.worked
      },
      isWaiting: () => state.isWaiting,
    }
    const watchdog = createWatchdog(thread, timeMs, () => (state.isLate = true))
    watchdog.start()
    return { state, watchdog }
  }

  it('checks rarely while the thread waits, however long, and notices soon that it works again', () => {
    const { state, watchdog } = watched(100)
    Object.assign(state, { isWaiting: true, worked: 60_000 })
    vi.advanceTimersByTime(60_000)
    expect(state.looks).toBeLessThanOrEqual(60_000 / 200 + 2)
    expect(state.isLate).toBe(false)
    state.isWaiting = false
    vi.advanceTimersByTime(200)
    expect(state.isLate).toBe(true)
    watchdog.stop()
  })

  it('fires when the thread has worked for longer than its time', () => {
    const { state, watchdog } = watched(100)
    vi.advanceTimersByTime(250)
    expect(state.isLate).toBe(false)
    state.worked = 301
    vi.advanceTimersByTime(60)
    expect(state.isLate).toBe(true)
    watchdog.stop()
  })
})
