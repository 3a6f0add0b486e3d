import { cutEnd, widthOf } from '../base/width.ts'
import { harmless } from '../base/terminal-text.ts'
import type { Exchange } from '../history/team-exchanges.ts'
import type { Team, Teams } from '../history/team.ts'
import { formatDuration, oneLine } from './format.ts'
import { restLine } from './runs.ts'
import type { Paint } from './style.ts'
import { type ActiveTime, timesOf } from './timeline.ts'

export interface SequenceOptions {
  readonly paint: Paint
  /** Columns of the terminal, infinite for a pipe. */
  readonly width: number
  /** Maximum exchanges per team; if infinite, texts are not truncated either. */
  readonly lines: number
}

/** The exchanges between the members of a team, one line each: time, from whom to whom, and what. */
export function sequenceLines(team: Team, pauses: Teams['pauses'], options: SequenceOptions): readonly string[] {
  const { paint, width, lines } = options
  const { active } = timesOf([team], pauses)
  const names = namesIn(team)
  const shown = team.exchanges.slice(0, lines)
  const whos = shown.map((one) => whoText(one, names))
  const [timeWidth, whoWidth] = [7, Math.max(0, ...whos.map(widthOf))]
  const rows = shown.map((one, index) => {
    const who = whos[index] ?? ''
    const head = `${formatDuration(active(one.t)).padStart(timeWidth)}  ${who}${' '.repeat(whoWidth - widthOf(who))}  `
    const { verb, text, after } = phraseOf(one, { names, active })
    const said = text === '' ? verb : `${verb}: ${text}`
    const tail = after === '' ? '' : ` (${after})`
    const colored = (line: string): string => line.replace(verb, paint(verbFormat(one), verb))
    if (lines === Number.POSITIVE_INFINITY) {
      const [first = '', ...rest] = harmless(said).trimEnd().split('\n')
      return [
        `${head}${colored(first)}${rest.length === 0 ? tail : ''}`,
        ...rest.map((line) => ' '.repeat(timeWidth + 2) + line),
      ].join('\n')
    }
    return `${head}${colored(cutEnd(oneLine(said), Math.max(20, Math.min(width, widest) - 1 - widthOf(head) - widthOf(tail))))}${tail}`
  })
  return [...rows, ...restLine(team.exchanges.length - shown.length, 'more', paint)]
}

const widest = 160

/** Looks up names of members by id. */
export function namesIn({ members }: Team): (id: string) => string {
  const names = new Map(members.map(({ id, name }) => [id, oneLine(name)]))
  return (id) => names.get(id) ?? oneLine(id, 12)
}

function whoText(exchange: Exchange, names: (id: string) => string): string {
  const from = 'from' in exchange ? names(exchange.from) : ''
  const to = 'to' in exchange ? `→ ${names(exchange.to)}` : ''
  return `${from} ${to}`.trim()
}

function verbFormat(exchange: Exchange): Parameters<Paint>[0] {
  switch (exchange.kind) {
    case 'spawn':
      return 'cyan'
    case 'refused':
    case 'notice':
      return 'red'
    case 'end':
      return exchange.status === 'done' ? 'green' : exchange.status === 'failed' ? 'red' : 'yellow'
    case 'waited':
      return exchange.stalled === null ? 'dim' : 'red'
    case 'message':
      return exchange.interrupt ? 'yellow' : 'bold'
    case 'wait':
    case 'close':
      return 'dim'
  }
}

interface Phrase {
  readonly verb: string
  readonly text: string
  readonly after: string
}

/** Describes an exchange in words. */
export function phraseOf(
  exchange: Exchange,
  { names, active }: { readonly names: (id: string) => string; readonly active: ActiveTime },
): Phrase {
  const said = (verb: string, text = '', after = ''): Phrase => ({ verb, text, after })
  switch (exchange.kind) {
    case 'spawn':
      return said('starts', exchange.text)
    case 'refused':
      return said(`${exchange.tool} was refused`, exchange.text)
    case 'message': {
      const { interrupt, text, t, told } = exchange
      const late =
        told === null
          ? 'not delivered'
          : active(told) - active(t) < 1000
            ? ''
            : `delivered after ${formatDuration(active(told) - active(t))}`
      return said(interrupt ? 'interrupts' : 'sends', text, late)
    }
    case 'end':
      return said(endVerbs[exchange.status], exchange.status === 'stopped' ? '' : exchange.text)
    case 'wait': {
      const on = exchange.on.map(names)
      return said(`waits for ${on.length > 1 ? `${exchange.returnWhen} of ` : ''}${on.join(', ')}`)
    }
    case 'waited':
      return exchange.stalled === null
        ? said(exchange.timedOut ? 'wait timed out' : 'waited')
        : said('would have waited forever', exchange.stalled)
    case 'close':
      return said('closes')
    case 'notice':
      return said('is notified', exchange.text)
  }
}

const endVerbs = { done: 'completed', failed: 'errored', stopped: 'stopped', suspended: 'suspended' } as const
