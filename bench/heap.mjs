// Preloaded into a server that is started with --expose-gc and an IPC channel: answers each message with the bytes of
// its heap after a garbage collection, and how many of them are compiled code.
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapCodeStatistics } from 'node:v8'

process.on('message', () => void tell())

async function tell() {
  // what is freed by finalizers is collected by a second one
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc()
    await sleep(50)
  }
  process.send({ used: process.memoryUsage().heapUsed, code: getHeapCodeStatistics().code_and_metadata_size })
}
process.channel.unref()
