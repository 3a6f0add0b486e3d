import { originText, placeAround } from '../../event/place.ts'
import type { Row } from './row.ts'

/** A row with its position in the tree. */
export interface TreeLine {
  readonly row: Row
  /** 0 at the top level. */
  readonly depth: number
  /** Its place relative to that of its parent. */
  readonly name: string
  readonly shape: 'leaf' | 'open' | 'closed'
  /** Position among its siblings, from 1. */
  readonly position: number
  readonly siblings: number
}

/** Which lines are visible. */
export interface ShownLines {
  /** Whether rows with children are expanded; `few`: those with few siblings, so that a long list begins short. */
  readonly expanded: 'all' | 'none' | 'few'
  /** The numbers of rows for which the opposite holds. */
  readonly toggled: ReadonlySet<number>
  /** Only these rows, and what is around them. */
  readonly fits?: ((row: Row) => boolean) | undefined
}

/** Of more siblings, none is expanded at first. */
const fewSiblings = 20

interface Node {
  row: Row
  readonly name: string
  readonly below: Node[]
}

/** The rows of a run as a tree by place. It grows with the run. */
export interface RowTree {
  add(rows: readonly Row[]): void
  /** The visible lines, top to bottom. */
  lines(shown: ShownLines): readonly TreeLine[]
}

export function createRowTree(): RowTree {
  const top: Node[] = []
  const nodes = new Map<number, Node>()
  /** The node of each place. If a place was restarted, that of its newest row. */
  const byPlace = new Map<string, Node>()

  function insert(row: Row): void {
    const place = originText(row.place)
    const outer = nearest(place)
    const under = outer === undefined ? '' : originText(outer.row.place)
    const node: Node = { row, name: place.slice(under.length).replace(/^[/#]/, ''), below: [] }
    const siblings = outer?.below ?? top
    siblings.push(node)
    nodes.set(row.n, node)
    byPlace.set(place, node)
  }

  function nearest(place: string): Node | undefined {
    for (let at = placeAround(place); at !== ''; at = placeAround(at)) {
      const node = byPlace.get(at)
      if (node !== undefined) return node
    }
    return undefined
  }

  return {
    add(rows) {
      for (const row of rows) {
        const known = nodes.get(row.n)
        if (known === undefined) insert(row)
        else known.row = row
      }
    },
    lines({ expanded, toggled, fits }) {
      const lines: TreeLine[] = []
      const show = (siblings: readonly Node[], depth: number): void => {
        const isUsual = expanded === 'all' || (expanded === 'few' && siblings.length <= fewSiblings)
        for (const [index, { row, name, below }] of siblings.entries()) {
          const isOpen = toggled.has(row.n) ? !isUsual : isUsual
          const shape = below.length === 0 ? 'leaf' : isOpen ? 'open' : 'closed'
          lines.push({ row, depth, name, shape, position: index + 1, siblings: siblings.length })
          if (shape === 'open') show(below, depth + 1)
        }
      }
      show(fits === undefined ? top : fitting(top, fits), 0)
      return lines
    },
  }
}

/** The nodes that fit, and those around them. */
function fitting(siblings: readonly Node[], fits: (row: Row) => boolean): readonly Node[] {
  return siblings.flatMap((node) => {
    const below = fitting(node.below, fits)
    return below.length > 0 || fits(node.row) ? [{ ...node, below: [...below] }] : []
  })
}
