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
  /** Why its box has ended it, as the end of a sentence. */
  readonly stopped?: string
}

export interface StartedBox extends StartedProcess {
  /** Resolves when all that belongs to the box is gone as well. Never rejects. */
  readonly ended: Promise<EndedBox>
}

/**
 * Starts a program in a box, as `startProcess` does without one. `opened`, of a program that an author named: absolute folders that
 * can be read although what they are in is hidden. Nothing is left behind, whether it starts or not.
 * @throws BatonError SANDBOX where there is no box, and what `onStart` throws
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
 * Runs a program to its end in a box. Ends and rejections as of `runProcess`.
 * @throws BatonError SANDBOX where there is none, LIMIT when the box has ended it
 */
export async function runBoxed(
  options: ProcessOptions,
  context: RunContext,
  signal: AbortSignal,
): Promise<ProcessResult> {
  let box: StartedBox | NotStarted | undefined
  // programs of packs are beside their scripts
  const opened = context.scope.folders.packRoots
  const result = await runProcess(options, signal, async (all) => (box = await startBoxed(all, context, opened)))
  const { stopped } = box?.kind === 'started' ? await box.ended : {}
  if (stopped === undefined) return result
  throw new BatonError('LIMIT', `${options.command} was ended by the sandbox: ${stopped}`)
}
