import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { figure, interleave, quotients } from './rounds.mjs'
import { startModel } from './scripted-model.mjs'

/**
 * The cost of `baton serve` against a bare Hono server: the time from sending a prompt to its first event, and the
 * memory of idle event streams.
 */
export async function serve({ command, folder, small }) {
  const streams = small ? 20 : 500
  const model = await startModel(() => ({ words: ['An answer.'] }))
  const cwd = join(folder, 'work')
  mkdirSync(cwd)
  const env = { ...process.env, BATON_HOME: join(folder, 'home'), BATON_GATEWAY_URL: model.url }
  const arguments_ = [command, 'serve', '--json', '-c', 'model="m"', '-c', 'tools=[]']
  const kinds = {
    baton: { open: () => openServer(arguments_, { cwd, env }), path: '/api/events' },
    bare: {
      open: () => openServer([join(import.meta.dirname, 'bare-server.mjs')], { cwd, env }),
      path: '/api/runs/one/events',
    },
  }
  try {
    const servers = { baton: await kinds.baton.open(), bare: await kinds.bare.open() }
    const times = await interleave(
      { baton: () => firstEvent(servers.baton), bare: () => firstEvent(servers.bare) },
      small ? 1 : 21,
    )
    for (const server of Object.values(servers)) await server.end()
    const bytes = await interleave(
      { baton: () => bytesOfStream(kinds.baton, streams), bare: () => bytesOfStream(kinds.bare, streams) },
      small ? 1 : 5,
    )
    const left = await bytesOfRuns(command, {
      cwd,
      env,
      ...(small ? { warmUp: 8, window: 16 } : { warmUp: 200, window: 400 }),
    })
    return [
      figure('from POST /prompt to its first event', {
        of: 'a bare Hono route',
        ratios: quotients(times.baton, times.bare),
      }),
      figure(`memory of an idle event stream, ${streams} at once`, {
        of: 'the same for a bare Hono route',
        ratios: quotients(bytes.baton, bytes.bare),
        aim: { atMost: 2 },
      }),
      figure('data that a finished run leaves in the heap', {
        of: '2 kB',
        ratios: left.map(({ data }) => data / 2_000),
        aim: { atMost: 1 },
      }),
      ...left.map(({ from, to, used }) =>
        figure(`the same with compiled code, runs ${from} to ${to}`, { of: '2 kB', ratios: [used / 2_000] }),
      ),
    ]
  } finally {
    model.stop()
  }
}

/** A server that prints its address and secret as JSON. */
async function openServer(args, options) {
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'ignore', 'ipc'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url, secret } = JSON.parse(line)
  const { origin } = new URL(url)
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  return {
    pid: child.pid,
    origin,
    headers,
    /** In bytes, after a garbage collection: all that is used, and the code in it. Requires `heapArguments`. */
    async heap() {
      child.send('heap')
      const [heap] = await once(child, 'message')
      return heap
    },
    async end() {
      child.kill('SIGINT')
      await once(child, 'exit')
    },
  }
}

/** In milliseconds. */
async function firstEvent({ origin, headers }) {
  const begin = performance.now()
  const asked = await fetch(`${origin}/prompt`, { method: 'POST', headers, body: JSON.stringify({ input: 'Hi' }) })
  if (asked.status !== 202) throw new Error(`POST /prompt returned ${asked.status}: ${await asked.text()}`)
  const { promptId } = await asked.json()
  const stop = new AbortController()
  const { body } = await fetch(`${origin}/api/runs/${promptId}/events`, { headers, signal: stop.signal })
  const { value } = await body.getReader().read()
  const time = performance.now() - begin
  // the run comes first if it has no rows yet
  if (!/^event: (?:rows|run)$/m.test(Buffer.from(value).toString()))
    throw new Error('the first event has neither rows nor the run')
  stop.abort()
  // the next one starts when this run has ended
  await sleep(100)
  return time
}

/** The growth of a server's memory per open stream. */
async function bytesOfStream({ open, path }, count) {
  const server = await open()
  const { origin, headers, pid } = server
  const url = `${origin}${path}`
  // what every server loads and creates once does not count
  for (const stream of await Promise.all(Array.from({ length: 20 }, () => openStream(url, headers)))) stream.destroy()
  await sleep(300)
  const before = residentBytes(pid)
  const streams = []
  for (let index = 0; index < count; index += 50) {
    const some = Array.from({ length: Math.min(50, count - index) }, () => openStream(url, headers))
    streams.push(...(await Promise.all(some)))
  }
  await sleep(300)
  const bytes = (residentBytes(pid) - before) / count
  for (const stream of streams) stream.destroy()
  await server.end()
  return Math.max(bytes, 1)
}

const heapArguments = ['--expose-gc', '--import', pathToFileURL(join(import.meta.dirname, 'heap.mjs')).href]
const windows = 3
const runsAtOnce = 8
/** Longer than a server keeps the rows of a run that nobody follows any more. */
const idleMs = 6_000

/**
 * The growth of a server's heap per run that has ended, in windows one after another: what a server creates once makes
 * the first one larger, and what it keeps of each run shows in all of them. Each run is followed to its end, and the list
 * is read now and then, as the page does.
 */
async function bytesOfRuns(command, { cwd, env, warmUp, window }) {
  const server = await openServer([...heapArguments, command, 'serve', '--json', '-c', 'model="m"', '-c', 'tools=[]'], {
    cwd,
    env: { ...env, BATON_HOME: join(cwd, '../home-of-runs') },
  })
  const { origin, headers } = server
  const listening = await openStream(`${origin}/api/events`, headers)
  const finish = async (count) => {
    let left = count
    const finishSome = async () => {
      while (left > 0) {
        left -= 1
        await finishRun(server)
        if (left % 20 === 0) await (await fetch(`${origin}/api/runs`, { headers })).text()
      }
    }
    await Promise.all(Array.from({ length: runsAtOnce }, finishSome))
    await sleep(idleMs)
    return server.heap()
  }
  const found = []
  let before = await finish(warmUp)
  for (let from = warmUp; from < warmUp + windows * window; from += window) {
    const after = await finish(window)
    const used = (after.used - before.used) / window
    found.push({ from: from + 1, to: from + window, used, data: used - (after.code - before.code) / window })
    before = after
  }
  listening.destroy()
  await server.end()
  return found
}

async function finishRun({ origin, headers }) {
  const started = await fetch(`${origin}/api/runs`, { method: 'POST', headers, body: JSON.stringify({ text: 'Hi' }) })
  // a run takes its place until shortly after its last event
  if (started.status === 429) {
    await started.text()
    await sleep(20)
    return finishRun({ origin, headers })
  }
  const { id } = await started.json()
  const events = await (await fetch(`${origin}/api/runs/${id}/events`, { headers })).text()
  if (!events.includes('event: over')) throw new Error(`run ${id} did not end: ${events}`)
}

/** Resolves with the response when its first bytes arrive. */
function openStream(url, headers) {
  return new Promise((resolve, reject) => {
    const asking = request(url, { headers }, (response) => {
      response.once('data', () => resolve(response)).on('error', () => undefined)
    })
    asking.once('error', reject).end()
  })
}

function residentBytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(kilobytes) * 1024
}
