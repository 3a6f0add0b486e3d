import { originOf, parsePlace, placeText } from '../../event/place.ts'
import type { Row } from './row.ts'

/** A row where it stands in the tree. */
export interface TreeLine {
  readonly row: Row
  /** 0 for what the run itself holds. */
  readonly depth: number
  /** Its place below that of the line it stands under. */
  readonly name: string
  readonly shape: 'leaf' | 'open' | 'closed'
  /** Of its siblings, from 1. */
  readonly position: number
  readonly siblings: number
}

interface Node {
  row: Row
  readonly name: string
  readonly below: Node[]
}

/** The rows of a run below one another, by their places. Grows with the run. */
export interface RowTree {
  add(rows: readonly Row[]): void
  /** What is shown when the rows with these numbers are closed, from the top down. */
  lines(closed: ReadonlySet<number>): readonly TreeLine[]
  /** The numbers of all rows that hold others. */
  holders(): readonly number[]
}

export function createRowTree(): RowTree {
  const top: Node[] = []
  const nodes = new Map<number, Node>()
  /** A place that has begun again stands for its newest row. */
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
    for (let at = outside(place); at !== ''; at = outside(at)) {
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
    lines(closed) {
      const lines: TreeLine[] = []
      const show = (siblings: readonly Node[], depth: number): void => {
        for (const [index, { row, name, below }] of siblings.entries()) {
          const shape = below.length === 0 ? 'leaf' : closed.has(row.n) ? 'closed' : 'open'
          lines.push({ row, depth, name, shape, position: index + 1, siblings: siblings.length })
          if (shape === 'open') show(below, depth + 1)
        }
      }
      show(top, 0)
      return lines
    },
    holders: () => [...nodes.values()].filter(({ below }) => below.length > 0).map(({ row }) => row.n),
  }
}

/** The place with each conversation put where it was opened. Most places have none, and parsing takes time. */
function originText(place: string): string {
  return place.includes('agent/') ? placeText(originOf(parsePlace(place))) : place
}

/** The place around another one; empty for the run. */
function outside(place: string): string {
  return place.slice(0, Math.max(0, place.lastIndexOf('/'), place.lastIndexOf('#')))
}
