import { createProgress } from './progress.ts'
import type { Renderer, Write } from './renderer.ts'
import { totalsOf } from './totals.ts'

export interface PulseOptions {
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number
}

const pulseMs = 30_000

/**
 * One plain line every half minute where no live view can be drawn: a long run says how far it is, and whoever watches
 * it for output (CI) does not take it for dead. The timer does not keep the process alive.
 */
export function createPulseRenderer(write: Write, { now }: PulseOptions): Renderer {
  const begin = now()
  const clock = (): number => now() - begin
  const progress = createProgress(clock)
  const timer = setInterval(() => {
    const parts = totalsOf(progress.now(), { now: clock(), isStopping: false })
    const texts = parts.map(({ text }) => text).filter((text) => text !== '')
    write(`running ${texts.join(', ')}\n`)
  }, pulseMs)
  timer.unref()
  return { event: progress.add, close: () => clearInterval(timer) }
}
