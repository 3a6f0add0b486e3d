// The load that `baton serve` must carry, against a server of its own with a scripted model:
//   npm run soak -- serve               500 runs, 200 streams, one run of 5,000 tasks, then 30 minutes of work
//   npm run soak -- serve --minutes 5   a shorter time
//   npm run soak -- serve --count 50    a tenth of the runs, streams and tasks
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { startModel } from '../bench/scripted-model.mjs'

const command = join(import.meta.dirname, '../dist/bin/baton.js')
const files = { 'say.md': '+++\nagent = "say.lua"\n+++\nSay {{input}}\n', 'say.lua': 'return "said"' }

/** Parts of the whole load, of `count` runs. Prints a table; returns how many of its promises were broken. */
export async function serveLoad({ minutes, count, write }) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-load-'))
  const cwd = join(folder, 'work')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  writeFileSync(join(cwd, '.git/HEAD'), 'x\n')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
  const model = await startModel(() => ({ words: ['An ', 'answer.'], thinksMs: 50 }))
  const env = {
    ...process.env,
    BATON_HOME: join(folder, 'home'),
    BATON_GATEWAY_URL: model.url,
    BATON_LOCAL_SERVERS: 'off',
  }
  const server = await openServer(['-c', 'model="m"', '-c', 'tools=[]'], { cwd, env })
  const load = { server, model, write, broken: /** @type {string[]} */ ([]) }
  write(row('', 'POST p50', 'p99', 'list p50', 'p99', 'idle p50', 'p99', 'server', 'took'))
  try {
    await manyRuns(load, count)
    await manyStreams(load, Math.ceil(count * 0.4), () => largeRun(load, count * 10))
    await longWork(load, minutes)
  } finally {
    await server.end()
    model.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  for (const problem of load.broken) write(`broken: ${problem}\n`)
  return load.broken.length
}

/** All at once: most of them wait for their turn. */
async function manyRuns(load, count) {
  const { server } = load
  const ids = []
  const posts = []
  await measured(load, `${count} runs`, posts, async () => {
    let left = count
    const startSome = async () => {
      while (left > 0) {
        left -= 1
        const begin = performance.now()
        ids.push((await server.post('/api/runs', { text: 'Hi' })).id)
        posts.push(performance.now() - begin)
      }
    }
    await Promise.all(Array.from({ length: 8 }, startSome))
    // one after the other, because a server has few hundred connections
    for (const id of ids) await server.ended(id)
  })
  const all = []
  for (const id of ids) all.push(await server.get(`/api/runs/${id}`))
  const failed = all.filter(({ run }) => run.status !== 'done')
  if (failed.length > 0) load.broken.push(`${failed.length} of ${count} runs did not end well`)
}

/** Streams of the run list, with other work beside them. */
async function manyStreams(load, count, work) {
  const { server } = load
  const streams = []
  for (let index = 0; index < count; index += 1) streams.push(await server.stream('/api/events'))
  await measured(load, `${count} streams`, [], () => sleep(5_000))
  await work()
  for (const stream of streams) stream.destroy()
}

/** The list is read beside a run with very many inputs, which somebody follows. */
async function largeRun(load, count) {
  const { server } = load
  const posts = []
  const inputs = Array.from({ length: count }, (_, index) => `text ${index}`)
  await measured(load, `one run of ${count} tasks`, posts, async () => {
    const begin = performance.now()
    const { id } = await server.post('/api/runs', { file: 'say.md', inputs })
    posts.push(performance.now() - begin)
    await server.ended(id)
    const { run } = await server.get(`/api/runs/${id}`)
    if (run.tasks.done !== count) load.broken.push(`${run.tasks.done} of ${count} tasks are done`)
  })
}

/** Runs and prompts one after the other by four clients. The figures of each tenth of the time are printed. */
async function longWork(load, minutes) {
  const { server } = load
  const part = (minutes * 60_000) / 10
  const found = []
  for (let index = 0; index < 10; index += 1) {
    const posts = []
    const until = performance.now() + part
    const figures = await measured(load, `work, part ${index + 1} of 10`, posts, async () => {
      const workSome = async () => {
        while (performance.now() < until) {
          const begin = performance.now()
          const { id } = await server.post('/api/runs', { text: 'Hi' })
          posts.push(performance.now() - begin)
          await server.ended(id)
        }
      }
      const converse = async () => {
        const { conversationId, promptId } = await server.post('/prompt', { input: 'Hi' })
        await server.ended(promptId)
        while (performance.now() < until) {
          await sleep(200)
          const more = await server.post('/prompt', { input: 'And then?', conversationId })
          await server.ended(more.promptId)
          await server.free(more.promptId)
        }
        await server.post(`/api/conversations/${conversationId}/close`, {})
      }
      await Promise.all([workSome(), workSome(), workSome(), converse()])
    })
    found.push(figures)
  }
  // what is loaded and compiled once is in the first part
  const [early, late] = [found.slice(1, 4), found.slice(7)].map((some) => ({
    megabytes: Math.max(...some.map((one) => one.megabytes)),
    ratio: middle(some.map(({ list, idle }) => quantile(list, 0.5) / quantile(idle, 0.5))),
  }))
  if (late.megabytes > early.megabytes * 1.2 + 10)
    load.broken.push(`memory grew from ${early.megabytes} to ${late.megabytes} MB`)
  if (late.ratio > early.ratio * 2)
    load.broken.push(
      `the list became slower: ${early.ratio.toFixed(1)} to ${late.ratio.toFixed(1)} times an idle server`,
    )
}

/**
 * Does work while the list is read again and again, and, to know how busy the machine is, a server that does nothing. Prints
 * the times in milliseconds.
 */
async function measured({ server, model, write }, what, posts, work) {
  const list = []
  const idle = []
  let isOver = false
  const begin = performance.now()
  const look = async () => {
    while (!isOver) {
      const before = performance.now()
      await server.get('/api/runs')
      const between = performance.now()
      await (await fetch(model.url.replace('/v1', '/'), { method: 'POST', body: '' })).text()
      list.push(between - before)
      idle.push(performance.now() - between - 50)
      await sleep(200)
    }
  }
  const looking = look()
  // it is reported where it is awaited
  looking.catch(() => undefined)
  await work()
  isOver = true
  await looking
  const megabytes = Math.round(residentBytes(server.pid) / 1e6)
  const both = (times) => [0.5, 0.99].map((part) => (times.length === 0 ? '' : `${Math.round(quantile(times, part))}`))
  const took = `${((performance.now() - begin) / 1000).toFixed(1)}s`
  write(row(what, ...both(posts), ...both(list), ...both(idle), `${megabytes}MB`, took))
  return { list, idle, megabytes }
}

async function openServer(args, options) {
  const child = spawn(process.execPath, [command, 'serve', '--json', ...args], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url, secret } = JSON.parse(line)
  const { origin } = new URL(url)
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const answerOf = async (path, init) => {
    const response = await fetch(`${origin}${path}`, { headers, ...init })
    const body = await response.json()
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${JSON.stringify(body)}`)
    return body
  }
  const get = (path) => answerOf(path)
  return {
    pid: child.pid,
    get,
    post: (path, body) => answerOf(path, { method: 'POST', body: JSON.stringify(body) }),
    /** Follows a run to its end. */
    async ended(id) {
      const response = await fetch(`${origin}/api/runs/${id}/events`, { headers })
      for await (const _ of response.body);
    },
    /** Waits until a run has given its place back. */
    async free(id) {
      while ((await get(`/api/runs/${id}`)).owned) await sleep(20)
    },
    stream: (path) => openStream(`${origin}${path}`, headers),
    async end() {
      child.kill('SIGINT')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

/** Resolves with the response when its first bytes arrive. */
function openStream(url, headers) {
  return new Promise((resolve, reject) => {
    const asking = request(url, { headers }, (response) => {
      response.once('data', () => resolve(response.resume())).on('error', () => undefined)
    })
    asking.once('error', reject).end()
  })
}

function residentBytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(kilobytes) * 1024
}

function quantile(times, part) {
  const sorted = times.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
}

function middle(numbers) {
  return quantile(numbers, 0.5)
}

function row(what, ...cells) {
  return `${what.padEnd(24)}${cells.map((cell) => cell.padStart(10)).join('')}\n`
}
