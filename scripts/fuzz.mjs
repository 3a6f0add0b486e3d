// Fuzzes one parser in a separate process, to measure its memory, and in a thread, so that it can be stopped:
//   node scripts/fuzz.mjs NAME SEED COUNT
// prints a line of JSON: inputs, failures, slowestMs, slowest, megabytes, seconds.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { register } from 'tsx/esm/api'

/** The time limit per input in milliseconds. Far above the slowest of millions, to allow for loaded machines. */
const budgetMs = 10_000
const batch = 2000

if (isMainThread) await watch(process.argv.slice(2))
else await work(workerData)

async function watch([name, seed, count]) {
  const current = new Int32Array(new SharedArrayBuffer(4))
  Atomics.store(current, 0, -1)
  const start = performance.now()
  const worker = new Worker(new URL(import.meta.url), { workerData: { name, seed: +seed, count: +count, current } })
  let seen = -1
  let since = start
  const timer = setInterval(() => {
    const now = Atomics.load(current, 0)
    if (now !== seen) [seen, since] = [now, performance.now()]
    else if (now >= 0 && performance.now() - since > budgetMs) {
      const failures = [{ number: now, input: '', problem: `took more than ${budgetMs / 1000} s` }]
      done({ inputs: now, failures, slowestMs: budgetMs, slowest: now })
    }
  }, 500)
  const done = (report) => {
    clearInterval(timer)
    const megabytes = Math.round(process.resourceUsage().maxRSS / 1024)
    const seconds = Math.round((performance.now() - start) / 1000)
    process.stdout.write(`${JSON.stringify({ ...report, megabytes, seconds })}\n`, () => process.exit())
  }
  worker.on('message', done)
  worker.on('error', (error) =>
    done({
      inputs: seen,
      failures: [{ number: seen, input: '', problem: String(error) }],
      slowestMs: 0,
      slowest: seen,
    }),
  )
}

async function work({ name, seed, count, current }) {
  register()
  const { fuzzedParsers } = await import('../test/attack/fuzz/parsers.ts')
  const { fuzz } = await import('../test/attack/fuzz/run.ts')
  const parser = (await fuzzedParsers()).find((one) => one.name === name)
  // exclude the code that a parser loads on first use from the time of any input
  for (const text of parser.seeds) await parser.read(text).catch(() => undefined)
  const total = { inputs: 0, failures: [], slowestMs: 0, slowest: 0 }
  while (total.inputs < count && total.failures.length === 0) {
    const from = total.inputs
    const onInput = (number) => Atomics.store(current, 0, number)
    const { inputs, failures, slowestMs, slowest } = await fuzz(parser, {
      seed,
      from,
      count: Math.min(batch, count - from),
      onInput,
    })
    total.inputs += inputs
    total.failures.push(...failures)
    if (slowestMs > total.slowestMs) Object.assign(total, { slowestMs, slowest })
    // lets the event loop release what is no longer referenced
    await new Promise((resolve) => setImmediate(resolve))
  }
  parentPort.postMessage(total)
}
