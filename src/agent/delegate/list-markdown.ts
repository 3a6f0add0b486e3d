import { defined } from '../../base/json.ts'
import { type ItemStatus, oneLine, type WorkItems } from './items.ts'
import type { ListedItem, ListForm, ReadItem } from './list-form.ts'

/** `- [ ] #1 subject (@owner) (blocked by #2, #3)`; `[~]` means in progress, `[x]` completed. */
export const markdownForm: ListForm = {
  read: (text) => itemsOf(text).map(({ item }) => item),
  write(text, items, { unnamed, team }) {
    if (text === undefined) return fresh(items, team)
    const left = new Map(items.map((item) => [item.id, item]))
    const names = [...unnamed]
    const byLine = new Map(itemsOf(text).map((read) => [read.line, read]))
    const lines: string[] = []
    let last = -1
    for (const [index, line] of splitLines(text).entries()) {
      const read = byLine.get(index)
      const id = read?.item.id ?? (read === undefined ? undefined : names.shift())
      const item = id === undefined ? undefined : left.get(id)
      // the item no longer exists
      if (read !== undefined && id !== undefined && item === undefined) continue
      if (read === undefined || item === undefined) {
        lines.push(line)
        continue
      }
      left.delete(item.id)
      last = lines.length
      lines.push(isAsRead(item, read.item) ? line : `${read.bullet}${lineOf(item)}${line.endsWith('\r') ? '\r' : ''}`)
    }
    const added = [...left.values()].map((item) => `- ${lineOf(item)}`)
    if (added.length === 0) return lines.join('\n')
    if (last >= 0) return lines.toSpliced(last + 1, 0, ...added).join('\n')
    const above = text.trim() === '' ? '' : `${lines.join('\n').trimEnd()}\n\n`
    return `${above}${added.join('\n')}\n`
  },
}

function fresh(items: WorkItems, team: string): string {
  return `# Tasks of team ${team}\n\n${items.map((item) => `- ${lineOf(item)}\n`).join('')}`
}

interface ReadLine {
  /** From 0. */
  readonly line: number
  /** The text before the box: indent, `-` and spaces. */
  readonly bullet: string
  readonly item: ReadItem
}

const statuses: Readonly<Record<string, ItemStatus>> = {
  ' ': 'pending',
  '~': 'in_progress',
  x: 'completed',
  X: 'completed',
}

const itemPattern = /^(\s*[-*+] +)\[([ ~xX])\](?: +#([\w-]+)(?= |$))? *(.*)$/
const ownerPattern = /(?:^| )\(@([^\s()]+)\)$/
const blockedPattern = /(?:^| )\(blocked by ((?:#[\w-]+(?:, *| +)?)+)\)$/
/** The end of a subject that would be parsed as an owner or as blockers. */
const escapable = /\\*\((?:@[^\s()]+|blocked by [^()]*)\)$/

/**
 * The lines that are items: a box with an id, or a box without one at the start of the line. Code blocks are skipped.
 */
function itemsOf(text: string): readonly ReadLine[] {
  const seen = new Set<string>()
  const found: ReadLine[] = []
  let fence: string | undefined
  for (const [line, written] of splitLines(text).entries()) {
    const [mark] = /^\s*(?:```|~~~)/.exec(written) ?? []
    if (mark !== undefined) {
      const own = mark.trim()
      fence = fence === undefined ? own : fence === own ? undefined : fence
      continue
    }
    const read = fence === undefined ? readLine(written.trimEnd(), line) : undefined
    if (read === undefined) continue
    const { id } = read.item
    if (id !== undefined && seen.has(id)) continue
    if (id !== undefined) seen.add(id)
    found.push(read)
  }
  return found
}

function readLine(written: string, line: number): ReadLine | undefined {
  const [, bullet = '', box = '', id, said = ''] = itemPattern.exec(written) ?? []
  const status = statuses[box]
  if (status === undefined || (id === undefined && (said === '' || /^\s/.test(bullet)))) return undefined
  const [, blocked] = blockedPattern.exec(said) ?? []
  const withOwner = blocked === undefined ? said : said.replace(blockedPattern, '')
  const [, owner] = ownerPattern.exec(withOwner) ?? []
  const subject = owner === undefined ? withOwner : withOwner.replace(ownerPattern, '')
  const blockers = [...(blocked ?? '').matchAll(/#([\w-]+)/g)].map(([, one = '']) => one)
  const item = { subject: unescaped(oneLine(subject)), status, ...defined({ owner }), blocked_by: blockers }
  return { line, bullet, item: { ...defined({ id }), ...item } }
}

function lineOf({ id, subject, status, owner, blocked_by: blockers }: ListedItem): string {
  const box = { pending: '[ ]', in_progress: '[~]', completed: '[x]' }[status]
  const who = owner === undefined ? '' : ` (@${owner})`
  const blocked = blockers.length === 0 ? '' : ` (blocked by ${blockers.map((one) => `#${one}`).join(', ')})`
  return `${box} #${id} ${escaped(subject)}${who}${blocked}`
}

function escaped(subject: string): string {
  return subject.replace(escapable, (end) => `\\${end}`)
}

function unescaped(subject: string): string {
  return subject.replace(escapable, (end) => (end.startsWith('\\') ? end.slice(1) : end))
}

function isAsRead(item: ListedItem, read: ReadItem): boolean {
  return read.id !== undefined && JSON.stringify(listed(item)) === JSON.stringify(listed(read))
}

function listed({ subject, status, owner, blocked_by: blockers }: ReadItem): unknown {
  return [subject, status, owner ?? null, blockers]
}

function splitLines(text: string): readonly string[] {
  return text.split('\n')
}
