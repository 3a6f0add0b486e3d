import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { realPath } from '../../base/files.ts'
import { holdingEntry } from '../../base/held-place.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type Boxed, type Boxing, type Command, unseenFolder } from './boxed.ts'
import { bwrapArguments } from './bwrap.ts'
import { boxEnvironment } from './environment.ts'
import { holdPlaces } from './hold-places.ts'
import { leaveFolder, useFolder } from './janitor.ts'
import { isSeen, planBox } from './plan.ts'
import { countsTasksApart } from './probe.ts'
import { type Proxy, startProxy } from './proxy.ts'
import { proxyPort, relayStart, socketName } from './relay.ts'
import { openTaskGroup } from './task-group.ts'
import { watchBox } from './watch-box.ts'

/** Threads count as well. */
const tasksOfProcess = 16

/** The command in a box of `bwrap`. */
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
  const way = rights.network.length === 0 ? undefined : await openWay(rights.network)
  try {
    const held = holdPlaces(missing)
    const mark = `box-${randomBytes(8).toString('hex')}`
    const tasks = rights.processes * tasksOfProcess
    const proxy = way === undefined ? {} : { proxy: `http://127.0.0.1:${proxyPort}` }
    const args = bwrapArguments(
      { ...command, cwd, environment: boxEnvironment(command.environment, { cwd, temporary: '/tmp', ...proxy }) },
      {
        ...places,
        kept: [...places.kept, ...held.held],
        tmpMb: rights.tmp_mb,
        fileMb: rights.file_mb,
        ...(process.getuid?.() === 0 || !countsTasksApart() ? {} : { tasks }),
        ...(way === undefined
          ? { given: {} }
          : { given: { [socketName]: way.socket }, before: relayStart(process.execPath) }),
        mark,
      },
    )
    const watch = watchBox(mark, rights)
    const isModels = opened === undefined
    const endWriting = isModels && places.canWrite ? context.services.sources.writing(places.workspace) : () => {}
    const group = openTaskGroup(tasks)
    return {
      ...(group === undefined
        ? { command: program, args }
        : { command: '/bin/sh', args: ['-c', 'echo 0 >"$0" && exec "$@"', group.door, program, ...args] }),
      // nothing of the environment outside is seen: that of bwrap itself can be read in the box
      environment: {},
      cwd: dirname(program),
      stopped: watch.stopped,
      async close() {
        watch.end()
        endWriting()
        held.release()
        await group?.close()
        await way?.close()
      },
    }
  } catch (error) {
    await way?.close()
    throw error
  }
}

/** The way to the network: a proxy on a socket in a folder of its own, which goes with it. */
async function openWay(network: readonly string[]): Promise<Proxy & { readonly socket: string }> {
  const folder = realPath(join(tmpdir(), `baton-box-${randomBytes(8).toString('hex')}`))
  useFolder(folder)
  try {
    mkdirSync(folder, { mode: 0o700 })
    const socket = join(folder, holdingEntry(process.pid))
    const { close } = await startProxy(network, socket)
    return {
      socket,
      async close() {
        await close()
        leaveFolder(folder)
      },
    }
  } catch (error) {
    leaveFolder(folder)
    throw error
  }
}
