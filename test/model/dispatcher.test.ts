import { textMessage } from '../../src/event/message.ts'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../src/model/call.ts'
import { createDispatcher } from '../../src/base/dispatcher.ts'
import { patientDispatcher } from '../../src/model/connecting.ts'
import { chatProvider } from '../helpers/chat-provider.ts'
import { openServer } from '../helpers/failing-call.ts'

it('is made only for limits above those of Node', () => {
  expect(patientDispatcher(defaultTimeouts)).toBeUndefined()
  expect(patientDispatcher({ ...defaultTimeouts, connectMs: 10_001 })).toBeDefined()
  expect(patientDispatcher({ ...defaultTimeouts, headersMs: 300_001 })).toBeDefined()
  expect(patientDispatcher({ ...defaultTimeouts, streamIdleMs: 300_001 })).toBeDefined()
})

it('sets the limits of fetch itself', async () => {
  const server = createServer(() => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const dispatcher = createDispatcher({ connect: { timeout: 1000 }, headersTimeout: 50, bodyTimeout: 50 })
  if (dispatcher === undefined) throw new Error('there is no agent to make one like')
  const asked = fetch(`http://127.0.0.1:${port}`, { dispatcher })
  await expect(asked).rejects.toMatchObject({ cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } })
})

it('carries whole answers, and closes the connection of one that is left', async () => {
  const server = await openServer({ text: 'one two three' })
  const timeouts = { connectMs: 20_000, headersMs: 600_000, streamIdleMs: 600_000 }
  const provider = chatProvider(server.url, { timeouts })
  const request = { model: 'm', messages: [textMessage('user', 'Hi')] } as const
  let text = ''
  for await (const event of provider.stream(request, new AbortController().signal)) {
    if (event.type === 'text') text += event.text
  }
  expect(text).toBe('one two three')
  const slow = await openServer({ text: 'a b', stallAfter: 1 })
  for await (const event of chatProvider(slow.url, { timeouts }).stream(request, new AbortController().signal)) {
    if (event.type === 'text') break
  }
  await slow.closedByClient()
})
