import { BatonError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import type { Action, Approver, Decision } from '../event/permission.ts'
import { harmlessName } from '../base/terminal-text.ts'
import { createPaint, paintDiff } from '../render/style.ts'
import { type AskLine, isAttended, lineAsker, type MayAsk } from './confirm.ts'
import type { CommandIo } from './io.ts'

export interface ApprovalFlags extends MayAsk {
  readonly yes: boolean
  /** What is done where nobody can be asked; left out: it is refused. */
  readonly onAsk: 'deny' | 'allow' | 'suspend' | undefined
}

interface ApproverIo extends CommandIo {
  /** Keeps the live view away while a question stands on the terminal. Returns what lets it come back. */
  readonly hold: () => () => void
}

/** Who answers what needs an approval: `-y`, a person at the terminal, else `--on-ask`. Undefined: nobody does. */
export function createApprover(flags: ApprovalFlags, io: ApproverIo): Approver | undefined {
  if (flags.yes) return async () => 'allow'
  const absent = withoutPerson(flags, io)
  if (!isAttended(flags, io)) return absent
  let person: Approver | undefined
  return (...asked) => {
    // standard input is opened by the first question
    const askLine = person === undefined ? lineAsker(io) : undefined
    person ??= askLine === undefined ? (absent ?? refuse(io)) : oneByOne(askLine, io)
    return person(...asked)
  }
}

function withoutPerson({ onAsk }: ApprovalFlags, io: ApproverIo): Approver | undefined {
  switch (onAsk) {
    case 'allow':
      return async () => 'allow'
    case 'suspend':
      return (action) => Promise.reject(new BatonError('SUSPENDED', `${what(action, io)} needs an approval`))
    case 'deny':
    case undefined:
      return undefined
  }
}

function refuse(io: ApproverIo): Approver {
  const hint = 'Standard input is no terminal: use -y or --on-ask.'
  return (action) => Promise.reject(new BatonError('NEEDS_INPUT', `${what(action, io)} needs an approval`, { hint }))
}

/** One question at a time; `all` answers those that follow. */
function oneByOne(askLine: AskLine, io: ApproverIo): Approver {
  let before: Promise<unknown> = Promise.resolve()
  let isAll = false
  return (action) => {
    const answer = before.then(async (): Promise<Decision> => {
      if (isAll) return 'allow'
      const release = io.hold()
      try {
        const given = await askFor(action, askLine, io)
        isAll = given === 'all'
        return given === 'all' ? 'allow' : given
      } finally {
        release()
      }
    })
    before = answer.catch(() => undefined)
    return answer
  }
}

async function askFor(action: Action, askLine: AskLine, io: ApproverIo): Promise<Decision | 'all'> {
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  if ('diff' in action && action.diff !== undefined) {
    io.err(`${paintDiff(action.diff.trimEnd().split('\n'), paint).join('\n')}\n`)
  }
  for (;;) {
    const line = await askLine(`${what(action, io)}? [y]es, [n]o, [a]ll, [e]dit: `)
    switch (line?.trim().toLowerCase()) {
      case 'y':
      case 'yes':
        return 'allow'
      case 'a':
      case 'all':
        return 'all'
      case 'n':
      case 'no':
        return 'deny'
      case undefined:
        throw new BatonError('SUSPENDED', `${what(action, io)} needs an approval`)
      case 'e':
      case 'edit': {
        const remark = (await askLine('what should be different: '))?.trim() ?? ''
        if (remark !== '') return { remark }
      }
    }
  }
}

function what(action: Action, { cwd }: Pick<CommandIo, 'cwd'>): string {
  switch (action.kind) {
    case 'read':
    case 'write':
    case 'delete':
      return `${action.kind} ${harmlessName(displayPath(cwd, action.named))}`
    case 'command':
      return `run ${harmlessName(action.program)}`
    case 'connect':
      return `connect to ${harmlessName(action.url)}`
    case 'model':
      return `ask ${harmlessName(action.label)}`
    case 'tool':
      return `use the tool ${harmlessName(action.tool)}`
  }
}
