import type { Line } from './document.ts'
import type { Form } from './form.ts'

/** Lines of a file: all or some of them. */
export interface View {
  readonly lines: readonly Line[]
  /** Index in the file of each line; undefined when all lines of the file are there. */
  readonly indices: readonly number[] | undefined
}

/** What a hunk is compared with: the texts of lines in one form. */
export interface Compared extends Pick<View, 'indices'> {
  readonly texts: readonly string[]
}

export function wholeView(lines: readonly Line[]): View {
  return { lines, indices: undefined }
}

/** The file without the lines that hunks have added; undefined when that is the whole file. */
export function oldView(lines: readonly Line[]): View | undefined {
  const old: Line[] = []
  const indices: number[] = []
  for (const [index, line] of lines.entries()) {
    if (line.number === undefined) continue
    old.push(line)
    indices.push(index)
  }
  return old.length === lines.length ? undefined : { lines: old, indices }
}

/** The index in the file of a line of the view. */
export function fileIndex({ indices }: Pick<View, 'indices'>, position: number): number {
  return indices === undefined ? position : (indices[position] ?? 0)
}

/** How many lines of the view stand before this line of the file. */
export function countBefore({ texts, indices }: Compared, index: number): number {
  if (indices === undefined) return Math.max(0, Math.min(index, texts.length))
  const found = indices.findIndex((known) => known >= index)
  return found === -1 ? indices.length : found
}

/** The place in the view of a line of the file. */
export function positionOf({ indices }: View, index: number): number {
  return indices === undefined ? index : indices.indexOf(index)
}

/** The view as it is compared: each text in this form, blank ones left out on request. */
export function compared(
  { lines, indices }: View,
  { form, withBlanks }: { readonly form: Form; readonly withBlanks: boolean },
): Compared {
  if (withBlanks) return { texts: lines.map((line) => line.as(form)), indices }
  const texts: string[] = []
  const kept: number[] = []
  for (const [position, line] of lines.entries()) {
    // a text of white space alone is empty in this form
    if (line.as('whitespace') === '') continue
    texts.push(line.as(form))
    kept.push(fileIndex({ indices }, position))
  }
  return { texts, indices: kept }
}
