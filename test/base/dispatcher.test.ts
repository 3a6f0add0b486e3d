import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createDispatcher } from '../../src/base/dispatcher.ts'

it('the limits of fetch are set by Baton', async () => {
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
