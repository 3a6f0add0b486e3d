import type { PartialDecision } from './permission.ts'

/** One place of a diff. */
export interface Hunk {
  /** From 1, in the order of the diff. */
  readonly number: number
  /** Its line `@@ … @@`. */
  readonly title: string
  /** Where it begins in the file as it was: the number of unchanged lines before it. */
  readonly start: number
  /** The first line that it changes, in the file as it was; from 1. */
  readonly line: number
  /** Its lines with their marks, and the lines that say that there is no line feed at the end of the file. */
  readonly lines: readonly string[]
}

/** The diff of one file. */
export interface FileDiff {
  /** The lines above the first hunk. */
  readonly head: readonly string[]
  readonly hunks: readonly Hunk[]
}

const hunkTitle = /^@@ -(\d+)(?:,(\d+))? /

/**
 * The hunks of a unified diff of one file. A diff that is nothing else, such as one of several files, has none: content
 * has a mark before each line, everything else has not.
 */
export function readDiff(diff: string): FileDiff {
  const all = diff.replace(/\n$/, '').split('\n')
  const titles = all.flatMap((line, index) => (hunkTitle.test(line) ? [index] : []))
  const isOne = !all.slice(titles[0]).some((line) => line.startsWith('diff '))
  if (titles.length === 0 || !isOne) return { head: all, hunks: [] }
  const hunks = titles.map((at, index): Hunk => {
    const title = all[at] ?? ''
    const [, from = '1', count] = hunkTitle.exec(title) ?? []
    const lines = all.slice(at + 1, titles[index + 1])
    const start = Number(from) - (count === '0' ? 0 : 1)
    const unchanged = lines.findIndex((line) => !line.startsWith(' '))
    return { number: index + 1, title, start, line: start + Math.max(unchanged, 0) + 1, lines }
  })
  return { head: all.slice(0, titles[0]), hunks }
}

/** Of a hunk, the lines that it removes and adds. */
export function changedLines({ lines }: Hunk): readonly string[] {
  return lines.filter((line) => line.startsWith('-') || line.startsWith('+'))
}

/**
 * The text with some hunks of its diff, exactly where they say; undefined if it is not the text that the diff was made
 * from. `edits`: what is written for some of them instead.
 */
export function withHunks(
  text: string,
  { hunks }: Pick<FileDiff, 'hunks'>,
  { hunks: chosen, edits = [] }: Pick<PartialDecision, 'hunks' | 'edits'>,
): string | undefined {
  const before = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const after: string[] = []
  let at = 0
  for (const hunk of hunks) {
    const [old, fresh] = [sideOf(hunk, '-'), sideOf(hunk, '+')]
    const there = before.slice(hunk.start, hunk.start + old.length)
    if (hunk.start < at || there.length !== old.length || there.some((line, index) => line !== old[index])) {
      return undefined
    }
    const edit = edits.find(({ hunk: number }) => number === hunk.number)
    const made = edit === undefined ? fresh : [edit.text]
    after.push(...before.slice(at, hunk.start), ...(chosen.includes(hunk.number) ? made : old))
    at = hunk.start + old.length
  }
  return [...after, ...before.slice(at)].join('')
}

/** The first line, from 1, of a text that is not as the hunks of a diff have it; undefined if all of theirs are. */
export function firstDifference(text: string, { hunks }: Pick<FileDiff, 'hunks'>): number | undefined {
  const present = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  for (const hunk of hunks) {
    const at = sideOf(hunk, '-').findIndex((line, index) => present[hunk.start + index] !== line)
    if (at !== -1) return Math.min(hunk.start + at, Math.max(present.length - 1, 0)) + 1
  }
  return undefined
}

/** What a hunk makes of its lines. */
export function hunkText(hunk: Hunk): string {
  return sideOf(hunk, '+').join('')
}

/** The lines of one side of a hunk, with their line feeds. */
function sideOf({ lines }: Hunk, side: '-' | '+'): readonly string[] {
  return lines.flatMap((line, index) => {
    if (line[0] !== ' ' && line[0] !== side) return []
    return [lines[index + 1]?.startsWith('\\') === true ? line.slice(1) : `${line.slice(1)}\n`]
  })
}
