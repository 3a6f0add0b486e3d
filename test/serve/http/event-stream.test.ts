import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEventStreams, eventText, type EventStreams } from '../../../src/serve/http/event-stream.ts'

/**
 * A source whose events are pushed by the test; pending events are merged into one text, as rows keep only their newest
 * state.
 */
function pushed(streams: EventStreams) {
  let waiting = ''
  let isOver = false
  let closed = 0
  let taken = 0
  let wake = (): void => {}
  const response = streams.open((given) => {
    wake = given
    return {
      take() {
        const text = waiting
        waiting = ''
        if (text !== '') taken += 1
        return text === '' ? undefined : text
      },
      isOver: () => isOver,
      close: () => void (closed += 1),
    }
  })
  return {
    response,
    push(text: string) {
      waiting += text
      wake()
    },
    end() {
      isOver = true
      wake()
    },
    closed: () => closed,
    taken: () => taken,
  }
}

const textOf = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> => {
  const { done, value } = await reader.read()
  return done ? undefined : Buffer.from(value).toString()
}

function readerOf({ body }: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (body === null) throw new Error('there is no stream')
  return body.getReader()
}

describe('an event stream', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())

  it('sends events as they come, and ends with its source', async () => {
    const source = pushed(createEventStreams())
    const reader = readerOf(source.response)
    source.push('a')
    expect(await textOf(reader)).toBe('a')
    const next = textOf(reader)
    source.push('b')
    expect(await next).toBe('b')
    source.end()
    expect(await textOf(reader)).toBeUndefined()
    expect(source.closed()).toBe(1)
  })

  it('reads nothing from its source before the client requests it', async () => {
    const source = pushed(createEventStreams())
    const reader = readerOf(source.response)
    for (let count = 0; count < 1000; count += 1) {
      source.push('x')
      await Promise.resolve()
    }
    // one piece is ready, all others have been merged
    expect(source.taken()).toBeLessThan(3)
    expect(`${await textOf(reader)}${await textOf(reader)}`).toBe('x'.repeat(1000))
  })

  it('sends keep-alive messages', async () => {
    const reader = readerOf(pushed(createEventStreams()).response)
    const next = textOf(reader)
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await next).toMatch(/^:.*\n\n$/)
  })

  it('disconnects a client that does not read, but not one that waits', async () => {
    const streams = createEventStreams()
    const [stuck, waiting] = [pushed(streams), pushed(streams)]
    const [stuckReader, waitingReader] = [readerOf(stuck.response), readerOf(waiting.response)]
    stuck.push('x')
    for (let beats = 0; beats < 8; beats += 1) {
      const next = textOf(waitingReader)
      await vi.advanceTimersByTimeAsync(15_000)
      expect(await next).toMatch(/^:/)
    }
    expect([stuck.closed(), waiting.closed()]).toEqual([1, 0])
    await expect(textOf(stuckReader).then(() => textOf(stuckReader))).rejects.toThrow('does not read')
  })

  it('closes its source when the client disconnects, and when the server ends', async () => {
    const streams = createEventStreams()
    const [left, open] = [pushed(streams), pushed(streams)]
    await readerOf(left.response).cancel()
    expect(left.closed()).toBe(1)
    const reader = readerOf(open.response)
    const next = textOf(reader)
    streams.close()
    expect(await next).toBeUndefined()
    expect([left.closed(), open.closed()]).toEqual([1, 1])
  })
})

describe('an event', () => {
  it('is on one line, whatever its data is', () => {
    const text = eventText('rows', { text: 'a\nevent: over\r\n\u2028' }, '1.2')
    expect(text.split('\n')).toHaveLength(5)
    expect(text).toMatch(/^id: 1\.2\nevent: rows\ndata: \{[^\n]*\}\n\n$/u)
  })
})
