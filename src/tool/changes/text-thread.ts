import { ApartLimit, type ApartTask, runApart } from '../../base/apart.ts'
import { createTurns } from '../../base/concurrency.ts'
import { BatonError } from '../../base/error.ts'
import { unifiedDiff } from '../../base/unified-diff.ts'
import { readFileChanges } from './answer-changes.ts'
import { parseChanges } from './directive-reader.ts'
import { planChange } from './plan-content.ts'
import { applySearchReplace, hasBlocks, searchedText } from './search-replace.ts'
import { formOf } from './document.ts'
import { hasText } from './fence.ts'
import { oldParts, parseHunks } from './hunk.ts'

/**
 * Where untrusted texts are processed: here if the work is certain to be short, otherwise in a thread. A thread can be
 * ended at any time, and this one stays responsive to signals and timers.
 */
export interface TextThread {
  /** @throws the reason of the signal; an error of the work or of its limits */
  readonly work: <Name extends WorkName>(
    name: Name,
    ...args: Parameters<TextWork[Name]>
  ) => Promise<ReturnType<TextWork[Name]>> | ReturnType<TextWork[Name]>
  /** Call between short pieces of work that may be numerous. @throws the reason of the signal */
  readonly pause: () => Promise<void> | undefined
}

/**
 * `apart`: runs a task in a thread. The default is for answers of models: BatonError LIMIT if it needs too much memory.
 */
export function createTextThread(
  signal: AbortSignal,
  apart: (task: ApartTask) => Promise<unknown> = (task) => ofAnswer(task, signal),
): TextThread {
  const turns = createTurns()
  return {
    work(name, ...args) {
      if (!isLong({ name, args })) return doTextWork(name, ...args)
      return apart({ name: 'changes.work', args: [name, ...args] }) as Promise<ReturnType<TextWork[typeof name]>>
    },
    pause: () => turns.pass(signal),
  }
}

const memoryMb = 1024

/** No time limit: the work is linear, and the user can stop it. */
async function ofAnswer(task: ApartTask, signal: AbortSignal): Promise<unknown> {
  try {
    return await runApart(task, { memoryMb, signal })
  } catch (error) {
    if (!(error instanceof ApartLimit)) throw error
    throw new BatonError('LIMIT', `processing the file changes of an answer needs more than ${memoryMb} MB of memory`, {
      hint: 'Have the model send fewer changes, or change smaller files.',
    })
  }
}

/** The functions that depend only on the texts of answers and files. */
const textWork = { readFileChanges, parseChanges, planChange, nearestPlaces, unifiedDiff, applySearchReplace }

type TextWork = typeof textWork

type WorkName = keyof TextWork

/** Runs one of them. */
export function doTextWork<Name extends WorkName>(
  name: Name,
  ...args: Parameters<TextWork[Name]>
): ReturnType<TextWork[Name]> {
  const work = textWork[name] as unknown as (...values: typeof args) => ReturnType<TextWork[Name]>
  return work(...args)
}

/** Texts of this length are read within some hundredths of a second, whatever they contain. */
const mostCharacters = 64 * 1024
/** The same for hunks, each of which may be compared with all lines of the file. */
const mostLookups = 4_000_000
/** A larger file takes longer to split into lines than a thread to start. */
const mostOfFile = 8 * 1024 * 1024

function isLong({
  name,
  args: [first, second],
}: {
  readonly name: WorkName
  readonly args: readonly unknown[]
}): boolean {
  switch (name) {
    case 'readFileChanges':
    case 'parseChanges':
      return String(first).length > mostCharacters
    case 'nearestPlaces':
    case 'unifiedDiff':
      return String(first).length + lengthOf(second) > 16 * mostCharacters
    case 'applySearchReplace': {
      const [content, changes] = [String(first), String(second)]
      if (content.length + changes.length > 16 * mostCharacters) return true
      return (linesOf(changes) / linesOfBlock) * content.length > mostSearched
    }
    case 'planChange': {
      const { kind, content } = first as Parameters<TextWork['planChange']>[0]
      const present = typeof second === 'string' ? second : ''
      if (kind === 'Replace' || kind === 'New') return content.length + present.length > 16 * mostCharacters
      if (kind !== 'Patch' && kind !== 'SearchReplace') return false
      const isLarge = content.length > 4 * mostCharacters || present.length > mostOfFile
      return isLarge || (linesOf(content) / linesOfHunk) * linesOf(present) > mostLookups
    }
  }
}

/** The marks of a block. */
const linesOfBlock = 3
/** Characters that are searched within some hundredths of a second, whatever they contain. */
const mostSearched = 16_000_000

/** The minimum for a hunk that is searched for: its mark, and a line. */
const linesOfHunk = 2

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.reduce<number>((sum, one) => sum + String(one).length, 0) : String(value).length
}

function linesOf(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

/** The place in a file most similar to what a hunk looks for. A type, because only types are assignable to JSON. */
export type Nearest = {
  /** The number of the first line of `text` in the file, from 1. */
  readonly line: number
  /** The lines there, with some context. */
  readonly text: string
}

/** Lines of context shown before and after the place. */
const around = 4
/** Maximum number of lines in the excerpt of a long hunk. */
const mostLines = 60
/** Maximum number of lines of a long hunk that are looked for. */
const mostWanted = 1000
/** A line that occurs more often says nothing about the place. */
const mostPlaces = 100
/** Number of lines of a hunk whose words are looked for if the file contains none of its lines. */
const mostGuesses = 5
/** The share of a line's words that a matching line must contain. */
const leastShared = 0.5

/** The nearest place of each hunk or block, see `createNearest`. */
export function nearestPlaces(content: string, bodies: readonly string[]): readonly (Nearest | undefined)[] {
  return bodies.map(createNearest(content))
}

/**
 * Creates a function that finds the place in a text most similar to the old lines of a hunk, or to the text that a
 * block searches for. Lines are compared by letters, then by words; undefined if nothing is similar.
 */
function createNearest(content: string): (body: string) => Nearest | undefined {
  const lines = content.split('\n').map((line) => line.replace(/\r$/, ''))
  const places = new Map<string, number[]>()
  for (const [index, line] of lines.entries()) {
    if (!hasText(line)) continue
    const form = formOf(line, 'letters')
    const known = places.get(form)
    if (known === undefined) places.set(form, [index])
    else known.push(index)
  }
  let words: readonly ReadonlySet<string>[] | undefined

  return (body) => {
    const wanted = wantedLines(body).slice(0, mostWanted)
    const start = startByLines(wanted, places) ?? startByWords(wanted, (words ??= lines.map(wordsOf)))
    if (start === undefined) return undefined
    const first = Math.min(Math.max(0, start - around), lines.length - 1)
    const end = Math.min(lines.length, start + wanted.length + around, first + mostLines)
    const text = lines.slice(first, Math.max(end, first + 1)).join('\n')
    return { line: first + 1, text: text.replace(/\n+$/, '') }
  }
}

/** The lines that, according to a hunk or a search and replace block, the file contains. */
function wantedLines(body: string): readonly string[] {
  if (hasBlocks(body)) return searchedText(body).split('\n')
  return parseHunks(body).flatMap((hunk) => oldParts(hunk).flatMap((part) => part.map(({ text }) => text)))
}

/** Each line of the hunk that the file contains votes for a start of the hunk; rare and long lines weigh more. */
function startByLines(wanted: readonly string[], places: ReadonlyMap<string, readonly number[]>): number | undefined {
  const votes = new Map<number, number>()
  for (const [offset, line] of wanted.entries()) {
    const form = formOf(line, 'letters')
    const found = hasText(line) ? (places.get(form) ?? []) : []
    if (found.length > mostPlaces) continue
    for (const index of found) {
      const start = index - offset
      votes.set(start, (votes.get(start) ?? 0) + form.length / found.length)
    }
  }
  return bestOf(votes)
}

function bestOf(votes: ReadonlyMap<number, number>): number | undefined {
  let best: number | undefined
  for (const [start, weight] of votes) {
    const most = best === undefined ? 0 : (votes.get(best) ?? 0)
    if (weight > most || (weight === most && start < (best ?? 0))) best = start
  }
  return best
}

function startByWords(wanted: readonly string[], known: readonly ReadonlySet<string>[]): number | undefined {
  const scores = new Map<number, number>()
  const longest = [...wanted.entries()].toSorted(([, left], [, right]) => right.length - left.length)
  for (const [offset, line] of longest.slice(0, mostGuesses)) {
    const words = wordsOf(line)
    for (const [index, others] of known.entries()) {
      const shared = [...words].filter((word) => others.has(word)).length / Math.max(words.size, others.size)
      if (shared >= leastShared) scores.set(index - offset, Math.max(shared, scores.get(index - offset) ?? 0))
    }
  }
  return bestOf(scores)
}

/** Longer lines are compared only by their start. */
const mostLetters = 500

function wordsOf(line: string): ReadonlySet<string> {
  return new Set(
    line
      .slice(0, mostLetters)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu),
  )
}
