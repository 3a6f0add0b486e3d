// Preloaded into a server that is started with --expose-gc and an IPC channel: answers each message with the bytes of
// its heap after a garbage collection.
import { setTimeout as sleep } from 'node:timers/promises'

process.on('message', async () => {
  // what is freed by finalizers is collected by a second one
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc()
    await sleep(50)
  }
  process.send(process.memoryUsage().heapUsed)
})
process.channel.unref()
