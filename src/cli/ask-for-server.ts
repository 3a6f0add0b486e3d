import { cutText } from '../base/cut-text.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { harmlessLines, harmlessName } from '../base/terminal-text.ts'
import type { McpUserQuestion, AskPerson, McpAnswer } from '../event/mcp.ts'
import { openerOf, placeText } from '../event/place.ts'
import { type FormField, formFields, readField } from '../mcp/form.ts'
import { isPageAddress } from '../mcp/login-addresses.ts'
import { createPaint, type Paint } from '../render/style.ts'
import type { ApproverIo } from './approver.ts'
import { type AskLine, lineAsker } from './confirm.ts'

/** Limits on what is shown of one text from a server: characters and lines. */
const mostText = 2_000
const mostLines = 30
const mostLabel = 200
const mostChoices = 50

/**
 * Asks the user at the terminal what servers want to know. Text from a server is marked, so that it is not mistaken for
 * Baton's own. Undefined if standard input is not a terminal.
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

interface QuestionPrompt {
  readonly put: AskLine
  readonly paint: Paint
  readonly tell: (lines: readonly string[]) => void
}

function headLines({ server, question, at }: McpUserQuestion, paint: Paint): readonly string[] {
  const agent = placeText(openerOf(at))
  const where = agent === '' ? '' : ` ${paint('dim', `(${harmlessName(agent)})`)}`
  return [
    `the MCP server ${paint('bold', harmlessName(server))} asks${where}:`,
    ...quotedLines(question.message, paint),
  ]
}

/** Text from a server, marked as such. */
function quotedLines(text: string, paint: Paint): readonly string[] {
  const lines = harmlessLines(cutText(text, mostText)).split('\n')
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

/** Asks for one field after the other, then whether to send them. */
async function askForm({ server, fields }: Form, asking: QuestionPrompt): Promise<McpAnswer> {
  const { put, tell } = asking
  const count = fields.length === 1 ? 'one value' : `${fields.length} values`
  if (fields.length > 0) tell([`it asks for ${count}; nothing is sent until you agree`])
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
  { put, paint, tell }: QuestionPrompt,
): Promise<{ readonly kind: 'value'; readonly value: Json } | { readonly kind: 'none' } | undefined> {
  const { title, description, kind } = field
  if (description !== undefined) tell(quotedLines(description, paint))
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
    preset === undefined ? (isRequired ? [] : ['Enter to skip']) : [`Enter for ${label(shownValue(preset))}`]
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
      return kind.several === undefined ? 'a number from the list' : 'numbers from the list, separated by commas'
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

/** Opens nothing: only the user may open a URL that a server names. */
async function askToOpen(url: string, { put, paint, tell }: QuestionPrompt): Promise<McpAnswer> {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address === undefined || !isPageAddress(address)) {
    tell([`it asks you to open a URL that is not https, nor on this machine: ${label(url)}; this is declined`])
    return { action: 'decline' }
  }
  tell([
    `it asks you to open this URL on ${paint('bold', harmlessName(address.host))}:`,
    `  ${harmlessName(address.href)}`,
  ])
  const answer = await askUntilKnown('open it yourself if you trust it; will you? [y]es, [n]o: ', put, {
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
