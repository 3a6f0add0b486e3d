import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type SandboxRights, strictestSandbox } from '../../event/sandbox-rights.ts'
import type { RunSources } from '../../event/sources.ts'
import { bwrapArguments, type Command } from './bwrap.ts'
import { boxEnvironment } from './environment.ts'
import { holdPlaces } from './hold-places.ts'
import { leaveFolder, socketName, useFolder } from './janitor.ts'
import { isSeen, planBox } from './plan.ts'
import { countsTasksApart, findBoxer, sandboxProblem } from './probe.ts'
import { type Proxy, startProxy } from './proxy.ts'
import { proxyPort, relayStart } from './relay.ts'
import { openTaskGroup } from './task-group.ts'
import { watchBox } from './watch-box.ts'

/** A command as it is to be started, once. */
export interface Boxed extends Command {
  /** Why the box has ended the command, as the end of a sentence; undefined: it has not. */
  readonly stopped: () => string | undefined
  /** To be called when the command has ended, however it did: ends what belongs to its box. */
  readonly close: () => Promise<void>
}

/**
 * The command in a box that holds it to the rights of the context: what of the disk it may read and change, the network,
 * memory and processes. `opened`: absolute folders that can be read although what they are in is hidden. With "danger-full-access" it is the command as it is. R309, R310, R311.
 * @throws BatonError SANDBOX where a box is needed and none can be had
 */
export async function boxCommand(
  command: Command,
  context: RunContext,
  opened: readonly string[] = [],
): Promise<Boxed> {
  const { scope, services } = context
  const rights = scope.rights.sandbox ?? strictestSandbox
  if (rights.mode === 'danger-full-access') {
    tellOnce(rights, undefined, context)
    return asItIs(command)
  }
  const machine = { env: services.env, workspace: realPath(scope.folders.workspace) }
  const problem = await sandboxProblem(rights, machine)
  if (problem !== undefined) throw problem
  const boxer = await findBoxer(machine)
  const program = boxer.kind === 'none' ? '' : boxer.program
  tellOnce(rights, program, context)
  return bwrapBox(command, { program, rights, opened }, context)
}

/** What each run has told of its boxes; all parts of a run share their sources. */
const told = new WeakMap<RunSources, Set<string>>()

function tellOnce({ mode, network }: SandboxRights, program: string | undefined, context: RunContext): void {
  const { sources } = context.services
  const before = told.get(sources) ?? new Set()
  const event = { type: 'sandbox.used', mode, ...defined({ program }), network } as const
  const text = JSON.stringify(event)
  if (!before.has(text)) emit(context, event)
  told.set(sources, before.add(text))
}

function asItIs(command: Command): Boxed {
  return { ...command, stopped: () => undefined, close: async () => {} }
}

interface Boxing {
  readonly program: string
  readonly rights: SandboxRights
  readonly opened: readonly string[]
}

async function bwrapBox(command: Command, { program, rights, opened }: Boxing, context: RunContext): Promise<Boxed> {
  const { network } = rights
  const cwd = realPath(command.cwd)
  const { places, missing, warnings } = await planBox(rights, { needed: [process.execPath], opened }, context)
  if (!isSeen(cwd, places)) {
    throw new BatonError('SANDBOX', `${cwd} cannot be seen in the sandbox`, { hint: 'Use a folder of the workspace.' })
  }
  for (const message of warnings) emit(context, { type: 'warning', message })
  const held = holdPlaces(missing)
  const way = network.length === 0 ? undefined : await openWay(network)
  const mark = `box-${randomBytes(8).toString('hex')}`
  const tasks = rights.processes * tasksOfProcess
  const proxy = way === undefined ? {} : { proxy: `http://127.0.0.1:${proxyPort}` }
  const args = bwrapArguments(
    { ...command, cwd, environment: boxEnvironment(command.environment, { cwd, ...proxy }) },
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
      held.release()
      await group?.close()
      await way?.close()
    },
  }
}

/** Threads count as well. */
const tasksOfProcess = 16

/** The way to the network: a proxy on a socket in a folder of its own, which goes with it. */
async function openWay(network: readonly string[]): Promise<Proxy & { readonly socket: string }> {
  const folder = realPath(join(tmpdir(), `baton-box-${randomBytes(8).toString('hex')}`))
  useFolder(folder)
  mkdirSync(folder, { mode: 0o700 })
  const socket = join(folder, socketName)
  const { close } = await startProxy(network, socket)
  return {
    socket,
    async close() {
      await close()
      leaveFolder(folder)
    },
  }
}
