import type { Json } from '../base/json.ts'
import type { Location, PlaceNode } from './place-tree.ts'
import type { RunIndex } from './run-index.ts'

export interface ReadsOptions {
  /** Where to look, as text. */
  readonly below: string
  /** Only what was recorded before this. */
  readonly before: Location
  /** Places that are known to be read now as well. */
  readonly isRead: (place: string) => boolean
}

/** A file that a prompt was made of in a recorded run, and is not now. */
export function unreadFile({ tree, source }: RunIndex, { below, before, isRead }: ReadsOptions): string | undefined {
  function search(node: PlaceNode, place: string): string | undefined {
    for (const [name, part] of node.parts ?? []) {
      const at = name.startsWith('#') ? place + name : `${place}/${name}`
      const location = typeof part === 'number' ? part : part.answer
      const found =
        (location !== undefined && location < before && !isRead(at) ? fileReadAt(location) : undefined) ??
        (typeof part === 'number' ? undefined : search(part, at))
      if (found !== undefined) return found
    }
    return undefined
  }

  function fileReadAt(location: Location): string | undefined {
    const record = source.at(location)
    if (record.k !== 'obs' || record.name !== 'file.read' || !Array.isArray(record.args)) return undefined
    const [path] = record.args as readonly Json[]
    return typeof path === 'string' ? path : undefined
  }

  const node = tree.find(below)
  return node === undefined ? undefined : search(node, below)
}
