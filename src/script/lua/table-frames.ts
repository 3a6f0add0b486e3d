import { deepest } from './plain.ts'

/** A table that is being read; `step` is the key of the value that is read at the moment. */
export interface TableFrame<Table> {
  /** The table's identity. */
  readonly table: Table
  readonly depth: number
  readonly outer: TableFrame<Table> | undefined
  step: string | number
}

/** The frame for a table inside `around`. Throws Error when the table contains itself or is nested too deep. */
export function frameOf<Table>(table: Table, around: TableFrame<Table> | undefined): TableFrame<Table> {
  for (let frame = around; frame !== undefined; frame = frame.outer) {
    if (frame.table === table) throw new Error(`${placeOf(around)} is a table that contains itself`)
  }
  const depth = around === undefined ? 1 : around.depth + 1
  if (depth > deepest) throw new Error(`a table nested deeper than ${deepest} levels cannot leave Lua`)
  return { table, depth, outer: around, step: 0 }
}

/** Where in the value the reading is, for example `a.b[2]`. */
export function placeOf<Table>(frame: TableFrame<Table> | undefined): string {
  let text = ''
  for (let current = frame; current !== undefined; current = current.outer) text = stepText(current.step) + text
  return text === '' ? 'the value' : text.replace(/^\./, '')
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
}
