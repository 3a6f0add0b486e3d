import type { Line } from './document.ts'
import type { Form } from './form.ts'
import { isBlank } from './hunk.ts'

/** Lines that a hunk is compared with: those of a file, or some of them. */
export interface View {
  readonly texts: readonly string[]
  /** Index in the file of each text; undefined when all lines of the file are there. */
  readonly indices: readonly number[] | undefined
}

export function wholeView(lines: readonly Line[]): View {
  return { texts: lines.map(({ text }) => text), indices: undefined }
}

/** The file without the lines that hunks have added; undefined when that is the whole file. */
export function oldView(lines: readonly Line[]): View | undefined {
  const indices: number[] = []
  for (let index = 0; index < lines.length; index += 1) if (lines[index]?.isNew === false) indices.push(index)
  if (indices.length === lines.length) return undefined
  return { texts: indices.map((index) => lines[index]?.text ?? ''), indices }
}

/** The index in the file of a line of the view. */
export function fileIndex({ indices }: View, position: number): number {
  return indices === undefined ? position : (indices[position] ?? 0)
}

/** How many lines of the view stand before this line of the file. */
export function countBefore({ texts, indices }: View, index: number): number {
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
  view: View,
  { form, withBlanks }: { readonly form: Form; readonly withBlanks: boolean },
): View {
  if (withBlanks) return { texts: view.texts.map(form), indices: view.indices }
  const texts: string[] = []
  const indices: number[] = []
  for (let position = 0; position < view.texts.length; position += 1) {
    const text = view.texts[position] ?? ''
    if (isBlank(text)) continue
    texts.push(form(text))
    indices.push(fileIndex(view, position))
  }
  return { texts, indices }
}
