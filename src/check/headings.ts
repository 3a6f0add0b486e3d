import { editDistance } from '../base/suggest.ts'
import type { Issue } from '../config/issue.ts'
import { type AipDocument, isSectionHeading } from '../prompt/aip.ts'

const sections = ['Options', 'Before All', 'Data', 'System', 'User', 'Instruction', 'Assistant', 'Output', 'After All']

/** Headings of an agent that were surely meant to begin a section, and an agent that has no section at all. */
export function headingIssues(
  { file, text }: { readonly file: string; readonly text: string },
  document: AipDocument,
): readonly Issue[] {
  const misspelt = headings(text).flatMap(({ heading, line }): readonly Issue[] => {
    const meant = sections.find((name) => editDistance(heading.toLowerCase(), name.toLowerCase(), 1) === 1)
    if (meant === undefined) return []
    const place = { file, text, line, column: 1, endLine: line, endColumn: heading.length + 3 }
    const message = `the heading "# ${heading}" begins no section`
    return [{ code: 'CONFIG_INVALID', message, hint: `Did you mean "# ${meant}"?`, place }]
  })
  const { beforeAll, data, output, afterAll, parts } = document
  if (misspelt.length > 0 || parts.length > 0 || (beforeAll ?? data ?? output ?? afterAll) !== undefined)
    return misspelt
  const hint = 'Begin a section with a heading such as # Output and a ```lua block, or # User and text.'
  const message = 'the agent has no section that does anything'
  return [{ code: 'CONFIG_INVALID', message, hint, place: { file, text, line: 1 } }]
}

interface Heading {
  readonly heading: string
  readonly line: number
}

/** Level-1 headings outside of fences that begin no section. */
function headings(text: string): readonly Heading[] {
  const found: Heading[] = []
  let isOpen = false
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith('```')) isOpen = !isOpen
    const heading = /^# (\S.*)$/.exec(line)?.[1]
    if (!isOpen && heading !== undefined && !isSectionHeading(line)) found.push({ heading, line: index + 1 })
  }
  return found
}
