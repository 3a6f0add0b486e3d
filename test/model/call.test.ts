import { afterEach, describe, expect, it } from 'vitest'
import { setTimeout as wait } from 'node:timers/promises'
import { type BodyReader, type Call, idleTimeout, openCall, type TimeLimit } from '../../src/model/call.ts'

const never = new AbortController().signal

const opened: Call[] = []
afterEach(() => {
  for (const call of opened.splice(0)) call.close()
})

function open(signal: AbortSignal = never): Call {
  const call = openCall(signal, {})
  opened.push(call)
  return call
}

function limit(ms: number): TimeLimit {
  return { ms, fault: idleTimeout }
}

function silence(): Promise<never> {
  return new Promise(() => undefined)
}

function hasEnded(call: Call): boolean {
  let ended = false
  call.onEnd(() => (ended = true))
  return ended
}

/** Timers that keep the process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}

describe('waiting within a call', () => {
  it('returns the result of the work, and rethrows its errors', async () => {
    const call = open()
    expect(await call.within(limit(5_000), () => Promise.resolve(1))).toBe(1)
    await expect(call.within(limit(5_000), () => Promise.reject(new Error('lost')))).rejects.toThrow('lost')
    expect(call.fault()).toBeUndefined()
    expect(hasEnded(call)).toBe(false)
  })

  it('stops the call when the limit passes, the first time and after many reads', async () => {
    for (const reads of [0, 3]) {
      const call = open()
      for (let read = 0; read < reads; read += 1) await call.within(limit(20), () => Promise.resolve())
      await expect(call.within(limit(20), silence)).rejects.toThrow('stopped')
      expect(call.fault()).toEqual(idleTimeout(20))
      expect(hasEnded(call)).toBe(true)
    }
  })

  it('applies the limit to each wait', async () => {
    const call = open()
    await call.within(limit(20), () => Promise.resolve())
    await call.within(limit(5_000), () => wait(40))
    await expect(call.within(limit(10), silence)).rejects.toThrow('stopped')
    expect(call.fault()).toEqual(idleTimeout(10))
  })

  it('measures each wait from its own start', async () => {
    const call = open()
    for (let read = 0; read < 4; read += 1) await call.within(limit(60), () => wait(25))
    expect(call.fault()).toBeUndefined()
  })

  it('counts no time while nothing is awaited', async () => {
    const call = open()
    await call.within(limit(10), () => Promise.resolve())
    await wait(40)
    expect(call.fault()).toBeUndefined()
    const before = timers()
    const waiting = call.within(limit(10), silence)
    expect(timers()).toBe(before + 1)
    await expect(waiting).rejects.toThrow('stopped')
  })

  it('rejects at once when the caller stops, although the work continues', async () => {
    const controller = new AbortController()
    const call = open(controller.signal)
    await call.within(limit(5_000), () => Promise.resolve())
    const waiting = call.within(limit(5_000), silence)
    controller.abort()
    await expect(waiting).rejects.toThrow('stopped')
    expect(call.fault()).toBeUndefined()
    await expect(call.within(limit(5_000), () => Promise.resolve())).rejects.toThrow('stopped')
  })

  it('runs its cleanup once, at its stop or its close, and at once afterwards', () => {
    const controller = new AbortController()
    const [stopped, closed] = [open(controller.signal), open()]
    const ended: string[] = []
    stopped.onEnd(() => ended.push('stopped'))
    closed.onEnd(() => ended.push('closed'))
    controller.abort()
    expect(ended).toEqual(['stopped'])
    closed.close()
    stopped.close()
    expect(ended).toEqual(['stopped', 'closed'])
    closed.onEnd(() => ended.push('late'))
    expect(ended).toEqual(['stopped', 'closed', 'late'])
  })

  it('keeps the process running with one timer until it is closed', async () => {
    const call = open()
    const before = timers()
    for (let read = 0; read < 2; read += 1) {
      const waiting = call.within(limit(5_000), () => Promise.resolve())
      expect(timers()).toBe(before + 1)
      await waiting
    }
    const stopped = call.within(limit(5_000), silence).catch(() => undefined)
    call.close()
    expect(timers()).toBe(before)
    void stopped
  })
})

describe('reading a body within a call', () => {
  /** Yields these pieces, and then nothing more until it is canceled. */
  function bodyOf(...pieces: readonly string[]): BodyReader {
    const left = [...pieces]
    let cancel = (): void => undefined
    return {
      read: () => {
        const piece = left.shift()
        if (piece !== undefined) return Promise.resolve(Buffer.from(piece))
        return new Promise((resolve) => (cancel = () => resolve(undefined)))
      },
      cancel: () => cancel(),
    }
  }

  it('returns the bytes, and stops a sender that falls silent when the limit passes', async () => {
    const call = open()
    const body = bodyOf('a', 'b')
    expect([await call.read(body, limit(20)), await call.read(body, limit(20))].map(String)).toEqual(['a', 'b'])
    await expect(call.read(body, limit(20))).rejects.toThrow('stopped')
    expect(call.fault()).toEqual(idleTimeout(20))
  })

  it('rejects at once when the caller stops, during a read and before one', async () => {
    const controller = new AbortController()
    const call = open(controller.signal)
    const body = bodyOf('a')
    await call.read(body, limit(5_000))
    const waiting = call.read(body, limit(5_000))
    controller.abort()
    await expect(waiting).rejects.toThrow('stopped')
    await expect(call.read(body, limit(5_000))).rejects.toThrow('stopped')
    expect(call.fault()).toBeUndefined()
  })

  it('may get another limit while it waits', async () => {
    const call = open()
    const waiting = call.read(bodyOf(), limit(5_000))
    call.limit(limit(20))
    await expect(waiting).rejects.toThrow('stopped')
    expect(call.fault()).toEqual(idleTimeout(20))
  })

  it('rejects with the error of the read', async () => {
    const call = open()
    const broken: BodyReader = { read: () => Promise.reject(new Error('cut')), cancel: () => undefined }
    await expect(call.read(broken, limit(5_000))).rejects.toThrow('cut')
    expect(call.fault()).toBeUndefined()
  })
})
