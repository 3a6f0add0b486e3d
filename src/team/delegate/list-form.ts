import { type ItemStatus, oneLine, type WorkItem, type WorkItems } from './items.ts'
import { defined, isJsonObject, type Json, type JsonObject, parseSentJson } from '../../base/json.ts'

/** The fields of an item that are in the list file; only the team knows the others. */
export type ListedItem = Pick<WorkItem, 'id' | 'subject' | 'status' | 'owner' | 'blocked_by'>

/** A parsed item. Without an id it is new. */
export type ReadItem = Omit<ListedItem, 'id'> & { readonly id?: string }

/** A list format that users read and edit. */
export interface ListForm {
  /**
   * Parses items in order; of several with the same id the first one counts. Undefined if the text is not a valid list
   * at the moment.
   */
  readonly read: (text: string) => readonly ReadItem[] | undefined
  /**
   * The text of a list after its items were replaced by these. Unchanged items and anything else are left verbatim.
   * `unnamed`: ids for the items without one, in order. `team`: for the heading of a new list.
   */
  readonly write: (text: string | undefined, items: WorkItems, names: Naming) => string
}

interface Naming {
  readonly unnamed: readonly string[]
  readonly team: string
}

export function listForm(format: 'markdown' | 'json'): ListForm {
  return format === 'json' ? jsonForm : markdownForm
}

/**
 * An array of `{id, subject, status, owner, blocked_by}`. Unknown keys of items and entries that are not items are
 * kept.
 */
const jsonForm: ListForm = {
  read(text) {
    const entries = entriesOf(text)
    if (entries === undefined) return undefined
    const seen = new Set<string>()
    return entries.flatMap((entry): readonly ReadItem[] => {
      const item = readEntry(entry)
      if (item === undefined || (item.id !== undefined && seen.has(item.id))) return []
      if (item.id !== undefined) seen.add(item.id)
      return [item]
    })
  },
  write(text, items, { unnamed }) {
    const left = new Map(items.map((item) => [item.id, item]))
    const names = [...unnamed]
    const named = new Set<string>()
    const kept = (entriesOf(text ?? '') ?? []).flatMap((entry): readonly Json[] => {
      const read = readEntry(entry)
      if (read === undefined || !isJsonObject(entry) || (read.id !== undefined && named.has(read.id))) return [entry]
      const id = read.id ?? names.shift() ?? ''
      named.add(id)
      const item = left.get(id)
      left.delete(id)
      return item === undefined ? [] : [withItem(entry, item)]
    })
    const all = [...kept, ...[...left.values()].map((item) => withItem({}, item))]
    const written = all.length === 0 ? '[]\n' : `[\n${all.map((one) => `  ${JSON.stringify(one)}`).join(',\n')}\n]\n`
    return text !== undefined && JSON.stringify(entriesOf(text)) === JSON.stringify(all) ? text : written
  },
}

function entriesOf(text: string): readonly Json[] | undefined {
  if (text.trim() === '') return []
  try {
    const value = parseSentJson(text)
    return Array.isArray(value) ? (value as readonly Json[]) : undefined
  } catch {
    return undefined
  }
}

const statuses: readonly string[] = ['pending', 'in_progress', 'completed'] satisfies readonly ItemStatus[]

function readEntry(entry: Json): ReadItem | undefined {
  if (!isJsonObject(entry)) return undefined
  const { id, subject, status = 'pending', owner, blocked_by: blockers } = entry
  if (typeof subject !== 'string' || typeof status !== 'string' || !statuses.includes(status)) return undefined
  const ids = Array.isArray(blockers) ? (blockers as readonly Json[]).map(String) : []
  return {
    ...(typeof id === 'string' || typeof id === 'number' ? { id: String(id) } : {}),
    subject,
    status: status as ItemStatus,
    ...(typeof owner === 'string' && owner !== '' ? { owner } : {}),
    blocked_by: ids,
  }
}

function withItem(entry: JsonObject, { id, subject, status, owner, blocked_by: blockers }: WorkItem): JsonObject {
  const item = { id, subject, status, owner: owner ?? null, blocked_by: [...blockers] }
  return { ...item, ...entry, ...item }
}

/** `- [ ] #1 subject (@owner) (blocked by #2, #3)`; `[~]` means in progress, `[x]` completed. */
const markdownForm: ListForm = {
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

const statusOfMark: Readonly<Record<string, ItemStatus>> = {
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
  const status = statusOfMark[box]
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
