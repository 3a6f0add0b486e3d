import { BatonError } from '../../base/error.ts'
import { type ProcessOptions, type ProcessResult, runProcess } from '../../base/process.ts'
import type { RunContext } from '../../event/context.ts'
import { boxCommand } from './box.ts'

/**
 * Runs a program to its end in a box. Ends and rejections as of `runProcess`.
 * @throws BatonError SANDBOX where there is none, LIMIT when the box has ended it
 */
export async function runBoxed(
  options: ProcessOptions,
  context: RunContext,
  signal: AbortSignal,
): Promise<ProcessResult> {
  const { scope } = context
  // programs of packs are beside their scripts
  const boxed = await boxCommand(options, context, scope.folders.packRoots)
  try {
    const { command, args, cwd, environment } = boxed
    const result = await runProcess({ ...options, command, args, cwd, environment }, signal)
    const reason = boxed.stopped()
    if (reason === undefined) return result
    throw new BatonError('LIMIT', `${options.command} was ended by the sandbox: ${reason}`)
  } finally {
    await boxed.close()
  }
}
