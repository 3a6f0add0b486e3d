// Loaded into the command by `node --import`: its time is scripted. Each millisecond of the machine is up to half a second
// of the night, but no more than to the next timer, so that hours pass in a minute and everything happens in its order.
//
// NIGHT: JSON { file, start, events }
//   file    16 bytes shared with the test and with later processes: milliseconds since the night began, and by how much the
//           clock of the machine was set since
//   start   milliseconds since 1970 at which the night begins
//   events  [{ at, kind: 'sleep' | 'clock', ms }]: the machine sleeps for so long, or its clock is set by so much
//   full    [[from, to]]: when no file below `disk` can be written
//   disk    absolute folder
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'

const { file, start, events, full, disk } = JSON.parse(process.env['NIGHT'])

if (isMainThread) {
  const shared = fs.openSync(file, 'r+')
  const bytes = Buffer.alloc(16)
  fs.readSync(shared, bytes, 0, 16, 0)
  let time = bytes.readDoubleLE(0)
  let clock = bytes.readDoubleLE(8)
  const begun = time
  const left = events.filter(({ at }) => at > time)
  const stepMs = 500

  const RealDate = Date
  const wall = () => Math.floor(start + time + clock)
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(wall())
      else super(...args)
    }
    static now() {
      return wall()
    }
  }
  performance.now = () => time - begun
  // what the build makes of it
  const hrtime = () => [Math.floor(time / 1000), Math.round((time % 1000) * 1e6)]
  process.hrtime = Object.assign(hrtime, { bigint: () => BigInt(Math.round(time * 1e6)) })

  const real = { setTimeout, clearTimeout, setInterval }
  /** Waiting timers by their handles, which keep the process running or do not, as timers do. */
  const waiting = new Map()
  const hold = (callback, ms, args, every) => {
    // fires after 24 days of the machine: never
    const handle = real.setTimeout(() => {}, 2 ** 31 - 1)
    waiting.set(handle, { due: time + Math.max(1, Number(ms) || 1), call: () => callback(...args), every })
    return handle
  }
  const timeout = (callback, ms, ...args) => hold(callback, ms, args)
  const interval = (callback, ms, ...args) => hold(callback, ms, args, Math.max(1, Number(ms) || 1))
  const wait = (ms, value, { signal, ref = true } = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const handle = timeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve(value)
      }, ms)
      if (!ref) handle.unref()
      const onAbort = () => {
        real.clearTimeout(handle)
        reject(signal.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  globalThis.setTimeout = timeout
  globalThis.setInterval = interval
  Object.assign(timers, { setTimeout: timeout, setInterval: interval })
  Object.assign(timersPromises, { setTimeout: wait })

  for (const name of ['writeSync', 'writeFileSync', 'appendFileSync', 'openSync', 'mkdirSync']) {
    const write = fs[name]
    fs[name] = (...args) => {
      if (isFull() && writes(name, args))
        throw Object.assign(new Error(`ENOSPC: no space left on device, ${name}`), { code: 'ENOSPC', syscall: name })
      return write(...args)
    }
  }
  const isFull = () => full.some(([from, to]) => time >= from && time < to)
  const pathOf = (target) => {
    if (typeof target !== 'number') return String(target)
    try {
      return fs.readlinkSync(`/proc/self/fd/${target}`)
    } catch {
      return ''
    }
  }
  const writes = (name, [target, flags]) =>
    target !== shared &&
    pathOf(target).startsWith(`${disk}/`) &&
    (name !== 'openSync' || /[wa+]/.test(String(flags ?? 'r')))
  syncBuiltinESMExports()

  const pass = (ms) => {
    time += ms
    while (left.length > 0 && left[0].at <= time) {
      const { kind, ms: by } = left.shift()
      if (kind === 'sleep') time += by
      else clock += by
    }
    bytes.writeDoubleLE(time, 0)
    bytes.writeDoubleLE(clock, 8)
    fs.writeSync(shared, bytes, 0, 16, 0)
  }
  const tick = () => {
    for (const handle of waiting.keys()) if (handle._destroyed) waiting.delete(handle)
    const next = Math.min(...[...waiting.values()].map(({ due }) => due))
    pass(Math.max(0, Math.min(stepMs, next - time)))
    for (const [handle, timer] of [...waiting]
      .filter(([, { due }]) => due <= time)
      .sort(([, a], [, b]) => a.due - b.due)) {
      if (handle._destroyed) continue
      if (timer.every === undefined) {
        waiting.delete(handle)
        real.clearTimeout(handle)
      } else timer.due = time + timer.every
      timer.call()
    }
  }
  real.setInterval(tick, 1).unref()
}
