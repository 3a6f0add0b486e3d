import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setInterval } from 'node:timers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Closers, createClosers } from '../../base/closers.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { holderEntry } from '../../base/placeholder.ts'
import { emit } from '../../event/context.ts'
import {
  type BoxContext,
  type Boxed,
  type Boxing,
  type Command,
  statusDescriptor,
  hiddenFolderError,
} from './boxed-command.ts'
import { bwrapArguments, inputFolder } from './bwrap.ts'
import { boxEnvironment } from './environment.ts'
import { holdPlaces, releaseFolder, holdUntilEnd, retainFolder } from './hold-places.ts'
import { isSeen, planBox } from './plan.ts'
import { countsTasksApart } from './probe.ts'
import { startProxy } from './proxy.ts'
import { openTaskGroup } from './task-group.ts'
import { shellWord } from '../../base/command.ts'
import { processStatus } from '../../base/process-group.ts'
import type { SandboxRights } from '../../event/sandbox-rights.ts'

/** Threads count as well. */
const tasksOfProcess = 16

/** Wraps the command in a `bwrap` sandbox. */
export async function bwrapBox(
  command: Command,
  { program, rights, opened }: Boxing,
  context: BoxContext,
): Promise<Boxed> {
  const cwd = realPath(command.cwd)
  const { places, missing, warnings } = await planBox(
    rights,
    { needed: [process.execPath], opened: opened ?? [] },
    context,
  )
  if (!isSeen(cwd, places)) throw hiddenFolderError(cwd)
  for (const message of warnings) emit(context, { type: 'warning', message })
  const parts = createClosers()
  try {
    const group = openTaskGroup(rights.processes * tasksOfProcess)
    if (group !== undefined) parts.add(group.close)
    const socket = rights.network.length === 0 ? undefined : await openWay(rights.network, parts)
    const held = holdPlaces(missing)
    parts.add(held.release)
    if (opened === undefined && places.canWrite) parts.add(context.services.sources.writing(places.workspace))
    const watch = watchBox(rights)
    parts.add(watch.end)
    const proxy = socket === undefined ? {} : { proxy: `http://127.0.0.1:${proxyPort}` }
    const args = bwrapArguments(
      { ...command, cwd, environment: boxEnvironment(command.environment, { cwd, temporary: '/tmp', ...proxy }) },
      {
        ...places,
        kept: [...places.kept, ...held.held],
        tmpMb: rights.tmp_mb,
        fileMb: rights.file_mb,
        ...(process.getuid?.() === 0 || !countsTasksApart() ? {} : { tasks: rights.processes * tasksOfProcess }),
        ...(socket === undefined
          ? { given: {} }
          : { given: { [socketName]: socket }, before: relayStart(process.execPath) }),
      },
    )
    return {
      command: program,
      args: ['--info-fd', String(statusDescriptor), ...args],
      // no variable of the parent environment: the environment of bwrap itself can be read in the sandbox
      environment: {},
      cwd: dirname(program),
      ...(group === undefined ? {} : { onStart: group.enter }),
      onStatus: readFirstProcess((pid) => {
        watch.begin(pid)
        holdUntilEnd(pid)
      }),
      innerLeader: watch.first,
      stopped: watch.stopped,
      close: parts.close,
    }
  } catch (error) {
    await parts.close()
    throw error
  }
}

/** Reads the status that `bwrap` reports about a new sandbox: a JSON object with the PID of its first process. */
function readFirstProcess(found: (pid: number) => void): (bytes: Buffer) => void {
  let text = ''
  return (bytes) => {
    text += bytes.toString('utf8')
    const [, pid] = /"child-pid": *(\d+)[^\d]/.exec(text) ?? []
    if (pid === undefined) return
    text = ''
    found(Number(pid))
  }
}

/** Opens network access: a proxy on a socket (absolute path) in its own folder, which is removed with it. */
async function openWay(network: readonly string[], parts: Closers): Promise<string> {
  const folder = realPath(join(tmpdir(), `baton-box-${randomBytes(8).toString('hex')}`))
  retainFolder(folder)
  parts.add(() => releaseFolder(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
    const socket = join(folder, holderEntry(process.pid))
    const { close } = await startProxy(network, socket)
    parts.add(close)
    return socket
  } catch (error) {
    const message = `the sandbox proxy cannot listen in ${folder}: ${messageOf(error)}`
    throw new BatonError('SANDBOX', message, { cause: error, hint: 'Set TMPDIR to a folder with a short path.' })
  }
}

/** The port of the proxy in the sandbox, which has its own network namespace with nothing else in it. */
const proxyPort = 3128

/** The name of the proxy's socket among the files given to a sandbox. */
const socketName = 'proxy.sock'

const socket = `${inputFolder}/${socketName}`

/**
 * Runs in the sandbox: forwards connections on the port to the socket of the proxy outside. A side that has closed its
 * sending direction still gets its answer.
 */
const program = `
const net = require('node:net')
net.createServer({ allowHalfOpen: true }, (inner) => {
  const outer = net.connect({ path: '${socket}', allowHalfOpen: true })
  const end = () => { inner.destroy(); outer.destroy() }
  for (const side of [inner, outer]) side.on('error', end)
  inner.pipe(outer).pipe(inner)
}).listen(${proxyPort}, '127.0.0.1', () => require('node:fs').writeSync(1, '\\n'))
`

/**
 * Shell commands that run in the sandbox before the command: start the relay as an orphan, and wait until it listens.
 */
function relayStart(node: string): string {
  const ready = '/run/ready'
  return [
    `mkfifo ${ready}`,
    `(${shellWord(node)} -e ${shellWord(program)} >${ready} 2>/dev/null </dev/null &)`,
    `read -r started <${ready}`,
    `rm -f ${ready}`,
  ].join('\n')
}

interface BoxWatch {
  /** Call with the first process of the sandbox, by its PID outside: the sandbox ends with it. */
  readonly begin: (pid: number) => void
  /** That process, while it runs. */
  readonly first: () => number | undefined
  /** Why the sandbox was ended, as the end of a sentence; undefined if it was not. */
  readonly stopped: () => string | undefined
  /** Ends the sandbox. Resolves when none of its processes runs any more. */
  readonly end: () => Promise<void>
}

const intervalMs = 100
const pollMs = 2
/** Processes that cannot be killed because they wait for a disk do nothing further either. */
const longestEndMs = 10_000

/**
 * Counts the processes of a sandbox and their memory, and ends the sandbox when a limit is exceeded: limits that a
 * process sets for itself apply to each process separately, and not to root. Linux only.
 */
function watchBox({ memory_mb, processes }: Pick<SandboxRights, 'memory_mb' | 'processes'>): BoxWatch {
  let first: number | undefined
  let startTicks: string | undefined
  let reason: string | undefined
  let timer: NodeJS.Timeout | undefined

  /** The PID may have been reused. The kernel releases it only after all other processes of its sandbox have ended. */
  function runs(pid: number): boolean {
    const status = processStatus(pid)
    return status !== undefined && status.startTicks === startTicks && !'ZX'.includes(status.state)
  }

  function look(pid: number): void {
    if (reason !== undefined || !runs(pid)) return
    const inside = descendantsOf(pid)
    reason = tooMany(inside, processes) ?? tooMuch([pid, ...inside], memory_mb)
    if (reason !== undefined) kill(pid)
  }

  return {
    begin(pid) {
      first = pid
      startTicks = processStatus(pid)?.startTicks
      timer = setInterval(() => look(pid), intervalMs)
      timer.unref()
    },
    first: () => (first !== undefined && runs(first) ? first : undefined),
    stopped: () => reason,
    async end() {
      clearInterval(timer)
      if (first === undefined) return
      if (runs(first)) kill(first)
      for (let waited = 0; waited < longestEndMs && runs(first); waited += pollMs) await sleep(pollMs)
    },
  }
}

function tooMany({ length }: readonly number[], most: number): string | undefined {
  return length > most ? `it had more than ${most} processes ([sandbox] processes)` : undefined
}

function tooMuch(pids: readonly number[], most: number): string | undefined {
  const kilobytes = pids.reduce((sum, pid) => sum + ownMemory(pid), 0)
  return kilobytes > most * 1024 ? `it used more than ${most} MiB of memory ([sandbox] memory_mb)` : undefined
}

/** The memory of a process without file mappings, in KiB. */
function ownMemory(pid: number): number {
  const status = textOf(pid, 'status')
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  return field('RssAnon') + field('RssShmem')
}

/** Outermost first. */
function descendantsOf(pid: number): readonly number[] {
  const found: number[] = []
  for (let level = childrenOf(pid); level.length > 0; level = level.flatMap(childrenOf)) found.push(...level)
  return found
}

function childrenOf(pid: number): readonly number[] {
  return threadsOf(pid).flatMap((thread) =>
    textOf(pid, `task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Empty for a process that has ended. */
function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has already ended
  }
}
