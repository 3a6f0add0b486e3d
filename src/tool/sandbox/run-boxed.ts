import { BatonError } from '../../base/error.ts'
import {
  type NotStarted,
  type ProcessOptions,
  type ProcessResult,
  runProcess,
  type StartedProcess,
  type StartOptions,
  startProcess,
} from '../../base/process.ts'
import { emitOnce } from '../../event/context.ts'
import { realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { type SandboxRights, strictestSandbox } from '../../event/sandbox-rights.ts'
import type { BoxContext, Boxed, Command, EndedBox, StartedBox } from './boxed-command.ts'
import { findBoxer, noSandbox } from './probe.ts'

/**
 * Starts a program in a sandbox, as `startProcess` does without one. `opened`, for a program named by an author:
 * absolute folders that stay readable although their parent is hidden. Leaves nothing behind, whether it starts or not.
 * @throws BatonError SANDBOX if no sandbox is available, and what `onStart` throws
 */
export async function startBoxed(
  options: Omit<StartOptions, 'onStatus'>,
  context: BoxContext,
  opened?: readonly string[],
): Promise<StartedBox | NotStarted> {
  const { command, args, cwd, environment } = options
  const boxed = await boxCommand({ command, args, cwd, environment }, context, opened)
  const { onStart, onStatus, stopped, close, ...inBox } = boxed
  const begun = (pid: number): void => {
    onStart?.(pid)
    options.onStart?.(pid)
  }
  const isAwaited = onStart !== undefined || options.onStart !== undefined
  const all = { ...options, ...inBox, ...(onStatus && { onStatus }), ...(isAwaited && { onStart: begun }) }
  try {
    const started = await startProcess(all)
    if (started.kind === 'started') return { ...started, ended: untilClosed(started) }
    await close()
    return started
  } catch (error) {
    await close()
    throw error
  }

  async function untilClosed({ ended }: StartedProcess): Promise<EndedBox> {
    const end = await ended
    const reason = stopped()
    await close()
    return reason === undefined ? end : { ...end, stopped: reason }
  }
}

/**
 * Runs a program to completion in a sandbox. Results and rejections are those of `runProcess`.
 * @throws BatonError SANDBOX if no sandbox is available, LIMIT if the sandbox ended it
 */
export async function runBoxed(
  options: ProcessOptions,
  context: BoxContext,
  signal: AbortSignal,
): Promise<ProcessResult> {
  let box: StartedBox | NotStarted | undefined
  // packs keep their programs next to their scripts
  const opened = context.scope.folders.packRoots
  const result = await runProcess(options, signal, async (all) => (box = await startBoxed(all, context, opened)))
  const { stopped } = box?.kind === 'started' ? await box.ended : {}
  if (stopped === undefined) return result
  throw new BatonError('LIMIT', `${options.command} was ended by the sandbox: ${stopped}`)
}

/**
 * Wraps a command in a sandbox that enforces the rights of the context: file reads and writes, network, memory and
 * processes. `opened`, for a command written by an author: absolute folders that stay readable although their parent is
 * hidden. With "danger-full-access" the command is returned unchanged.
 * @throws BatonError SANDBOX if a sandbox is needed and none is available
 */
async function boxCommand(command: Command, context: BoxContext, opened?: readonly string[]): Promise<Boxed> {
  const { scope, services } = context
  const rights = scope.rights.sandbox ?? strictestSandbox
  if (rights.mode === 'danger-full-access') {
    tellOnce(rights, undefined, context)
    return { ...command, stopped: () => undefined, close: async () => {} }
  }
  const boxer = await findBoxer({ env: services.env, workspace: realPath(scope.folders.workspace) })
  if (boxer.kind === 'none') throw noSandbox(boxer, rights)
  const { kind, program } = boxer
  tellOnce(rights, program, context)
  const make =
    kind === 'bwrap' ? (await import('./bwrap-box.ts')).bwrapBox : (await import('./seatbelt.ts')).seatbeltBox
  return make(command, { program, rights, opened }, context)
}

function tellOnce({ mode, network }: SandboxRights, program: string | undefined, context: BoxContext): void {
  const event = { type: 'sandbox.used', mode, ...defined({ program }), network } as const
  emitOnce(context, JSON.stringify(event), event)
}
