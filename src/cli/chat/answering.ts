import { StopSignal } from '../../base/error.ts'
import type { Watching } from '../../chat/chat.ts'
import type { Listener } from '../../event/bus.ts'
import { createStreamedAnswer } from '../../render/streamed-answer.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import { createPerson } from '../approver.ts'
import type { Flags } from '../command-specs.ts'
import { isAttended } from '../confirm.ts'
import type { CommandIo, Surroundings } from '../io.ts'
import { presentRun } from '../present-run.ts'
import type { TerminalInput } from './terminal-input.ts'

const patienceMs = 10 * 60_000

/** What showing the messages of a chat takes. */
export interface AnswerPlace {
  readonly flags: Flags<'chat'>
  readonly around: Surroundings
  readonly io: CommandIo
  /** See `StepOptions`. */
  readonly said: Set<string>
  /** Where the user types; undefined: messages come from a pipe. */
  readonly terminal: Pick<TerminalInput, 'typed' | 'lend'> | undefined
}

/**
 * Shows how a message is answered: the streamed answer, tool calls, questions, and how it ended. Ctrl-C stops the
 * message but not the chat; a second Ctrl-C stops both.
 */
export async function showAnswer(
  { flags, around, io, said, terminal }: AnswerPlace,
  answer: (watching: Watching, listener: Listener) => Promise<RunReport>,
): Promise<RunReport> {
  const turn = new AbortController()
  const stopTurn = (): boolean => {
    if (turn.signal.aborted) return false
    turn.abort(new StopSignal('SIGINT', 130))
    return true
  }
  const endInterrupts = io.onInterrupt(stopTurn)
  const signal = AbortSignal.any([io.signal, turn.signal])
  const shown = { ...flags, dry: undefined, output: undefined }
  const turnIo = { ...io, signal }
  try {
    const view = { answers: createStreamedAnswer, below: terminal?.typed, said }
    return await presentRun({ flags: shown, around, isChat: true, ...view }, turnIo, (listener, hold) => {
      const person = createPerson(flags, { ...turnIo, cwd: around.cwd, hold, lend: terminal?.lend, span: 'chat' })
      const asking = flags.onAsk === 'suspend' ? { onAsk: flags.onAsk } : {}
      return answer({ signal, isAttended: isAttended(flags, io), patienceMs, ...asking, ...person }, listener)
    })
  } finally {
    endInterrupts()
  }
}
