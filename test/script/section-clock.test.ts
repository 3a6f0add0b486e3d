import { describe, expect, it } from 'vitest'
import { createBusyTime } from '../../src/base/busy-time.ts'
import { BatonError } from '../../src/base/error.ts'
import { type SectionClock, startSectionClock } from '../../src/script/section-clock.ts'

const limits = { timeMs: 100, instructions: 1000, memoryBytes: 1 }
const tooLong = { message: 'the script ran longer than 100 ms', limit: 'time' }

/** A thread whose work takes the stated time. */
function createThread() {
  let busyMs = 0
  const busy = createBusyTime(() => busyMs)
  return {
    clock: (): SectionClock => startSectionClock(limits, busy),
    work: async (ms: number): Promise<string> => {
      await Promise.resolve()
      busyMs += ms
      return 'done'
    },
  }
}

describe('the clock of a section', () => {
  it('includes the work of the main thread while the section waits for it, over all waits', async () => {
    const { clock, work } = createThread()
    const { working, leftMs } = clock()
    await expect(working(work(60))).resolves.toBe('done')
    expect(leftMs()).toBe(40)
    await expect(working(work(60))).rejects.toMatchObject(tooLong)
    expect(leftMs()).toBe(1)
  })

  it('excludes waits for outside operations', async () => {
    const { clock, work } = createThread()
    const { outside, working } = clock()
    await expect(outside(work(1000))).resolves.toBe('done')
    await expect(working(work(60))).resolves.toBe('done')
  })

  it('charges concurrent sections with their shares, and those that wait outside with nothing', async () => {
    const { clock, work } = createThread()
    const [one, other] = [clock(), clock()]
    await expect(one.working(work(180))).resolves.toBe('done')
    expect([one.leftMs(), other.leftMs()]).toEqual([10, 100])
    await Promise.all([other.outside(new Promise((resolve) => setTimeout(resolve, 5))), one.working(work(5))])
    expect(one.leftMs()).toBe(5)
    other.stop()
    await one.working(work(2))
    expect(one.leftMs()).toBe(3)
  })

  it('is checked during long work', async () => {
    const { clock, work } = createThread()
    const { check, working } = clock()
    const long = async (): Promise<string> => {
      for (;;) {
        await work(30)
        check()
      }
    }
    expect(check).not.toThrow()
    await expect(working(long())).rejects.toMatchObject(tooLong)
  })

  it('includes the time of threads', async () => {
    const { clock } = createThread()
    const { inThread, leftMs } = clock()
    await inThread(new Promise((resolve) => setTimeout(resolve, 50)))
    expect(leftMs()).toBeLessThan(60)
  })

  it('hides neither an error that stops the run nor another limit', async () => {
    const { clock, work } = createThread()
    const { working } = clock()
    const stop = new BatonError('SUSPENDED', 'waiting for an approval')
    const stopped = async (): Promise<void> => {
      await work(200)
      throw stop
    }
    await expect(working(stopped())).rejects.toBe(stop)
  })
})
