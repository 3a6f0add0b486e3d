import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A process that runs longer counts as hung. */
export const limitMs = 300_000

/** The environment of a measured process: nothing that could change its behavior. */
export function cleanEnv(folder, more = {}) {
  return { PATH: process.env.PATH, HOME: folder, BATON_HOME: join(folder, 'state'), NO_COLOR: '1', ...more }
}

/**
 * Runs node with these arguments to its end. Returns the wall time in milliseconds, the wall clock at the end and the
 * contents of stdout, which is a file so that reading it costs the measured process nothing.
 * @throws Error when the process fails
 */
export async function runNode(args, { folder, env = {} }) {
  const outFile = join(folder, 'stdout.txt')
  const errFile = join(folder, 'stderr.txt')
  const out = openSync(outFile, 'w')
  const err = openSync(errFile, 'w')
  try {
    const started = performance.now()
    const { code, signal } = await ending(
      spawn(process.execPath, args, {
        cwd: folder,
        env: cleanEnv(folder, env),
        stdio: ['ignore', out, err],
        timeout: limitMs,
        killSignal: 'SIGKILL',
      }),
    )
    const ended = performance.now()
    if (code !== 0)
      throw new Error(`node ${args.join(' ')} exited with ${code ?? signal}: ${readFileSync(errFile, 'utf8')}`)
    return { ms: ended - started, endedAt: performance.timeOrigin + ended, stdout: readFileSync(outFile, 'utf8') }
  } finally {
    closeSync(out)
    closeSync(err)
  }
}

function ending(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

/** Like `runNode`, plus the resources that the process used: peak memory in kilobytes, CPU time in milliseconds. */
export async function runCounted(args, { folder, env = {} }) {
  const file = join(folder, 'usage.json')
  const preload = pathToFileURL(join(import.meta.dirname, 'usage.mjs')).href
  const result = await runNode(['--import', preload, ...args], { folder, env: { ...env, BENCH_USAGE_FILE: file } })
  return { ...result, ...JSON.parse(readFileSync(file, 'utf8')) }
}

/**
 * Runs node with these arguments to its end, with nothing loaded into it. Returns its CPU time in milliseconds, from
 * start to end and of all its threads, as the shell measures it, and the contents of stdout.
 * @throws Error when the process fails
 */
export async function runBare(args, { folder, env = {} }) {
  const script = 'TIMEFORMAT="%3U %3S"; time "$0" "$@" >stdout.txt 2>stderr.txt'
  const timesFile = join(folder, 'times.txt')
  const times = openSync(timesFile, 'w')
  try {
    const { code, signal } = await ending(
      spawn('bash', ['-c', script, process.execPath, ...args], {
        cwd: folder,
        env: cleanEnv(folder, env),
        stdio: ['ignore', 'ignore', times],
        timeout: limitMs,
        killSignal: 'SIGKILL',
      }),
    )
    const written = readFileSync(timesFile, 'utf8')
    const [, user, system] = /^(\d+\.\d+) (\d+\.\d+)$/m.exec(written) ?? []
    if (code !== 0 || system === undefined) {
      const why = readFileSync(join(folder, 'stderr.txt'), 'utf8')
      throw new Error(`node ${args.join(' ')} exited with ${code ?? signal}: ${why}${written}`)
    }
    return { cpu: (Number(user) + Number(system)) * 1000, stdout: readFileSync(join(folder, 'stdout.txt'), 'utf8') }
  } finally {
    closeSync(times)
  }
}
