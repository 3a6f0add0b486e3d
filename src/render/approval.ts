import { isJsonObject, type Json } from '../base/json.ts'
import { harmlessName } from '../base/terminal-text.ts'
import type { ApprovalView, AskedAction } from '../event/asked-action.ts'
import { agentOf } from '../event/sub-agents.ts'
import type { Grant } from '../event/permission.ts'
import { type Paint, paintDiff } from './style.ts'

/** How much of a call is shown. Default: all of it. */
interface Extent {
  readonly lines?: number
  readonly columns?: number
}

const indent = '  '

/**
 * The input of a call and what it would change, for the user to judge. `isCut`: not everything is shown; `hides`: what
 * is not shown may decide the judgement, because no diff says it.
 */
export function callLines(
  { input, diff }: Omit<AskedAction, 'tool'>,
  paint: Paint,
  { lines = Infinity, columns = Infinity }: Extent = {},
): { readonly lines: readonly string[]; readonly isCut: boolean; readonly hides: boolean } {
  // the diff says more about an edit than its input
  const most = diff === undefined ? lines : Math.min(lines, 6)
  const said = cutLines(inputLines(input), { lines: most, columns }, paint)
  const changes = diff === undefined ? [] : diff.trimEnd().split('\n')
  const shown = cutLines(paintDiff(changes, paint), { lines, columns: Infinity }, paint)
  return {
    lines: [...said.lines.map((line) => `${indent}${line}`), ...shown.lines],
    isCut: said.isCut || shown.isCut,
    hides: shown.isCut || (said.isCut && diff === undefined),
  }
}

function cutLines(
  all: readonly string[],
  { lines, columns }: Required<Extent>,
  paint: Paint,
): { readonly lines: readonly string[]; readonly isCut: boolean } {
  const kept = all.slice(0, lines)
  const rest = all.length - kept.length
  const isLong = (line: string): boolean => line.length > columns
  const shown = kept.map((line) => (isLong(line) ? `${line.slice(0, columns)}${paint('dim', '…')}` : line))
  const more = rest === 0 ? [] : [paint('dim', `… ${rest} more ${rest === 1 ? 'line' : 'lines'}`)]
  return { lines: [...shown, ...more], isCut: rest > 0 || kept.some(isLong) }
}

/** One `name: value` per field; a multi-line text is below its name. */
function inputLines(input: Json): readonly string[] {
  if (!isJsonObject(input)) return [harmlessName(JSON.stringify(input))]
  return Object.entries(input).flatMap(([name, value]) => {
    const text = typeof value === 'string' ? value : jsonText(value)
    const [first = '', ...others] = text.replace(/\n$/, '').split('\n').map(visible)
    if (others.length === 0) return [`${harmlessName(name)}: ${first}`]
    return [`${harmlessName(name)}:`, ...[first, ...others].map((line) => `${indent}${line}`)]
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
export function grantText({ tool, subject }: Grant, shown: (path: string) => string): string {
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
      return `${name} with exactly this command`
    case 'name':
      return `${name} of ${harmlessName(subject.name)}`
  }
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

/** Pending approvals, each with its whole input and, given `command`, the commands that answer it. */
export function approvalLines(
  approvals: readonly ApprovalView[],
  { paint, command }: { readonly paint: Paint; readonly command?: ((words: string) => string) | undefined },
): readonly string[] {
  return approvals.flatMap(({ id, tool, place, until, ...call }) => [
    `${paint('yellow', id)}  ${paint('bold', harmlessName(tool))}  ${ofAgent(place)}${paint('dim', harmlessName(place))}`,
    ...callLines(call, paint).lines,
    ...(until === undefined ? [] : [`${indent}${paint('dim', `expires at ${until}`)}`]),
    ...(command === undefined
      ? []
      : [
          `${indent}${paint('cyan', 'approve')}: ${command(`approve RUN ${id}`)}`,
          `${indent}${paint('cyan', 'reject')}:  ${command(`reject RUN ${id}`)} --reason "…"`,
        ]),
  ])
}
