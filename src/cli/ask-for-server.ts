import { cutText } from '../base/cut-text.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import type { AskedByServer, AskPerson, McpAnswer } from '../event/mcp.ts'
import { openerOf, placeText } from '../event/place.ts'
import { type FormField, formFields, readField } from '../mcp/form.ts'
import { createPaint, type Paint } from '../render/style.ts'
import type { ApproverIo } from './approver.ts'
import { type AskLine, lineAsker } from './confirm.ts'

/** Characters and lines of one text of a server that are shown. */
const mostText = 2_000
const mostLines = 30
const mostLabel = 200
const mostChoices = 50

/**
 * Puts what servers ask to a person at the terminal. What a server says is set off, so that it is not taken for words of ours.
 * Undefined: standard input is no terminal.
 */
export function askForServer(io: ApproverIo): AskPerson | undefined {
  const askLine = lineAsker(io)
  if (askLine === undefined) return undefined
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  const tell = (lines: readonly string[]): void => io.err(lines.map((line) => `${line}\n`).join(''))
  return (asked, signal) =>
    io.turn.run(async () => {
      const fields = asked.question.kind === 'form' ? formFields(asked.question.schema) : []
      const release = io.hold()
      try {
        const asking = { put: (text: string) => askLine(text, signal), paint, tell }
        tell(headLines(asked, paint))
        return asked.question.kind === 'url'
          ? await askToOpen(asked.question.url, asking)
          : await askForm({ server: asked.server, fields }, asking)
      } finally {
        release()
      }
    }, signal)
}

interface Asking {
  readonly put: AskLine
  readonly paint: Paint
  readonly tell: (lines: readonly string[]) => void
}

function headLines({ server, question, at }: AskedByServer, paint: Paint): readonly string[] {
  const agent = placeText(openerOf(at))
  const where = agent === '' ? '' : ` ${paint('dim', `(${harmlessName(agent)})`)}`
  return [`the MCP server ${paint('bold', harmlessName(server))} asks${where}:`, ...said(question.message, paint)]
}

/** Words of a server. */
function said(text: string, paint: Paint): readonly string[] {
  const lines = harmless(cutText(text, mostText)).split('\n')
  const shown = lines.length > mostLines ? [...lines.slice(0, mostLines), '…'] : lines
  return shown.map((line) => `  ${paint('dim', '│')} ${line}`)
}

function label(text: string): string {
  return harmlessName(cutText(text, mostLabel))
}

interface Form {
  readonly server: string
  readonly fields: readonly FormField[]
}

/** One field after the other, then whether all of it is sent. */
async function askForm({ server, fields }: Form, asking: Asking): Promise<McpAnswer> {
  const { put, tell } = asking
  const count = fields.length === 1 ? 'one value' : `${fields.length} values`
  if (fields.length > 0) tell([`it wants ${count}; nothing is sent before you agree`])
  for (;;) {
    const given: [FormField, Json][] = []
    for (const field of fields) {
      const value = await askField(field, asking)
      if (value === undefined) return { action: 'cancel' }
      if (value.kind === 'value') given.push([field, value.value])
    }
    if (given.length > 0) tell(given.map(([{ title }, value]) => `  ${label(title)}: ${label(shownValue(value))}`))
    const answer = await askUntilKnown(`send this to ${harmlessName(server)}? [y]es, [n]o, [c]hange: `, put, {
      y: 'accept',
      yes: 'accept',
      n: 'decline',
      no: 'decline',
      c: 'change',
      change: 'change',
    })
    if (answer === undefined) return { action: 'cancel' }
    if (answer === 'decline') return { action: 'decline' }
    if (answer === 'accept') return { action: 'accept', content: contentOf(given) }
  }
}

function contentOf(given: readonly (readonly [FormField, Json])[]): JsonObject {
  return Object.fromEntries(given.map(([{ name }, value]) => [name, value]))
}

/** Undefined: the input has ended. */
async function askField(
  field: FormField,
  { put, paint, tell }: Asking,
): Promise<{ readonly kind: 'value'; readonly value: Json } | { readonly kind: 'none' } | undefined> {
  const { title, description, kind } = field
  if (description !== undefined) tell(said(description, paint))
  if (kind.kind === 'choice') tell(choiceLines(kind.choices))
  for (;;) {
    const line = await put(`${label(title)} (${expectedText(field)}): `)
    if (line === undefined) return undefined
    const typed = readField(field, line)
    if (typed.kind !== 'wrong') return typed
    tell([`${label(title)} ${typed.problem}`])
  }
}

function choiceLines(choices: readonly { readonly value: string; readonly title: string }[]): readonly string[] {
  const lines = choices.map(({ value, title }, index) => {
    return `  ${index + 1}  ${label(title)}${title === value ? '' : ` (${label(value)})`}`
  })
  const more = lines.length - mostChoices
  return more > 0 ? [...lines.slice(0, mostChoices), `  … and ${more} more`] : lines
}

/** What may be typed: `a whole number, 1 to 10, Enter for 3`. */
function expectedText({ kind, isRequired, default: preset }: FormField): string {
  const enter =
    preset === undefined ? (isRequired ? [] : ['Enter for nothing']) : [`Enter for ${label(shownValue(preset))}`]
  return [kindText(kind), ...enter].join(', ')
}

function kindText(kind: FormField['kind']): string {
  switch (kind.kind) {
    case 'text':
      return kind.format === undefined ? 'text' : label(kind.format)
    case 'number':
      return `${kind.isWhole ? 'a whole number' : 'a number'}${rangeText(kind)}`
    case 'boolean':
      return '[y]es or [n]o'
    case 'choice':
      return kind.several === undefined ? 'a number of the list' : 'numbers of the list, with commas between them'
  }
}

function rangeText({ least, most }: { readonly least: number; readonly most: number }): string {
  if (least === -Infinity && most === Infinity) return ''
  if (most === Infinity) return `, at least ${least}`
  return least === -Infinity ? `, at most ${most}` : `, ${least} to ${most}`
}

function shownValue(value: Json): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return Array.isArray(value) ? value.map(shownValue).join(', ') : JSON.stringify(value)
}

/** Nothing is opened here: an address of a server is opened by the person, or not at all. */
async function askToOpen(url: string, { put, paint, tell }: Asking): Promise<McpAnswer> {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address === undefined || !['https:', 'http:'].includes(address.protocol)) {
    tell([`it wants an address to be opened that is none of the web: ${label(url)}; it is declined`])
    return { action: 'decline' }
  }
  tell([
    `it wants you to open this address of ${paint('bold', harmlessName(address.host))}:`,
    `  ${harmlessName(address.href)}`,
  ])
  const answer = await askUntilKnown('open it yourself if you trust it; do you? [y]es, [n]o: ', put, {
    y: 'accept',
    yes: 'accept',
    n: 'decline',
    no: 'decline',
  })
  return { action: answer ?? 'cancel' }
}

/** Undefined: the input has ended. */
async function askUntilKnown<Answer extends string>(
  question: string,
  put: AskLine,
  answers: { readonly [typed: string]: Answer },
): Promise<Answer | undefined> {
  for (;;) {
    const line = await put(question)
    if (line === undefined) return undefined
    const typed = line.trim().toLowerCase()
    const answer = Object.hasOwn(answers, typed) ? answers[typed] : undefined
    if (answer !== undefined) return answer
  }
}
