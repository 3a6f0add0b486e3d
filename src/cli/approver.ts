import { createPool, type Pool } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { AskPerson } from '../event/mcp.ts'
import { actionText, type Approver } from '../event/permission.ts'
import type { Surroundings } from '../wiring/conduct.ts'
import { type QuestionIo, isAttended, type MayAsk } from './confirm.ts'

export interface ApprovalFlags extends MayAsk {
  readonly yes: boolean
  /** What to do if nobody can be asked. Default: refuse. */
  readonly onAsk: 'deny' | 'allow' | 'suspend' | undefined
}

export interface ApproverIo extends QuestionIo {
  /** Hides the live view while a question is on the terminal. Returns the function that shows it again. */
  readonly hold: () => () => void
  /** Only one question is on the terminal at a time. */
  readonly turn: Pool
  /** How long an "always" lasts. Default: the run. */
  readonly span?: 'run' | 'chat'
}

/** Creates what answers for the user who started a run: requests for approval, and questions of servers. */
export function createPerson(
  flags: ApprovalFlags,
  io: Omit<ApproverIo, 'turn'>,
): Pick<Surroundings, 'approver' | 'askPerson' | 'unattendedApprover'> {
  const all = { ...io, turn: createPool(1) }
  const unattendedApprover = createApprover({ ...flags, unattended: true }, all)
  return defined({ approver: createApprover(flags, all), askPerson: createAnswerer(flags, all), unattendedApprover })
}

/**
 * Answers questions of servers by asking the user at the terminal. Undefined: nobody answers, not even `-y`, which can
 * agree but knows no values.
 */
export function createAnswerer(flags: MayAsk & { readonly yes: boolean }, io: ApproverIo): AskPerson | undefined {
  if (flags.yes || !isAttended(flags, io)) return undefined
  let person: Promise<AskPerson> | undefined
  return async (...asked) => {
    person ??= import('./ask-for-server.ts').then(({ askForServer }) => askForServer(io) ?? nobody)
    return (await person)(...asked)
  }
}

const nobody: AskPerson = async () => undefined

/** Answers requests for approval: `-y`, the user at the terminal, else `--on-ask`. Undefined: nobody answers. */
function createApprover(flags: ApprovalFlags, io: ApproverIo): Approver | 'allow' | 'deny' | undefined {
  if (flags.yes) return 'allow'
  const onAsk = flags.onAsk ?? (flags.unattended === true ? 'suspend' : undefined)
  const absent = onAsk === 'suspend' ? suspend : onAsk
  if (!isAttended(flags, io)) return absent
  let person: Promise<Approver> | undefined
  return async (...asked) => {
    // opened by the first question, because it takes standard input
    person ??= import('./ask-at-terminal.ts').then(({ askAtTerminal }) => askAtTerminal(io) ?? withoutTerminal(absent))
    return (await person)(...asked)
  }
}

const suspend: Approver = async (action) => {
  throw (await import('../journal/approvals.ts')).waitingForApproval(action)
}

/** For a standard input that turned out not to be a terminal. A question asked by an earlier process stays pending. */
function withoutTerminal(absent: Approver | 'allow' | 'deny' | undefined): Approver {
  if (typeof absent === 'function') return absent
  return async (action, question) => {
    if (absent === 'allow') return 'allow'
    if (absent === undefined && question.isReopened) return suspend(action, question)
    throw new BatonError('NEEDS_INPUT', `${actionText(action)} needs approval`, {
      hint: 'Standard input is not a terminal: use -y or --on-ask.',
    })
  }
}
