import { createPool, type Pool } from '../base/concurrency.ts'
import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { AskPerson } from '../event/mcp.ts'
import { actionText, type Approver } from '../event/permission.ts'
import { isAttended, type MayAsk } from './confirm.ts'
import type { CommandIo } from './io.ts'

export interface ApprovalFlags extends MayAsk {
  readonly yes: boolean
  /** What is done where nobody can be asked; left out: it is refused. */
  readonly onAsk: 'deny' | 'allow' | 'suspend' | undefined
}

export interface ApproverIo extends CommandIo {
  /** Keeps the live view away while a question stands on the terminal. Returns what lets it come back. */
  readonly hold: () => () => void
  /** One question stands on the terminal at a time. */
  readonly turn: Pool
  /** How long what is always allowed is so; left out: in this run. */
  readonly span?: 'run' | 'chat'
}

/** Whoever starts a run answers for it: what needs an approval, and what servers ask. */
export function createPerson(
  flags: ApprovalFlags,
  io: Omit<ApproverIo, 'turn'>,
): { readonly approver?: Approver | 'allow' | 'deny'; readonly askPerson?: AskPerson } {
  const all = { ...io, turn: createPool(1) }
  return defined({ approver: createApprover(flags, all), askPerson: createAnswerer(flags, all) })
}

/** Who answers the questions of servers: a person at the terminal. Undefined: nobody does, also with `-y`, which agrees and knows nothing. */
export function createAnswerer(flags: MayAsk & { readonly yes: boolean }, io: ApproverIo): AskPerson | undefined {
  if (flags.yes || !isAttended(flags, io)) return undefined
  let person: Promise<AskPerson> | undefined
  return async (...asked) => {
    person ??= import('./ask-for-server.ts').then(({ askForServer }) => askForServer(io) ?? nobody)
    return (await person)(...asked)
  }
}

const nobody: AskPerson = async () => undefined

/** Who answers what needs an approval: `-y`, a person at the terminal, else `--on-ask`. Undefined: nobody does. */
function createApprover(flags: ApprovalFlags, io: ApproverIo): Approver | 'allow' | 'deny' | undefined {
  if (flags.yes) return 'allow'
  const absent = flags.onAsk === 'suspend' ? suspend : flags.onAsk
  if (!isAttended(flags, io)) return absent
  let person: Promise<Approver> | undefined
  return async (...asked) => {
    // standard input is opened by the first question
    person ??= import('./ask-at-terminal.ts').then(({ askAtTerminal }) => askAtTerminal(io) ?? withoutTerminal(absent))
    return (await person)(...asked)
  }
}

const suspend: Approver = async (action) => {
  throw (await import('../journal/approvals.ts')).waitingForApproval(action)
}

/** Standard input turned out to be no terminal. A question that an older process has put stays open. */
function withoutTerminal(absent: Approver | 'allow' | 'deny' | undefined): Approver {
  if (typeof absent === 'function') return absent
  return async (action, question) => {
    if (absent === 'allow') return 'allow'
    if (absent === undefined && question.isReopened) return suspend(action, question)
    throw new BatonError('NEEDS_INPUT', `${actionText(action)} needs an approval`, {
      hint: 'Standard input is no terminal: use -y or --on-ask.',
    })
  }
}
