import { harmless } from '../base/terminal-text.ts'
import type { Exchange } from '../history/team-exchanges.ts'
import type { Team, Teams } from '../history/team.ts'
import { oneLine } from './format.ts'
import { namesIn, phraseOf } from './sequence.ts'
import { timesOf } from './timeline.ts'

const longest = 60

/**
 * Escapes a text for Mermaid: every character that could have a meaning there is written as its code, because these
 * diagrams have no quoted texts.
 */
function shown(text: string, width = longest): string {
  const line = harmless(oneLine(text, width)).trim()
  // Mermaid needs a name
  return line === '' ? '-' : line.replaceAll(/[^\p{L}\p{N} ._,()!?/'=*@+-]/gu, (one) => `#${one.codePointAt(0)};`)
}

/**
 * When the members of the teams of a run worked, as a Mermaid `gantt` with a section for each. Times exclude the breaks
 * between sessions.
 */
export function ganttText({ teams, pauses }: Teams, title: string): string {
  const { active, begin, end } = timesOf(teams, pauses)
  const sections = teams.flatMap((team) => {
    const names = namesIn(team)
    return team.members.flatMap(({ id, spans }) => {
      const bars = spans.map(({ kind, from, to, on, ended }) => {
        const text = kind === 'working' ? 'working' : kind === 'queued' ? 'queued' : waitText(on.map(names))
        const tags = kind !== 'working' ? ['done'] : ended === 'failed' ? ['crit'] : to === null ? ['active'] : []
        const start = Math.round(begin + active(from))
        // a bar needs a length
        const stop = Math.max(start + 1, Math.round(begin + active(to ?? end)))
        return `    ${text} :${[...tags, start, stop].join(', ')}`
      })
      return bars.length === 0 ? [] : [`    section ${nameIn(team, teams, names(id))}`, ...bars]
    })
  })
  return ['gantt', `    title ${shown(title)}`, '    dateFormat x', '    axisFormat %H:%M:%S', ...sections, ''].join(
    '\n',
  )
}

/** With several teams, the place of the leader distinguishes them. */
function nameIn({ members: [leader] }: Team, teams: readonly Team[], name: string): string {
  return shown(teams.length === 1 ? name : `${leader?.place ?? ''} ${name}`)
}

function waitText(on: readonly string[]): string {
  if (on.length === 0) return 'waiting for messages'
  return `waiting for ${on.length > 3 ? `${on.length} agents` : on.map((name) => shown(name)).join(', ')}`
}

/** The exchanges between the members of the teams of a run, as a Mermaid `sequenceDiagram`. */
export function sequenceText({ teams, pauses }: Teams): string {
  const { active } = timesOf(teams, pauses)
  const drawn = teams.map((team, number) => {
    const names = namesIn(team)
    const ids = new Map(team.members.map(({ id }, index) => [id, `t${number}m${index}`]))
    const idOf = (id: string): string => ids.get(id) ?? `t${number}m0`
    const participants = team.members.map(
      ({ id }) => `    participant ${idOf(id)} as ${nameIn(team, teams, names(id))}`,
    )
    const lines = team.exchanges.map((exchange) => {
      const { verb, text } = phraseOf(exchange, { names, active })
      const said = text === '' ? shown(verb, 200) : `${shown(verb, 200)}#58; ${shown(text)}`
      return `    ${arrowOf(exchange, idOf)}: ${said}`
    })
    return { participants, lines }
  })
  return [
    'sequenceDiagram',
    ...drawn.flatMap(({ participants }) => participants),
    ...drawn.flatMap(({ lines }) => lines),
    '',
  ].join('\n')
}

function arrowOf(exchange: Exchange, idOf: (id: string) => string): string {
  switch (exchange.kind) {
    case 'spawn':
    case 'message':
      return `${idOf(exchange.from)}->>${idOf(exchange.to)}`
    case 'end':
      return `${idOf(exchange.from)}-->>${idOf(exchange.to)}`
    case 'close':
      return `${idOf(exchange.from)}-x${idOf(exchange.to)}`
    case 'wait':
    case 'waited':
    case 'refused':
      return `Note over ${idOf(exchange.from)}`
    case 'notice':
      return `Note over ${idOf(exchange.to)}`
  }
}
