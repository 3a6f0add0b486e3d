import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../src/model/call.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import { usageOfFailedCall } from '../../src/model/estimate.ts'
import { textMessage } from '../../src/event/message.ts'
import { collectModelEvents, textOf } from '../contract/model-provider.ts'
import { chatProvider } from '../helpers/chat-provider.ts'
import { failing, failingReply, openServer } from '../helpers/failing-call.ts'
import { startModelServer, type ModelReply } from '../helpers/model-server.ts'

const never = new AbortController().signal

describe('a server that takes too long', () => {
  /** A port that accepts connections and never sends anything. */
  async function openSilent(): Promise<string> {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    })
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** A port that accepts no more connections: its queue is full, and the thread that could empty it is stopped. */
  async function openFull(): Promise<string> {
    const worker = new Worker(
      `const { createServer } = require('node:net')
      const { parentPort } = require('node:worker_threads')
      const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
        parentPort.postMessage(server.address().port)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      })`,
      { eval: true },
    )
    onTestFinished(async () => void (await worker.terminate()))
    const port = await new Promise<number>((resolve) => worker.once('message', resolve))
    for (let count = 0; count < 8; count += 1) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      onTestFinished(() => void socket.destroy())
    }
    return `127.0.0.1:${port}`
  }

  it('to agree on a secure connection is a connection timeout', async () => {
    const limits = { ...defaultTimeouts, connectMs: 60 }
    const { error } = await failing(`https://${await openSilent()}/v1`, { timeouts: limits })
    expect(error.message).toContain('did not accept a connection within 0.06 s')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true, isOverload: false })
  })

  it('to accept a connection is a connection timeout', async () => {
    const limits = { ...defaultTimeouts, connectMs: 60 }
    const { error } = await failing(`http://${await openFull()}/v1`, { timeouts: limits })
    expect(error.message).toContain('did not accept a connection within 0.06 s')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true })
  })

  it('to be resolved is a timeout of its own, after which nothing was sent', async () => {
    const dns = process.getBuiltinModule('node:dns')
    const { lookup } = dns
    onTestFinished(() => void (dns.lookup = lookup))
    dns.lookup = (() => undefined) as unknown as typeof lookup
    const limits = { ...defaultTimeouts, connectMs: 60 }
    const { error } = await failing('https://models.example/v1', { timeouts: limits })
    expect(error.message).toContain('could not be resolved within 0.06 s: DNS gave no answer')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true, isUnreached: true })
    const usage = usageOfFailedCall(error, { model: 'm1', messages: [textMessage('user', 'Hi')] }, '')
    expect(usage).toMatchObject({ calls: 1, input: 0, output: 0 })
  })

  it('to answer on its connection has the limit of the headers, not that of connecting', async () => {
    const limits = { ...defaultTimeouts, connectMs: 40, headersMs: 120 }
    const { error } = await failing(`http://${await openSilent()}/v1`, { timeouts: limits })
    expect(error.message).toContain('did not start to answer within 0.12 s')
  })

  it('to answer on a reused connection has that limit too', async () => {
    const replies: readonly ModelReply[] = [{ text: 'a' }, { gate: new Promise<void>(() => undefined) }]
    const server = await startModelServer(replies)
    onTestFinished(() => server.close())
    const provider = chatProvider(server.url, { timeouts: { ...defaultTimeouts, connectMs: 40, headersMs: 120 } })
    const request = { model: 'm1', messages: [] }
    await collectModelEvents(provider.stream(request, never))
    await expect(collectModelEvents(provider.stream(request, never))).rejects.toThrow(/start to answer within 0.12 s/)
  })

  const timeouts = { ...defaultTimeouts, headersMs: 60 }

  it('to begin its answer is a timeout', async () => {
    const { error } = await failingReply({ gate: new Promise<void>(() => undefined) }, { timeouts })
    expect(error.message).toContain('did not start to answer within 0.06 s')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true })
  })

  it('between two pieces of its answer is a timeout, and the connection is closed', async () => {
    const server = await openServer({ text: 'a b c', stallAfter: 2 })
    const { error, events } = await failing(server.url, { timeouts: { ...defaultTimeouts, streamIdleMs: 60 } })
    expect(error.message).toContain('sent nothing for 0.06 s during the answer')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true })
    expect(textOf(events)).toBe('a b ')
    await server.closedByClient()
  })

  it('for the whole answer is a timeout when the request has a limit', async () => {
    const limits = { ...defaultTimeouts, requestMs: 60 }
    const { error } = await failingReply({ text: 'a b c', stallAfter: 1 }, { timeouts: limits })
    expect(error.message).toContain('did not finish the answer within 0.06 s')
  })
})
