import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type SandboxRights, strictestSandbox } from '../../event/sandbox-rights.ts'
import { bwrapArguments, type Command } from './bwrap.ts'
import { boxEnvironment } from './environment.ts'
import { planBox } from './plan.ts'
import { countsTasksApart, findBoxer, sandboxProblem } from './probe.ts'

/** A command as it is to be started, once. */
export interface Boxed extends Command {
  /** Why the box has ended the command, as the end of a sentence; undefined: it has not. */
  readonly stopped: () => string | undefined
  /** To be called when the command has ended, however it did: ends what belongs to its box. */
  readonly close: () => Promise<void>
}

/**
 * The command in a box that holds it to the rights of the context: what of the disk it may read and change, the network,
 * memory and processes. With "danger-full-access" it is the command as it is.
 * @throws BatonError SANDBOX where a box is needed and none can be had
 */
export async function boxCommand(command: Command, context: RunContext): Promise<Boxed> {
  const { scope, services } = context
  const rights = scope.rights.sandbox ?? strictestSandbox
  if (rights.mode === 'danger-full-access') return asItIs(command)
  const machine = { env: services.env, workspace: realPath(scope.folders.workspace) }
  const problem = await sandboxProblem(rights, machine)
  if (problem !== undefined) throw problem
  const boxer = await findBoxer(machine)
  return bwrapBox(command, { program: boxer.kind === 'none' ? '' : boxer.program, rights }, context)
}

function asItIs(command: Command): Boxed {
  return { ...command, stopped: () => undefined, close: async () => {} }
}

interface Boxing {
  readonly program: string
  readonly rights: SandboxRights
}

async function bwrapBox(command: Command, { program, rights }: Boxing, context: RunContext): Promise<Boxed> {
  const cwd = realPath(command.cwd)
  const { places, warnings } = await planBox(rights, { cwd, needed: [] }, context)
  if (places.hiddenFolders.some((folder) => isInside(folder, cwd) && !isInside(places.workspace, cwd))) {
    throw new BatonError('SANDBOX', `${cwd} cannot be seen in the sandbox`, { hint: 'Use a folder of the workspace.' })
  }
  for (const message of warnings) emit(context, { type: 'warning', message })
  const mark = `box-${randomBytes(8).toString('hex')}`
  const args = bwrapArguments(
    { ...command, cwd, environment: boxEnvironment(command.environment, { cwd }) },
    {
      ...places,
      tmpMb: rights.tmp_mb,
      fileMb: rights.file_mb,
      ...(process.getuid?.() === 0 || !countsTasksApart() ? {} : { tasks: rights.processes * tasksOfProcess }),
      given: {},
      mark,
    },
  )
  return {
    command: program,
    args,
    // nothing of the environment outside is seen: that of bwrap itself can be read in the box
    environment: {},
    cwd: dirname(program),
    stopped: () => undefined,
    close: async () => {},
  }
}

/** Threads count as well. */
const tasksOfProcess = 16
