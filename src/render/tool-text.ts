import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { harmlessName } from '../base/terminal-text.ts'
import { cutEnd } from '../base/width.ts'
import { withCanonicalNames } from '../event/collab.ts'
import type { McpProgress } from '../event/mcp.ts'
import { formatCount, oneLine } from './format.ts'

/** Maximum columns per call. */
const mostColumns = 100
/** The most telling input fields of a tool, best first. */
const telling = ['path', 'file_path', 'url', 'command', 'pattern', 'query', 'name']

/**
 * A tool call in one line: `read src/a.ts`, `grep "TODO" src`, `webfetch https://docs.example/`. Unknown tools are
 * shown with their most telling input field.
 */
export function callText(name: string, input: Json): string {
  const about = isJsonObject(input) ? aboutOf(name, input) : typeof input === 'string' ? input : ''
  return shownLine(`${name} ${about}`)
}

/** What cannot be seen is visible: the line shows what a call is about. */
function shownLine(text: string): string {
  return oneLine(harmlessName(text.replaceAll(/[ \t\r\n]+/g, ' ').trimEnd()), mostColumns)
}

/**
 * A call that refers to agents of a team, with their display names: `wait worker 1, worker 2`. Undefined for other
 * calls.
 */
export function teamCallText(name: string, input: Json, nameOf: (id: string) => string): string | undefined {
  if (!isJsonObject(input)) return undefined
  const { id, ids, message } = withCanonicalNames(name, input)
  const who = [ids ?? id].flat().filter((one) => typeof one === 'string')
  if (!['wait', 'send_input', 'close_agent'].includes(name) || who.length === 0) return undefined
  const text = name === 'send_input' && typeof message === 'string' ? `: ${message}` : ''
  return oneLine(`${name} ${who.map(nameOf).join(', ')}${text}`, mostColumns)
}

function aboutOf(name: string, input: JsonObject): string {
  const { todos, pattern, path, code } = input
  if (isProgram(name) && typeof code === 'string') return beginning(code)
  if (name === 'spawn_agent') return spawnText(withCanonicalNames(name, input))
  if (name === 'todo' && Array.isArray(todos)) return stepsText(todos)
  if (typeof pattern === 'string') {
    const where = typeof path === 'string' && path !== '.' ? ` ${path}` : ''
    return `${name === 'glob' ? pattern : JSON.stringify(pattern)}${where}`
  }
  const texts = [...telling.map((key) => input[key]), ...Object.values(input)]
  return texts.find((value) => typeof value === 'string') ?? ''
}

/** `worker: Count the files.` */
function spawnText({ role, agent_type: type, description, message }: JsonObject): string {
  const who = [role, type].find((value) => typeof value === 'string')
  const what = [description, message].find((value) => typeof value === 'string') ?? ''
  return who === undefined ? what : `${who}: ${what}`
}

function isProgram(name: string): boolean {
  return name === 'code.execute' || name === 'interpreter_run'
}

/** The first line of a program. */
function beginning(code: string): string {
  const [first = '', ...others] = code.trim().split('\n')
  return others.length === 0 ? first : `${first} …`
}

/** `2 of 5 done: Write the parser`. */
function stepsText(todos: readonly Json[]): string {
  const steps = todos.filter(isJsonObject)
  const done = steps.filter(({ status }) => status === 'completed').length
  const current = steps.find(({ status }) => status === 'in_progress')?.['content']
  const now = typeof current === 'string' ? `: ${current}` : ''
  return `${formatCount(done)} of ${formatCount(steps.length)} done${now}`
}

/** Progress of a call: `3/10 message`, `25% message`, or `3 message` if the total is unknown. */
export function progressText({ done, total, message = '' }: McpProgress): string {
  return oneLine(`${amountText(done, total)} ${message}`.trimEnd(), mostColumns)
}

function amountText(done: number, total: number | undefined): string {
  if (total === undefined || total <= 0) return formatCount(done)
  if (Number.isInteger(done) && Number.isInteger(total) && total > 1)
    return `${formatCount(done)}/${formatCount(total)}`
  return `${formatCount(Math.round((100 * done) / total))}%`
}

/** Maximum lines per result. */
const shownLines = 3

/** The first lines of a call's output. */
export function resultLines(output: string): readonly string[] {
  const lines = output.trimEnd().split('\n', shownLines + 1)
  const shown = lines.slice(0, shownLines).map((line) => oneLine(line, mostColumns))
  return lines.length > shownLines ? [...shown, '…'] : shown.filter((line) => line !== '')
}

/** A line of a command's output as it is printed, without what cannot be seen. */
export function outputLine(line: string): string {
  return harmlessName(line.replace(/\r$/, '').replaceAll('\t', '    '))
}

/** The last lines of a command's output. `tail`: of one that took a while, and may have printed more. */
export function lastOutput(output: string, tail: string | undefined): readonly string[] {
  const lines = (tail ?? output)
    .split('\n')
    .map((line) => cutEnd(outputLine(line), mostColumns))
    .filter((line) => line.trim() !== '' && line !== '[no output]')
  return lines.length > shownLines ? ['…', ...lines.slice(-shownLines)] : lines
}

/** Why a call failed, in one line, without a trailing introduction to further lines. */
export function failureText(output: string): string {
  const [first = ''] = output.replace(/^Error in tool "[^"]*": /, '').split('\n', 1)
  return oneLine(first.replace(/(?<=[.;]) [^.;]*:$/, ''), 2 * mostColumns)
}
