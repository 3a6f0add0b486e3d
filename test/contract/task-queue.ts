import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { QueuedTask, TaskQueue } from '../../src/run/task-queue.ts'

/** What every `TaskQueue` must do. */
export function describeTaskQueue(name: string, createQueue: () => TaskQueue): void {
  const task = (index: number, run = 'run'): QueuedTask => ({ run, place: `task/${index}`, input: { index } })

  describe(`task queue: ${name}`, () => {
    it('delivers each task once, in the order of submission, including those before the first worker', async () => {
      const queue = createQueue()
      const seen: unknown[] = []
      for (const index of [0, 1]) await queue.submit(task(index))
      const stop = queue.work(async (given) => void seen.push(given), { local: 1 })
      await queue.submit(task(2))
      await until(() => seen.length === 3)
      await stop()
      expect(seen).toEqual([task(0), task(1), task(2)])
    })

    it('treats an equal task that waits or runs as the same one, and distinguishes runs', async () => {
      const queue = createQueue()
      const gate = createGate()
      const seen: string[] = []
      const stop = queue.work(
        async ({ run, place }) => {
          seen.push(`${run} ${place}`)
          await gate.opened
        },
        { local: 1 },
      )
      for (const index of [0, 1, 0, 1]) await queue.submit(task(index))
      await queue.submit(task(0, 'other'))
      gate.open()
      await until(() => seen.length === 3)
      await stop()
      expect(seen).toEqual(['run task/0', 'run task/1', 'other task/0'])
    })

    it('treats an equal task after the end of the first as a new one', async () => {
      const queue = createQueue()
      let times = 0
      const stop = queue.work(async () => void (times += 1), { local: 1 })
      for (const round of [1, 2]) {
        await queue.submit(task(0))
        await until(() => times === round)
        await wait(1)
      }
      await stop()
      expect(times).toBe(2)
    })

    it.each([1, 3])('runs at most %i at once', async (local) => {
      const queue = createQueue()
      let open = 0
      let most = 0
      let ended = 0
      const stop = queue.work(
        async () => {
          open += 1
          most = Math.max(most, open)
          await wait(1)
          open -= 1
          ended += 1
        },
        { local },
      )
      for (let index = 0; index < 10; index += 1) await queue.submit(task(index))
      await until(() => ended === 10)
      await stop()
      expect(most).toBe(local)
    })

    it('drops the tasks of a cancelled run, aborts running ones, and continues with others', async () => {
      const queue = createQueue()
      const seen: string[] = []
      const stop = queue.work(
        async ({ run, place }, signal) => {
          if (run === 'other') return void seen.push(run)
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
          seen.push(`${place} aborted`)
        },
        { local: 1 },
      )
      for (const index of [0, 1]) await queue.submit(task(index))
      await queue.submit(task(0, 'other'))
      await queue.cancel('run')
      await until(() => seen.length === 2)
      await stop()
      expect(seen).toEqual(['task/0 aborted', 'other'])
    })

    it('accepts no more once it is stopped, and has stopped when running tasks have ended', async () => {
      const queue = createQueue()
      const ended: string[] = []
      const stop = queue.work(
        async ({ place }, signal) => {
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
          await wait(5)
          ended.push(place)
        },
        { local: 2 },
      )
      for (const index of [0, 1, 2]) await queue.submit(task(index))
      await stop()
      expect(ended).toEqual(['task/0', 'task/1'])
    })
  })
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await wait(1)
}

function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}
