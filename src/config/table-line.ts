import type { DataPath } from '../base/data-text.ts'

/** The line, from 1, of the header of a table such as `[agents.NAME]` in a text; undefined if it has no header. */
export function tableLine({ text, at }: { readonly text: string; readonly at: DataPath }): number | undefined {
  const name = String(at.at(-1))
  const tables = at.slice(0, -1).join('.')
  const heads = [name, JSON.stringify(name), `'${name}'`].flatMap((key) => [`[${tables}.${key}]`, `[${tables}.${key}.`])
  const index = text.split('\n').findIndex((line) => heads.some((head) => line.trimStart().startsWith(head)))
  return index === -1 ? undefined : index + 1
}
