import { type Directive, failDirective } from './directive.ts'
import type { Tag } from './tag.ts'

/** The marker lines of search and replace blocks, as models write them. */
export const searchMark = /^<{5,9} ?SEARCH>?\s*$/
export const dividerMark = /^={5,9}\s*$/
export const replaceMark = /^>{5,9} ?REPLACE\s*$/

const tagMark =
  /^(<|\[\[\[)\/?((?:UDIFFX_)?FILE_(?:CHANGES|NEW|PATCH|APPEND|COPY|RENAME|DELETE)|AIP_FILE_CHANGE)(?=[\s/>\]])/

/** The form a change is written in: tags by their brackets, whole-file blocks, or search and replace blocks. */
export type WrittenForm = Tag['style'] | 'block' | 'search'

/** The mark of another form at the start of a line, in the first column. */
export function foreignMark(line: string, form: WrittenForm): string | undefined {
  const isSearch = searchMark.test(line) || replaceMark.test(line)
  if (isSearch) return form === 'search' || form === 'block' ? undefined : line.trim()
  const [mark, style, name] = tagMark.exec(line) ?? []
  const found: WrittenForm = name === 'AIP_FILE_CHANGE' ? 'block' : style === '<' ? '<' : '[[['
  return mark === undefined || found === form ? undefined : mark
}

/** The first such mark in the content of a change. */
export function foreignMarkIn(content: string, form: WrittenForm): string | undefined {
  if (!/^(?:[<>]{5}|<\/?[AFU]|\[\[\[)/m.test(content)) return undefined
  for (const line of content.split('\n')) {
    const mark = foreignMark(line, form)
    if (mark !== undefined) return mark
  }
  return undefined
}

/** The fault for a change that contains a mark of another form: it is unclear where one ends and the other starts. */
export function mixedFault(name: string, mark: string, filePath?: string): Directive {
  const reason = `the line ${mark} is a mark of another form within ${name}: write each change in one form only. If the file should really contain this line, write it in a FILE_PATCH, with + before it`
  return failDirective('mixed', reason, { filePath })
}
