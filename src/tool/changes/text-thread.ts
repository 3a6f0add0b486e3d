import { WorkerLimitError, type WorkerTask, runInWorker } from '../../base/worker-task.ts'
import { createTurns } from '../../base/concurrency.ts'
import { BatonError } from '../../base/error.ts'
import { unifiedDiff } from '../../base/unified-diff.ts'
import { readFileChanges } from './answer-changes.ts'
import { breaksIn } from './edits.ts'
import { nearestPlaces } from './nearest.ts'
import { parseChanges } from './directive-reader.ts'
import { planChange } from './plan-content.ts'
import { applySearchReplace } from './search-replace.ts'

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
 * `runTask`: runs a task in a thread. The default is for answers of models: BatonError LIMIT if it needs too much memory.
 */
export function createTextThread(
  signal: AbortSignal,
  runTask: (task: WorkerTask) => Promise<unknown> = (task) => ofAnswer(task, signal),
): TextThread {
  const turns = createTurns()
  return {
    work(name, ...args) {
      if (!isLong({ name, args })) return doTextWork(name, ...args)
      return runTask({ name: 'changes.work', args: [name, ...args] }) as Promise<ReturnType<TextWork[typeof name]>>
    },
    pause: () => turns.pass(signal),
  }
}

const memoryMb = 1024

/** No time limit: the work is linear, and the user can stop it. */
async function ofAnswer(task: WorkerTask, signal: AbortSignal): Promise<unknown> {
  try {
    return await runInWorker(task, { memoryMb, signal })
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
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
      return ((breaksIn(changes) + 1) / linesOfBlock) * content.length > mostSearched
    }
    case 'planChange': {
      const { kind, content } = first as Parameters<TextWork['planChange']>[0]
      const present = typeof second === 'string' ? second : ''
      if (kind === 'Replace' || kind === 'New') return content.length + present.length > 16 * mostCharacters
      if (kind !== 'Patch' && kind !== 'SearchReplace') return false
      const isLarge = content.length > 4 * mostCharacters || present.length > mostOfFile
      return isLarge || ((breaksIn(content) + 1) / linesOfHunk) * (breaksIn(present) + 1) > mostLookups
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
