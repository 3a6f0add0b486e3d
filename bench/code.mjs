import { createContext, Script } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { figure, interleave, quotients } from './rounds.mjs'

/**
 * The cost of isolating programs of models: the first program of a box, which starts its thread; another program, with
 * its own engine; and a call of a function. Compared with `node:vm`, which does not isolate: a fresh context, and a
 * call of a host function. How fast the programs themselves run is not measured here.
 */
export async function code({ library, small }) {
  const { createJavaScriptBox } = await import(`${library}/script/javascript/box.js`)
  const { defaultLimits } = await import(`${library}/script/javascript/program.js`)
  const [boxes, programs, calls] = small ? [1, 2, 20] : [10, 100, 5_000]

  const record = { path: 'src/main.ts', lines: { first: 1, last: 40 }, tags: ['entry', 'process'] }
  const host = { functions: [{ name: 'read', waits: true }], call: async ({ args: [value] }) => ({ value }) }
  const options = { limits: defaultLimits, seed: 1, now: 0, signal: new AbortController().signal }
  const inBox = async (box, text, value) => {
    const end = await box.run({ code: text, input: record }, host, options)
    if (end.kind !== 'value' || end.value !== value) throw new Error(`a program ended with ${JSON.stringify(end)}`)
  }
  const inContext = (text, value) => {
    const result = new Script(text).runInContext(createContext({ input: record, read: (given) => given }))
    if (result !== value) throw new Error(`a script returned ${result}`)
  }
  const line = ['input.lines.last + 1', 41]
  const loop = [`let sum = 0; for (let i = 0; i < ${calls}; i++) sum += read(input).lines.first; sum`, calls]

  const box = createJavaScriptBox()
  const thread = new Worker(
    `const { parentPort } = require('node:worker_threads')
    parentPort.on('message', (value) => parentPort.postMessage(value))`,
    { eval: true },
  )
  const limitsOfCalls = { ...options, limits: { ...defaultLimits, calls } }
  const times = await interleave(
    {
      first: perOne(boxes, async () => {
        const fresh = createJavaScriptBox()
        await inBox(fresh, ...line)
        await fresh.close()
      }),
      next: perOne(programs, () => inBox(box, ...line)),
      context: perOne(programs, () => inContext(...line)),
      call: perOne(1, async () => {
        const end = await box.run({ code: loop[0], input: record }, host, limitsOfCalls)
        if (end.value !== loop[1]) throw new Error(`a program ended with ${JSON.stringify(end)}`)
      }),
      plainCall: perOne(1, () => inContext(...loop)),
      threadCall: perOne(1, async () => {
        for (let index = 0; index < calls; index += 1) {
          const answer = new Promise((resolve) => thread.once('message', resolve))
          thread.postMessage(record)
          await answer
        }
      }),
    },
    small ? 1 : 7,
  )
  await box.close()
  await thread.terminate()
  const context = 'fresh node:vm context, one line'
  return [
    figure('first program of a box', { of: context, ratios: quotients(times.first, times.context) }),
    figure('a further program', { of: context, ratios: quotients(times.next, times.context) }),
    figure('a call of a function with a record', {
      of: 'the same in a node:vm context',
      ratios: quotients(times.call, times.plainCall),
    }),
    figure('the same', { of: 'a message to a thread and back', ratios: quotients(times.call, times.threadCall) }),
  ]
}

function perOne(count, work) {
  return async () => {
    const started = performance.now()
    for (let index = 0; index < count; index += 1) await work()
    return (performance.now() - started) / count
  }
}
