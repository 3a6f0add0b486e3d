import { BatonError } from '../../base/error.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type CommandEnd, runCheck } from '../check-command.ts'

export interface Gate {
  /** A command line for `sh`, as written. */
  readonly line: string
  readonly timeLimitMs: number
}

/** Default time limit. */
export const usualGateMs = 10 * 60_000

/**
 * Runs the command of `gate` in the work tree of the context. A run that failed here runs it again when resumed.
 * @throws BatonError GATE_FAILED if it does not exit with 0
 */
export async function runGate({ line, timeLimitMs }: Gate, context: RunContext): Promise<void> {
  const { runId } = context.scope
  const refuse = (end: CommandEnd): void => {
    emit(context, { type: 'isolation.gate', command: line, passed: end.code === 0, output: end.output })
    if (end.code !== 0) throw gateFailed(line, end, runId)
  }
  await runCheck('gate', { line, timeLimitMs, key: 'gate', refuse }, context)
}

const shownLines = 20

function gateFailed(line: string, { code, output }: CommandEnd, run: string): BatonError {
  const how = code === undefined ? 'did not exit by itself' : `exited with ${code}`
  const printed = output.trim().split('\n').slice(-shownLines)
  const shown = output.trim() === '' ? '' : `:${printed.map((text) => `\n  ${text}`).join('')}`
  return new BatonError('GATE_FAILED', `the gate "${line}" ${how}, so nothing was changed in the workspace${shown}`, {
    hint: `baton resume ${run} runs the gate again; baton runs show ${run} --diff | git apply applies the changes anyway.`,
  })
}
