import { displayPath } from '../base/files.ts'
import { harmlessName } from '../base/terminal-text.ts'
import { actionView } from '../event/action-view.ts'
import { type Action, type Approver, type Decision, grantFor, type Question } from '../event/permission.ts'
import { openerOf, placeText } from '../event/place.ts'
import { waitingForApproval } from '../journal/approvals.ts'
import { callLines, grantText } from '../render/approval.ts'
import { createPaint, type Paint } from '../render/style.ts'
import type { ApproverIo } from './approver.ts'
import { type AskLine, lineAsker } from './confirm.ts'

/**
 * Asks the user at the terminal, one question at a time; `all` also answers later questions about file changes.
 * Undefined if standard input is not a terminal.
 */
export function askAtTerminal(io: ApproverIo): Approver | undefined {
  const askLine = lineAsker(io)
  return askLine === undefined ? undefined : oneByOne(askLine, io)
}

function oneByOne(askLine: AskLine, io: ApproverIo): Approver {
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  let isAll = false

  async function ask(action: Action, question: Question): Promise<Decision> {
    question.signal.throwIfAborted()
    if (question.isGranted()) return 'allow'
    if (action.kind !== 'tool' && isAll) return 'allow'
    const release = io.hold()
    const put: AskLine = (text) => askLine(text, question.signal)
    try {
      if (action.kind === 'tool') return await askAboutTool(action, question, { put, paint, io })
      const given = await askAboutChange(action, { put, paint, io })
      isAll = given === 'all'
      return given === 'all' ? 'allow' : given
    } finally {
      release()
    }
  }

  return (action, question) => io.turn.run(() => ask(action, question), question.signal)
}

interface Asking {
  readonly put: AskLine
  readonly paint: Paint
  readonly io: Pick<ApproverIo, 'cwd' | 'err' | 'span'>
}

/** Lines and columns of a call that are shown until the user asks for all of it. */
const shortExtent = { lines: 30, columns: 400 } as const

async function askAboutTool(
  action: Extract<Action, { readonly kind: 'tool' }>,
  { at }: Question,
  { put, paint, io }: Asking,
): Promise<Decision> {
  const call = actionView(action)
  const grant = grantFor(action)
  const tell = (lines: readonly string[]): void => io.err(lines.map((line) => `${line}\n`).join(''))
  const agent = placeText(openerOf(at))
  const { lines, isCut, hides } = callLines(call, paint, shortExtent)
  let isHidden = hides
  const asks = agent === '' ? '' : ` asks to use the tool`
  tell([`${paint('dim', harmlessName(agent))}${asks} ${paint('bold', harmlessName(action.tool))}`.trim(), ...lines])
  const always = grantText(grant, (path) => displayPath(io.cwd, path))
  const more = isCut ? ', [s]how all' : ''
  for (;;) {
    const line = await put(
      `allow it? [y]es, [n]o (or: no, because …), [a]lways in this ${io.span ?? 'run'}: ${always}${more}: `,
    )
    if (line === undefined) throw waitingForApproval(action)
    const answer = readAnswer(line)
    const isConsent = answer === 'allow' || answer === 'always'
    if (answer === 'show' || (isConsent && isHidden)) {
      tell(callLines(call, paint).lines)
      if (isConsent) tell(['not everything was shown before; this is the whole call'])
      isHidden = false
    } else if (answer !== undefined) return answer === 'always' ? { always: grant } : answer
  }
}

/** What the user typed; undefined if it is not an answer. */
function readAnswer(line: string): 'allow' | 'deny' | 'always' | 'show' | { readonly remark: string } | undefined {
  const text = line.trim()
  switch (text.toLowerCase()) {
    case 'y':
    case 'yes':
      return 'allow'
    case 'n':
    case 'no':
      return 'deny'
    case 'a':
    case 'always':
      return 'always'
    case 's':
    case 'show':
      return 'show'
  }
  const [, reason = ''] = /^no?(?:\s*[,:;.]\s*|\s+)(?:because\s+)?(.*)$/i.exec(text) ?? []
  return reason === '' ? undefined : { remark: reason }
}

async function askAboutChange(
  action: Exclude<Action, { readonly kind: 'tool' }>,
  { put, paint, io }: Asking,
): Promise<'allow' | 'deny' | 'all' | { readonly remark: string }> {
  const { lines } = callLines({ ...actionView(action), input: {} }, paint)
  io.err(lines.map((line) => `${line}\n`).join(''))
  for (;;) {
    const line = await put(`${what(action, io)}? [y]es, [n]o, [a]ll, [e]dit: `)
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
        throw waitingForApproval(action)
      case 'e':
      case 'edit': {
        const remark = (await put('what should be different: '))?.trim() ?? ''
        if (remark !== '') return { remark }
      }
    }
  }
}

function what(action: Exclude<Action, { readonly kind: 'tool' }>, { cwd }: Pick<ApproverIo, 'cwd'>): string {
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
      return `call ${harmlessName(action.label)}`
    case 'mcp':
      return `use ${harmlessName(action.what)} of the MCP server ${harmlessName(action.server)}`
  }
}
