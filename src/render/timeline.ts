import { cutEnd, cutMiddle, widthOf } from '../base/width.ts'
import type { Span } from '../history/team-spans.ts'
import type { Member, MemberStatus, Team, Teams } from '../history/team.ts'
import { formatCost, formatDuration, oneLine } from './format.ts'
import { restLine } from './runs.ts'
import type { Paint } from './style.ts'

export interface TimelineOptions {
  readonly paint: Paint
  /** Columns of the terminal, infinite for a pipe. */
  readonly width: number
  /** Maximum members per team. */
  readonly lines: number
}

/** Converts a time to milliseconds since the team started, excluding the breaks between sessions. */
export type ActiveTime = (t: number) => number

/** When teams started and ended, and their times without breaks. An unknown end is that of the last known span. */
export function timesOf(
  teams: readonly Team[],
  pauses: Teams['pauses'],
): { readonly active: ActiveTime; readonly begin: number; readonly end: number } {
  const spans = teams.flatMap(({ members }) => members.flatMap((member) => member.spans))
  const known = spans.flatMap(({ from, to }) => [from, to ?? from])
  const begin = known.reduce((one, other) => Math.min(one, other), Infinity)
  const end = known.reduce((one, other) => Math.max(one, other), 0)
  const within = pauses.filter(({ last, next }) => last >= begin && next > last)
  const active = (t: number): number => {
    const idle = within.map(({ last, next }) => Math.max(0, Math.min(t, next) - last))
    return Math.max(0, t - begin - idle.reduce((sum, one) => sum + one, 0))
  }
  return { active, begin, end }
}

const widest = 110
const leastBar = 16
const mostName = 28
const marks = { working: '█', waiting: '░', queued: '·', stopped: '|', failed: '×' } as const
const meanings = {
  working: 'working',
  waiting: 'waiting',
  queued: 'queued',
  stopped: 'stopped',
  failed: 'failed',
}
const formats = { working: 'cyan', waiting: 'yellow', queued: 'dim', stopped: 'yellow', failed: 'red' } as const

type Mark = keyof typeof marks

/** When the members of a team worked: a bar for each, with its waits, and below them what failed. */
export function timelineLines(team: Team, pauses: Teams['pauses'], options: TimelineOptions): readonly string[] {
  const { paint, lines } = options
  const columns = Math.min(options.width, widest) - 1
  const { active, end } = timesOf([team], pauses)
  const total = Math.max(1, active(end))
  const shown = team.members.slice(0, lines)
  const names = shown.map(({ name, depth }) => ' '.repeat(2 * depth) + oneLine(name))
  const nameWidth = Math.min(mostName, Math.floor(columns / 3), Math.max(...names.map(widthOf)))
  const facts = shown.map((member) => factsOf(member, active))
  const factWidth = Math.max(...facts.map((parts) => widthOf(parts.join('  '))))
  const room = columns - nameWidth - 2
  // facts that do not fit beside a bar are dropped, the last first
  const barWidth = Math.max(leastBar, room - factWidth - 2)
  // the moment it takes to start an agent is not a wait
  const drawnOf = ({ spans }: Member): readonly Span[] =>
    spans.filter(({ kind, from, to }) => kind !== 'queued' || active(to ?? end) - active(from) >= total / barWidth)
  const rows = shown.map((member, index) => {
    const name = cutMiddle(names[index] ?? '', nameWidth)
    const bar = barOf(drawnOf(member), { active, end, total, columns: barWidth, paint })
    const fact = joinedWithin(facts[index] ?? [], room - barWidth - 2)
    const padding = ' '.repeat(nameWidth - widthOf(name) + 2)
    return `${name}${padding}${bar}  ${paint(statusFormats[member.status], fact)}`.trimEnd()
  })
  const length = formatDuration(total)
  const axis = `${' '.repeat(nameWidth + 2)}0s${length.padStart(barWidth - 2)}`
  const drawn = shown.flatMap(drawnOf)
  const seen = new Set(drawn.flatMap(({ kind, ended }): readonly unknown[] => [kind, ended]))
  const legend = (Object.keys(marks) as readonly Mark[])
    .filter((mark) => seen.has(mark))
    .map((mark) => `${paint(formats[mark], marks[mark])} ${meanings[mark]}`)
    .join('  ')
  return [
    ...rows,
    ...restLine(team.members.length - shown.length, 'more agents', paint),
    paint('dim', axis),
    legend,
    ...pauses.filter(({ last }) => last < end).map((pause) => pauseText(pause, active)),
    ...shown
      .filter(({ status, text }) => status === 'errored' && text !== '')
      .map(({ name, text }) => cutEnd(`${paint('red', 'failed')} ${oneLine(name)}: ${oneLine(text)}`, columns)),
  ]
}

function joinedWithin(parts: readonly string[], columns: number): string {
  const [first = '', ...more] = parts
  const text = more.reduce((one, part) => (widthOf(one) + 2 + widthOf(part) > columns ? one : `${one}  ${part}`), first)
  return cutEnd(text, Math.max(0, columns))
}

function pauseText({ last, next }: Teams['pauses'][number], active: ActiveTime): string {
  return `resumed at ${formatDuration(active(last))}, after a break of ${formatDuration(Math.max(0, next - last))}`
}

const statusFormats: { readonly [status in MemberStatus]: Parameters<Paint>[0] } = {
  pending_init: 'dim',
  running: 'cyan',
  interrupted: 'yellow',
  suspended: 'yellow',
  completed: 'green',
  errored: 'red',
  shutdown: 'dim',
}

/** Its status, how long it worked, and what it cost. */
function factsOf({ status, closed, spans, paid }: Member, active: ActiveTime): readonly string[] {
  const worked = spans
    .filter(({ kind, to }) => kind === 'working' && to !== null)
    .reduce((sum, { from, to }) => sum + active(to ?? from) - active(from), 0)
  const facts = [status, worked === 0 ? '' : formatDuration(worked), formatCost(paid.usd), closed ? 'closed' : '']
  return facts.filter((text, index) => text !== '' && !(index === 3 && status === 'shutdown'))
}

interface Bar {
  readonly active: ActiveTime
  readonly end: number
  /** Milliseconds that all columns together represent. */
  readonly total: number
  readonly columns: number
  readonly paint: Paint
}

/** Each column shows what took most of its time. Anything shorter than a column is shown if the column is free. */
function barOf(spans: readonly Span[], { active, end, total, columns, paint }: Bar): string {
  const size = total / columns
  const cells = Array.from({ length: columns }, () => ({ working: 0, waiting: 0, queued: 0 }))
  for (const { kind, from, to } of spans) {
    const [left, right] = [active(from), active(to ?? end)]
    const last = Math.min(columns - 1, Math.floor(right / size))
    for (let cell = Math.min(last, Math.floor(left / size)); cell <= last; cell += 1) {
      const covered = Math.min(right, (cell + 1) * size) - Math.max(left, cell * size)
      const known = cells[cell]
      // spans of no length are visible too
      if (known !== undefined && (covered > 0 || left === right)) known[kind] += Math.max(covered, size / 1e6)
    }
  }
  const kinds = cells.map((cell): Mark | undefined => {
    const [longest] = Object.entries(cell).toSorted(([, one], [, other]) => other - one)
    return longest === undefined || longest[1] === 0 ? undefined : (longest[0] as Mark)
  })
  for (const { to, ended } of spans) {
    const mark = ended === 'stopped' || ended === 'failed' ? ended : undefined
    if (mark !== undefined && to !== null) kinds[Math.max(0, Math.ceil(active(to) / size) - 1)] = mark
  }
  let text = ''
  for (let index = 0; index < kinds.length;) {
    const kind = kinds[index]
    let next = index
    while (next < kinds.length && kinds[next] === kind) next += 1
    text += kind === undefined ? ' '.repeat(next - index) : paint(formats[kind], marks[kind].repeat(next - index))
    index = next
  }
  return text
}
