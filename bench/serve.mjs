import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
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
    ]
  } finally {
    model.stop()
  }
}

/** A server that prints its address and secret as JSON. */
async function openServer(args, options) {
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url, secret } = JSON.parse(line)
  const { origin } = new URL(url)
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  return {
    pid: child.pid,
    origin,
    headers,
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
  if (!Buffer.from(value).toString().includes('event: rows')) throw new Error('the first event is not a rows event')
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
