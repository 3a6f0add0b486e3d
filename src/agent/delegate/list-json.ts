import { isJsonObject, type Json, type JsonObject, parseSentJson } from '../../base/json.ts'
import type { ItemStatus, WorkItem } from './items.ts'
import type { ListForm, ReadItem } from './list-form.ts'

/**
 * An array of `{id, subject, status, owner, blocked_by}`. Unknown keys of items and entries that are not items are
 * kept.
 */
export const jsonForm: ListForm = {
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
