import { editText } from '../base/editor.ts'
import { displayPath } from '../base/files.ts'
import { harmlessLines, harmlessName } from '../base/terminal-text.ts'
import { isBatonError, isSuspension } from '../base/error.ts'
import { actionView } from '../event/action-view.ts'
import {
  type Action,
  type Approver,
  type Decision,
  type Grant,
  type HunkEdit,
  type HunkRemark,
  type Question,
  type ReviewPlace,
} from '../event/permission.ts'
import { type Hunk, hunkText, readDiff } from '../event/hunks.ts'
import { hunkNumbers, hunksOf, partDecision } from '../event/review.ts'
import { placeText } from '../event/place.ts'
import { askerText } from '../event/sub-agents.ts'
import { waitingForApproval } from '../journal/approvals.ts'
import { callLines, callQuestion, grantText } from '../render/approval.ts'
import { createPaint, type Paint } from '../render/style.ts'
import { type OfferedRange, offeredRanges } from '../load/grant-ranges.ts'
import type { ApproverIo } from './approver.ts'
import { type AskLine, lineAsker } from './confirm.ts'

/**
 * Asks the user at the terminal, one question at a time; `all` also answers later questions about file changes, `none`
 * those about the same answer. Undefined if standard input is not a terminal.
 */
export function askAtTerminal(io: ApproverIo): Approver | undefined {
  const askLine = lineAsker(io)
  return askLine === undefined ? undefined : oneByOne(askLine, io)
}

/** What was said about all further changes of an answer. `place`: of their review. */
interface Further {
  readonly place: string
  readonly kind: 'none' | 'later'
}

function oneByOne(askLine: AskLine, io: ApproverIo): Approver {
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  let isAll = false
  let further: Further | undefined
  let explained: string | undefined
  let isOver = false

  async function ask(action: Action, question: Question): Promise<Decision> {
    question.signal.throwIfAborted()
    if (question.isGranted()) return 'allow'
    const place = placeText(question.at.slice(0, -1))
    if (action.kind !== 'tool') {
      if (isAll) return 'allow'
      if (further?.place === place && further.kind === 'none') return 'deny'
      if (further?.place === place) throw waitingForApproval(action)
    }
    // Ctrl-D at one question leaves those that follow open as well
    if (isOver) throw waitingForApproval(action)
    const release = io.hold()
    const put: AskLine = async (text) => {
      const line = await askLine(text, question.signal)
      isOver ||= line === undefined
      return line
    }
    const tell: TerminalPrompt['tell'] = (lines) => io.err(lines.map((line) => `${line}\n`).join(''))
    const asking: TerminalPrompt = { put, paint, io, tell, edit: (text, name) => editOnTerminal(text, name, io) }
    try {
      if (action.kind === 'tool') return await askAboutTool(action, question, asking)
      if (explained !== place) asking.tell(explanationLines(action.about?.review, paint))
      explained = place
      const { decision, rest } = await askAboutChange(action, asking)
      isAll = rest === 'all'
      if (rest === 'none') further = { place, kind: 'none' }
      return decision
    } catch (error) {
      if (isSuspension(error)) further = { place, kind: 'later' }
      throw error
    } finally {
      release()
    }
  }

  return (action, question) => io.turn.run(() => ask(action, question), question.signal)
}

interface TerminalPrompt {
  readonly put: AskLine
  readonly paint: Paint
  readonly io: Pick<ApproverIo, 'cwd' | 'err' | 'span'>
  /** Writes lines below what is on the terminal. */
  readonly tell: (lines: readonly string[]) => void
  /** Opens a text of the named file in the user's editor; undefined without one. */
  readonly edit: (text: string, name: string) => Promise<string | undefined>
}

async function editOnTerminal(text: string, name: string, io: ApproverIo): Promise<string | undefined> {
  const takeBack = await io.lend?.()
  try {
    return await editText(text, name, io)
  } finally {
    takeBack?.()
  }
}

/** Lines and columns of a call that are shown until the user asks for all of it. */
const shortExtent = { lines: 30, columns: 400 } as const

async function askAboutTool(
  action: Extract<Action, { readonly kind: 'tool' }>,
  { at, rule }: Question,
  asking: TerminalPrompt,
): Promise<Decision> {
  const { put, paint, io, tell } = asking
  const hunks = hunkNumbers(action)
  const call = actionView(action)
  const shown = (path: string): string => displayPath(io.cwd, path)
  const who = askerText(placeText(at))
  const { lines, isCut, hides } = callLines(call, paint, shortExtent)
  let isHidden = hides
  const asker = who === '' ? '' : `${paint('dim', `${who}:`)} `
  tell([`${asker}${paint('bold', callQuestion(action, shown))}`, ...lines])
  const always = offeredRanges(action, rule).map((range) => ({ ...range, text: grantText(range.grant, shown) }))
  const choices: Choices = { always, span: io.span ?? 'run', hasHunks: hunks.length > 0, isCut }
  for (;;) {
    const line = await put(`allow it? ${choicesText(choices)}: `)
    if (line === undefined) throw waitingForApproval(action)
    const answer = readAnswer(line, choices)
    if (answer === undefined) continue
    if (answer === 'help') tell(helpLines(choices))
    else if (answer === 'hunks') {
      return (await askByHunk(action, { asking, name: harmlessName(action.tool), isOfAnswer: false })).decision
    } else if (answer === 'show' || (isConsent(answer) && isHidden)) {
      tell(callLines(call, paint).lines)
      if (answer !== 'show') tell(['not everything was shown before; this is the whole call'])
      isHidden = false
    } else return answer
  }
}

function isConsent(answer: Decision): boolean {
  return answer === 'allow' || (typeof answer === 'object' && 'always' in answer)
}

/** What may be answered about a call. */
interface Choices {
  readonly always: readonly (OfferedRange & { readonly text: string })[]
  readonly span: 'run' | 'chat'
  readonly hasHunks: boolean
  readonly isCut: boolean
}

/** The key of each range, and its name. */
const rangeKeys = {
  call: { key: 'a', word: 'always', shown: '[a]lways' },
  file: { key: 'a', word: 'always', shown: '[a]lways' },
  commands: { key: 'p', word: 'pattern', shown: '[p]attern' },
  edits: { key: 'e', word: 'edits', shown: '[e]dits' },
} as const

function choicesText({ always, span, hasHunks, isCut }: Choices): string {
  const [first, ...wider] = always.map(({ kind, ...range }) => ({ ...range, shown: rangeKeys[kind].shown }))
  return [
    '[y]es, [n]o (or: no, because …)',
    ...(first === undefined ? [] : [`${first.shown} in this ${span}: ${first.text}`]),
    ...wider.map(({ shown, grant }) => `${shown}: ${shortText(grant)}`),
    ...(hasHunks ? ['[h]unk by hunk'] : []),
    ...(isCut ? ['[s]how all'] : []),
    '[?]',
  ].join(', ')
}

/** A wider range in a few words; the help has all of them. */
function shortText(grant: Grant): string {
  return 'range' in grant && grant.range === 'commands' ? `${harmlessName(grant.words)} *` : 'all files'
}

/** What each answer does. */
function helpLines({ always, span, hasHunks, isCut }: Choices): readonly string[] {
  const rows = [
    ['y', 'this once'],
    ['n', 'not this time'],
    ['no, because …', 'not this time, and the model is told why, or what to do instead'],
    ...always.map(({ kind, text }) => [rangeKeys[kind].key, `this and, for the rest of the ${span}, ${text}`]),
    ...(hasHunks ? [['h', 'decide each hunk of the change']] : []),
    ...(isCut ? [['s', 'show the whole call']] : []),
    ['Ctrl-D', 'decide later'],
  ]
  const width = Math.max(...rows.map(([key = '']) => key.length))
  const listed = span === 'chat' ? ['/permissions lists what is allowed in the chat, and revokes it.'] : []
  const limits = always.some(({ kind }) => kind === 'commands' || kind === 'edits')
    ? ['What [permission] denies or asks about by name, and protected files, are not in it.']
    : []
  return [...rows.map(([key = '', text = '']) => `  ${key.padEnd(width)}  ${text}`), ...limits, ...listed]
}

/** What the user typed; undefined if it is not an answer. */
function readAnswer(line: string, { always, hasHunks }: Choices): Decision | 'show' | 'help' | 'hunks' | undefined {
  const text = line.trim()
  const word = text.toLowerCase()
  const range = always.find(({ kind }) => word === rangeKeys[kind].key || word === rangeKeys[kind].word)
  if (range !== undefined) return { always: range.grant }
  switch (word) {
    case 'y':
    case 'yes':
      return 'allow'
    case 'n':
    case 'no':
      return 'deny'
    case 's':
    case 'show':
      return 'show'
    case '?':
    case 'help':
      return 'help'
    case 'h':
    case 'hunk':
    case 'hunks':
      return hasHunks ? 'hunks' : undefined
  }
  return remarkIn(text)
}

/** A rejection with what to do differently: `no, because …`. */
function remarkIn(text: string): { readonly remark: string } | undefined {
  const [, reason = ''] = /^no?(?:\s*[,:;.]\s*|\s+)(?:because\s+)?([^]*)$/i.exec(text) ?? []
  return reason === '' ? undefined : { remark: reason }
}

type ChangeAction = Exclude<Action, { readonly kind: 'tool' }>

/** A decision, and what was said about everything that follows. */
interface ReviewDecision {
  readonly decision: Decision
  readonly rest?: 'all' | 'none'
}

/** What the answer says besides its changes. */
function explanationLines(review: ReviewPlace | undefined, paint: Paint): readonly string[] {
  const text = harmlessLines(review?.explanation ?? '')
  return text === '' ? [] : text.split('\n').map((line) => `${paint('dim', '│')} ${line}`)
}

async function askAboutChange(action: ChangeAction, asking: TerminalPrompt): Promise<ReviewDecision> {
  const { put, paint, io, tell } = asking
  const { number = 1, count = 1 } = action.about?.review ?? {}
  if (count > 1) tell([paint('bold', `${number} of ${count}`)])
  const name = what(action, io)
  const [only, ...others] = hunksOf(action)
  if (others.length > 0) return askByHunk(action, { asking, name, isOfAnswer: true })
  tell(callLines({ ...actionView(action), input: {} }, paint).lines)
  for (;;) {
    const line = await put(`${name}? [y]es, [n]o, [a]ll, n[o]ne, [e]dit: `)
    if (line === undefined) throw waitingForApproval(action)
    const answer = readChangeAnswer(line)
    switch (answer) {
      case undefined:
      case 'file':
        continue
      case 'edit': {
        const edited = await editChange(only, action, asking)
        if (edited === undefined) continue
        if ('remark' in edited) return { decision: edited }
        return { decision: partDecision({ kind: 'approve', hunks: [edited.hunk], edits: [edited] }, [edited.hunk]) }
      }
      case 'yes':
        return { decision: 'allow' }
      case 'all':
        return { decision: 'allow', rest: 'all' }
      case 'no':
        return { decision: 'deny' }
      case 'none':
        return { decision: 'deny', rest: 'none' }
      default:
        return { decision: answer }
    }
  }
}

/**
 * Opens the lines of a hunk as they would be made in the user's editor. Without an editor, and for what is no text, asks
 * what should be different. Undefined: nothing was said.
 */
async function editChange(
  hunk: Hunk | undefined,
  action: Action,
  { put, tell, edit }: TerminalPrompt,
): Promise<HunkEdit | { readonly remark: string } | undefined> {
  try {
    const before = hunk === undefined ? '' : hunkText(hunk)
    const after = hunk === undefined ? undefined : await edit(before, nameOf(action))
    if (hunk === undefined || after === undefined) {
      const remark = (await put('what should be different: '))?.trim() ?? ''
      return remark === '' ? undefined : { remark }
    }
    const isOpen = before.endsWith('\n') && after !== '' && !after.endsWith('\n')
    const text = isOpen ? `${after}\n` : after
    // as in other programs, an empty file means that nothing was said
    if (text.trim() === '' && before.trim() !== '') {
      tell(['the file was left empty, which would remove all of these lines: nothing was changed'])
    } else if (text !== before) return { hunk: hunk.number, text }
    else tell(['nothing was changed in the editor'])
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'USAGE') throw error
    tell([`${error.message}. ${error.hint ?? ''}`.trim()])
  }
  return undefined
}

/** The path of the file that is changed. */
function nameOf(action: Action): string {
  if (action.kind === 'write') return action.named
  return action.kind === 'tool' && action.subject?.kind === 'path' ? action.subject.path : 'change'
}

type ChangeAnswer = 'yes' | 'no' | 'all' | 'none' | 'file' | 'edit' | { readonly remark: string }

/** Undefined if it is not an answer. */
function readChangeAnswer(line: string): ChangeAnswer | undefined {
  const text = line.trim()
  switch (text.toLowerCase()) {
    case 'y':
    case 'yes':
      return 'yes'
    case 'a':
    case 'all':
      return 'all'
    case 'n':
    case 'no':
      return 'no'
    case 'o':
    case 'none':
      return 'none'
    case 'f':
    case 'file':
      return 'file'
    case 'e':
    case 'edit':
      return 'edit'
  }
  return remarkIn(text)
}

interface ByHunk {
  readonly asking: TerminalPrompt
  readonly name: string
  /** Whether other changes of an answer follow. */
  readonly isOfAnswer: boolean
}

/** Asks about one hunk after the other. */
async function askByHunk(action: Action, { asking, name, isOfAnswer }: ByHunk): Promise<ReviewDecision> {
  const { put, paint, tell } = asking
  const all = hunksOf(action)
  const view = actionView(action)
  tell(callLines({ ...view, input: {}, diff: readDiff(view.diff ?? '').head.join('\n') }, paint).lines)
  const made: number[] = []
  const remarks: HunkRemark[] = []
  const edits: HunkEdit[] = []
  let rest: 'file' | 'all' | 'none' | undefined
  for (const hunk of all) {
    const { number, title, lines } = hunk
    if (rest === undefined) tell(callLines({ input: {}, diff: [title, ...lines].join('\n') }, paint).lines)
    while (rest === undefined) {
      const others = isOfAnswer ? '[f]ile, [a]ll, n[o]ne' : '[a]ll, n[o]ne'
      const line = await put(`${name}, hunk ${number} of ${all.length}? [y]es, [n]o, ${others}, [e]dit: `)
      if (line === undefined) throw waitingForApproval(action)
      const said = readChangeAnswer(line)
      const answer = said === 'edit' ? await editChange(hunk, action, asking) : said
      if (answer === undefined) continue
      if (answer === 'yes') made.push(number)
      else if (typeof answer !== 'object') rest = answer === 'no' ? rest : answer
      else if ('remark' in answer) remarks.push({ hunk: number, text: answer.remark })
      else {
        made.push(number)
        edits.push(answer)
      }
      break
    }
    if (rest === 'file' || rest === 'all') made.push(number)
  }
  const decision = partDecision(
    { kind: 'approve', hunks: made, remarks, edits },
    all.map(({ number }) => number),
  )
  return { decision, ...(isOfAnswer && (rest === 'all' || rest === 'none') && { rest }) }
}

function what(action: ChangeAction, { cwd }: Pick<ApproverIo, 'cwd'>): string {
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
