import { isJsonObject, type Json } from '../base/json.ts'
import { harmlessLines, harmlessName } from '../base/terminal-text.ts'
import type { ApprovalView, ActionView } from '../event/action-view.ts'
import { agentOf } from '../event/sub-agents.ts'
import type { Action, Grant, RangeGrant, ReviewPlace } from '../event/permission.ts'
import { readDiff } from '../event/hunks.ts'
import { type Paint, paintDiff } from './style.ts'

/** How much of a call is shown: of its lines, and of each. Default: all of it. */
interface Extent {
  readonly lines?: number
  readonly columns?: number
}

/** Lines of an input that has fewer characters are not shortened, because a question shows as much as it can. */
const mostWhole = 8_000
/** What of a shortened text is its end. */
const endShare = 0.25

const indent = '  '

/**
 * The input of a call and what it would change, for the user to judge. `isCut`: not everything is shown; `hides`: what
 * is not shown may decide the judgement, because no diff says it.
 */
export function callLines(
  { input, diff, ...read }: Omit<ActionView, 'tool'>,
  paint: Paint,
  { lines = Infinity, columns = Infinity }: Extent = {},
): { readonly lines: readonly string[]; readonly isCut: boolean; readonly hides: boolean } {
  // the diff says more about an edit than its input
  const most = diff === undefined ? lines : Math.min(lines, 6)
  const asked = inputLines(input)
  const isLong = diff !== undefined || asked.reduce((sum, { length }) => sum + length, 0) > mostWhole
  const said = cutLines(asked, { lines: most, columns: isLong ? columns : Infinity }, paint)
  const also = cutLines(readLines(read), { lines, columns }, paint)
  const changes = diff === undefined ? [] : diff.trimEnd().split('\n')
  const shown = cutLines(
    changes.map((line) => visible(line.replace(/\r$/, ''))),
    { lines, columns: Infinity },
    paint,
  )
  return {
    lines: [...[...said.lines, ...also.lines].map((line) => `${indent}${line}`), ...paintDiff(shown.lines, paint)],
    isCut: said.isCut || also.isCut || shown.isCut,
    hides: shown.isCut || (said.isCut && diff === undefined),
  }
}

/** What Baton found out about a call: what then runs by itself, where a link leads, what a command line runs, and in which folder. */
function readLines({
  target,
  runs = [],
  commands = [],
  unread,
  folder,
}: Omit<ActionView, 'tool' | 'input' | 'diff'>): readonly string[] {
  return [
    ...(target === undefined ? [] : [`-> ${visible(target)} (the path leads there through a link)`]),
    ...(runs.length === 0 ? [] : ['package managers then run by themselves:']),
    ...runs.map((text) => `${indent}${visible(text)}`),
    ...(commands.length === 0 ? [] : ['commands in it:', ...commands.map((text) => `${indent}${visible(text)}`)]),
    ...(unread === undefined ? [] : ['it also runs commands that are known only when it runs']),
    ...(folder === undefined || folder === '.' ? [] : [`in the folder ${visible(folder)}`]),
  ]
}

function cutLines(
  all: readonly string[],
  { lines, columns }: Required<Extent>,
  paint: Paint,
): { readonly lines: readonly string[]; readonly isCut: boolean } {
  const isLong = (line: string): boolean => line.length > columns
  const shortened = (line: string): string => {
    if (!isLong(line)) return line
    const tail = Math.round(columns * endShare)
    const left = line.length - columns
    return `${line.slice(0, columns - tail)} ${paint('dim', `… ${left} more …`)} ${line.slice(-tail)}`
  }
  const rest = Math.max(all.length - lines, 0)
  const tail = rest === 0 ? 0 : Math.round(lines * endShare)
  const [head, end] = [all.slice(0, all.length - rest - tail), tail === 0 ? [] : all.slice(-tail)]
  const more = rest === 0 ? [] : [paint('dim', `… ${rest} more ${rest === 1 ? 'line' : 'lines'}`)]
  return {
    lines: [...head.map(shortened), ...more, ...end.map(shortened)],
    isCut: rest > 0 || [...head, ...end].some(isLong),
  }
}

/** Fields that decide what a call does: first, whatever order a model gives them. */
const first = ['command', 'path', 'url']

/** One `name: value` per field; a multi-line text is below its name. */
function inputLines(input: Json): readonly string[] {
  if (!isJsonObject(input)) return [harmlessName(JSON.stringify(input))]
  const named = first.filter((name) => Object.hasOwn(input, name))
  const names = [...new Set([...named, ...Object.keys(input)])]
  return names.flatMap((name) => {
    const value = input[name] ?? null
    const text = typeof value === 'string' ? value : jsonText(value)
    const [only = '', ...others] = text.replace(/\n$/, '').split('\n').map(visible)
    if (others.length === 0) return [`${harmlessName(name)}: ${only}`]
    return [`${harmlessName(name)}:`, ...[only, ...others].map((line) => `${indent}${line}`)]
  })
}

/** On one line if it is short. */
function jsonText(value: Json): string {
  const short = JSON.stringify(value)
  return short.length <= 100 ? short : JSON.stringify(value, null, 2)
}

/** A line without invisible characters. */
function visible(line: string): string {
  return harmlessName(line.replaceAll('\t', '    '))
}

/** What `always` allows, precisely: `every call of todo`, `edit of src/a.ts`, `bash with exactly: npm test`. */
export function grantText(grant: Grant, shown: (path: string) => string): string {
  if ('range' in grant) return rangeText(grant, shown)
  const { tool, subject, folder } = grant
  const name = harmlessName(tool)
  switch (subject?.kind) {
    case undefined:
    case 'any':
      return `every call of ${name}`
    case 'path':
      return `${name} of ${harmlessName(shown(subject.path))}`
    case 'host':
      return `${name} of ${harmlessName(subject.host)}${subject.port === undefined ? '' : `:${subject.port}`}`
    case 'command':
      return `${name} with exactly this command${folder === undefined ? '' : ` ${inFolder(folder)}`}`
    case 'name':
      return `${name} of ${harmlessName(subject.name)}`
  }
}

function rangeText(grant: RangeGrant, shown: (path: string) => string): string {
  switch (grant.range) {
    case 'commands': {
      const { tool, words, folder } = grant
      return `${harmlessName(tool)} with ${harmlessName(words)} *${folder === undefined ? '' : ` ${inFolder(folder)}`}`
    }
    case 'file':
      return `changes of ${harmlessName(shown(grant.path))}`
    case 'edits':
      return 'changes of all files'
  }
}

/** A call as a question in plain words: `edit src/a.ts?`, `run this command?`, `use todo?`. */
export function callQuestion(
  { tool, subject }: Extract<Action, { readonly kind: 'tool' }>,
  shown: (path: string) => string,
): string {
  const name = harmlessName(tool)
  switch (subject?.kind) {
    case 'path':
      return `${name} ${harmlessName(shown(subject.path))}?`
    case 'host':
      return `${name} from ${harmlessName(subject.host)}?`
    case 'command':
      return 'run this command?'
    case 'name':
    case 'any':
    case undefined:
      return tool === 'exit_plan' ? 'carry out this plan?' : `use ${name}?`
  }
}

function inFolder(folder: string): string {
  return folder === '.' ? 'in the folder of the workspace' : `in the folder ${harmlessName(folder)}`
}

/** The calls a run waits for, below a heading. */
export function waitingLines(
  approvals: readonly ApprovalView[],
  options: Parameters<typeof approvalLines>[1],
): readonly string[] {
  const count = `${approvals.length} ${approvals.length === 1 ? 'call' : 'calls'}`
  return [`${options.paint('yellow', 'waiting for approval')}: ${count}`, ...approvalLines(approvals, options)]
}

/** The agent that made the call: `of reader a1b2c3d4e  `; empty for the main agent. */
function ofAgent(place: string): string {
  const agent = agentOf(place)
  return agent === undefined ? '' : `of ${harmlessName(agent)}  `
}

/** Which change of how many it is, and above the first one what the answer says besides. */
function reviewLines(review: ReviewPlace | undefined, before: ReviewPlace | undefined): readonly string[] {
  if (review === undefined) return []
  const { number, count, explanation = '' } = review
  const said = explanation === '' || explanation === before?.explanation ? [] : harmlessLines(explanation).split('\n')
  return [...said.map((line) => `${indent}│ ${line}`), ...(count > 1 ? [`${indent}${number} of ${count}`] : [])]
}

/** With the number of each hunk behind its place. */
export function withNumbers<Call extends Pick<ActionView, 'diff'>>(call: Call): Call {
  const { head, hunks } = readDiff(call.diff ?? '')
  const lines = hunks.flatMap(({ number, title, lines: own }) => [`${title} hunk ${number}`, ...own])
  return { ...call, diff: [...head, ...lines].join('\n') }
}

/** Pending approvals, each with its whole input and, given `command`, the commands that answer it. */
export function approvalLines(
  approvals: readonly ApprovalView[],
  { paint, command }: { readonly paint: Paint; readonly command?: ((words: string) => string) | undefined },
): readonly string[] {
  return approvals.flatMap(({ id, tool, place, until, review, hunks, ...call }, index) => [
    `${paint('yellow', id)}  ${paint('bold', harmlessName(tool))}  ${ofAgent(place)}${paint('dim', harmlessName(place))}`,
    ...reviewLines(review, approvals[index - 1]?.review),
    ...callLines(hunks === undefined ? call : withNumbers(call), paint).lines,
    ...(until === undefined ? [] : [`${indent}${paint('dim', `expires at ${until}`)}`]),
    ...(command === undefined
      ? []
      : [
          `${indent}${paint('cyan', 'approve')}: ${command(`approve RUN ${id}`)}`,
          ...(hunks === undefined
            ? []
            : [`${indent}${paint('cyan', 'in part')}: ${command(`approve RUN ${id}`)} --hunks 1`]),
          `${indent}${paint('cyan', 'reject')}:  ${command(`reject RUN ${id}`)} --reason "…"`,
        ]),
  ])
}
