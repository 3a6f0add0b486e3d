import { BatonError } from '../../base/error.ts'
import {
  type EndedProcess,
  type NotStarted,
  type ProcessOptions,
  type ProcessResult,
  runProcess,
  type StartedProcess,
  type StartOptions,
  startProcess,
} from '../../base/process.ts'
import type { RunContext } from '../../event/context.ts'
import { boxCommand } from './box.ts'

export interface EndedBox extends EndedProcess {
  /** Why its sandbox ended it, as the end of a sentence. */
  readonly stopped?: string
}

export interface StartedBox extends StartedProcess {
  /** Resolves once everything that belongs to the sandbox is gone as well. Never rejects. */
  readonly ended: Promise<EndedBox>
}

/**
 * Starts a program in a sandbox, as `startProcess` does without one. `opened`, for a program named by an author:
 * absolute folders that stay readable although their parent is hidden. Leaves nothing behind, whether it starts or not.
 * @throws BatonError SANDBOX if no sandbox is available, and what `onStart` throws
 */
export async function startBoxed(
  options: Omit<StartOptions, 'onStatus'>,
  context: RunContext,
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
  context: RunContext,
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
