import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Closers, createClosers } from '../../base/closers.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { holdingEntry } from '../../base/held-place.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type Boxed, type Boxing, type Command, statusDescriptor, unseenFolder } from './boxed.ts'
import { bwrapArguments } from './bwrap.ts'
import { boxEnvironment } from './environment.ts'
import { holdPlaces } from './hold-places.ts'
import { leaveFolder, outlive, useFolder } from './janitor.ts'
import { isSeen, planBox } from './plan.ts'
import { countsTasksApart } from './probe.ts'
import { startProxy } from './proxy.ts'
import { proxyPort, relayStart, socketName } from './relay.ts'
import { openTaskGroup } from './task-group.ts'
import { watchBox } from './watch-box.ts'

/** Threads count as well. */
const tasksOfProcess = 16

/** Wraps the command in a `bwrap` sandbox. */
export async function bwrapBox(
  command: Command,
  { program, rights, opened }: Boxing,
  context: RunContext,
): Promise<Boxed> {
  const cwd = realPath(command.cwd)
  const { places, missing, warnings } = await planBox(
    rights,
    { needed: [process.execPath], opened: opened ?? [] },
    context,
  )
  if (!isSeen(cwd, places)) throw unseenFolder(cwd)
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
        outlive(pid)
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
  useFolder(folder)
  parts.add(() => leaveFolder(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
    const socket = join(folder, holdingEntry(process.pid))
    const { close } = await startProxy(network, socket)
    parts.add(close)
    return socket
  } catch (error) {
    const message = `the sandbox proxy cannot listen in ${folder}: ${messageOf(error)}`
    throw new BatonError('SANDBOX', message, { cause: error, hint: 'Set TMPDIR to a folder with a short path.' })
  }
}
