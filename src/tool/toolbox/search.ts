import { modelText } from '../../base/model-text.ts'
import { WorkerLimitError, runInWorker } from '../../base/worker-task.ts'
import { findProgram } from '../../base/program.ts'
import { BatonError } from '../../base/error.ts'
import type { Surroundings as AroundRun } from '../../event/context.ts'
import type { ReadContext } from '../guard.ts'
import { readPieces } from '../workspace-reads.ts'
import type { FileMatches, SearchOptions } from './search-files.ts'
import { commandEnvironment } from '../../base/command.ts'
import { createSlices } from '../../base/concurrency.ts'

const timeLimitMs = 30_000
const memoryMb = 256

interface Surroundings {
  /** Absolute: the folder that contains all files. */
  readonly root: string
  readonly context: ReadContext & { readonly services: Pick<AroundRun, 'env'> }
}

/**
 * Searches files (absolute paths, links resolved), in their order: with ripgrep if it is installed, otherwise in a
 * thread.
 * @throws BatonError FILE_FAILED if it takes longer than 30 seconds; USAGE if only ripgrep could do it
 */
export async function search(
  files: readonly string[],
  options: SearchOptions,
  { root, context }: Surroundings,
): Promise<readonly FileMatches[]> {
  if (files.length === 0) return []
  const { env, signal } = context.services
  const program = findProgram('rg', env, context.scope.folders.workspace)
  if (program !== undefined) {
    const isText = (file: string): boolean => isTextFile(file, context)
    const found = await searchByRipgrep(files, { ...options, program, root, env, timeLimitMs, signal, isText })
    if (found === 'timed_out') throw tooLong()
    if (found !== undefined) return found
  }
  if (options.pattern.hasForeignWords) throw noForeignWords()
  try {
    const task = { name: 'files.search', args: [files, options] }
    return (await runInWorker(task, { timeMs: timeLimitMs, memoryMb, signal })) as readonly FileMatches[]
  } catch (error) {
    throw error instanceof WorkerLimitError ? tooLong() : error
  }
}

function tooLong(): BatonError {
  return new BatonError('FILE_FAILED', modelText`the search was stopped after ${timeLimitMs / 1000} seconds`, {
    hint: 'Name a path or a glob, or write a simpler expression.',
  })
}

function noForeignWords(): BatonError {
  const problem = modelText`without ripgrep, \\b and \\B cannot be used with characters beyond ASCII`
  return new BatonError('USAGE', problem, { hint: 'Leave them out, or install ripgrep (rg).' })
}

function isTextFile(file: string, context: ReadContext): boolean {
  let isText = false
  const take = (piece: Buffer): boolean => {
    isText = !piece.subarray(0, 8 * 1024).includes(0)
    return false
  }
  try {
    readPieces(file, { take }, context)
  } catch {
    return false
  }
  return isText
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Only what the arguments say: no config, no other files or programs, no links. Which files are text is determined
 * here.
 */
const always = (
  '--no-config --no-ignore --hidden --no-follow --no-pre --no-search-zip --no-mmap --no-messages --text --encoding none ' +
  '--color never --with-filename --null --no-heading --regex-size-limit 100M --dfa-size-limit 100M'
).split(' ')

/** Omits the text of a matching line, whatever its length. */
const withoutText = ['--line-number', '--max-columns', '1', '--no-max-columns-preview']

/** Most characters of file names in one call: below the limits of systems. */
const mostArguments = 200_000
/** Most bytes of the output: a name and a number per file, or a number per line. */
const mostOutputBytes = 256 * 1024 * 1024

interface RipgrepOptions extends SearchOptions {
  readonly program: string
  /** Absolute; names in calls are relative to it. */
  readonly root: string
  readonly env: Environment
  readonly timeLimitMs: number
  readonly signal: AbortSignal
}

/**
 * Like `searchFiles`, with ripgrep: first the number of matching lines per file, then the line numbers, up to the
 * wanted number. Undefined if ripgrep cannot do it: its version is too old, or the expression too large. `timed_out` if
 * it took too long.
 */
export async function searchByRipgrep(
  files: readonly string[],
  { isText, ...options }: RipgrepOptions & { readonly isText: (file: string) => boolean },
): Promise<readonly FileMatches[] | 'timed_out' | undefined> {
  const end = performance.now() + options.timeLimitMs
  const counts: FileMatches[] = []
  const whole = await inBatches(files, ['--count'], { ...options, end }, (file, text) => {
    if (isText(file)) counts.push({ file, count: Number(text), lines: [] })
  })
  if (whole !== 'done') return whole === 'timed_out' ? whole : undefined
  const places = new Map(files.map((file, index) => [file, index]))
  counts.sort((left, right) => (places.get(left.file) ?? 0) - (places.get(right.file) ?? 0))
  const wanted = firstFiles(counts, options.lines)
  const numbers = new Map<string, number[]>(wanted.map(({ file }) => [file, []]))
  const limits = [...withoutText, '--max-count', String(Math.max(1, options.lines))]
  const found = await inBatches([...numbers.keys()], limits, { ...options, end }, (file, text) => {
    numbers.get(file)?.push(Number.parseInt(text, 10))
  })
  if (found !== 'done') return found === 'timed_out' ? found : undefined
  let left = options.lines
  return counts.map((one) => {
    const lines = (numbers.get(one.file) ?? []).slice(0, left)
    left -= lines.length
    return { ...one, lines }
  })
}

/** The files that contain the first lines. */
function firstFiles(counts: readonly FileMatches[], lines: number): readonly FileMatches[] {
  let before = 0
  return counts.filter(({ count }) => {
    const isIn = before < lines
    before += count
    return isIn
  })
}

interface Batches extends Omit<RipgrepOptions, 'lines' | 'timeLimitMs'> {
  readonly end: number
}

async function inBatches(
  files: readonly string[],
  extra: readonly string[],
  { program, root, env, pattern, signal, end }: Batches,
  take: (file: string, text: string) => void,
): Promise<'done' | 'timed_out' | 'failed'> {
  const { runProcess } = await import('../../base/process.ts')
  const flags = [...always, ...extra, ...(pattern.ignoresCase ? ['--ignore-case'] : ['--case-sensitive'])]
  for (const batch of batchesOf(files, root)) {
    const timeLimitMs = end - performance.now()
    if (timeLimitMs <= 0) return 'timed_out'
    const {
      end: ended,
      stdout,
      stderr,
    } = await runProcess(
      {
        command: program,
        args: [...flags, '--regexp', pattern.source, '--', ...batch],
        cwd: root,
        environment: commandEnvironment(env),
        timeLimitMs,
        maxOutputBytes: mostOutputBytes,
      },
      signal,
    )
    if (ended.kind === 'timed_out') return 'timed_out'
    // 1: nothing matches; 2 without a message: a file could not be read
    const isDone = ended.kind === 'exited' && (ended.code < 2 || (ended.code === 2 && stderr.text.trim() === ''))
    if (!isDone || stdout.lost > 0) return 'failed'
    await takeLines(stdout.text, (name, text) => take(`${root === '/' ? '' : root}${name.slice(1)}`, text), signal)
  }
  return 'done'
}

function* batchesOf(files: readonly string[], root: string): Iterable<readonly string[]> {
  // names become `./…`: a root of `/` is itself the slash
  const start = root === '/' ? 0 : root.length
  let batch: string[] = []
  let size = 0
  for (const file of files) {
    const name = `.${file.slice(start)}`
    if (size + name.length > mostArguments && batch.length > 0) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(name)
    size += Buffer.byteLength(name) + 1
  }
  if (batch.length > 0) yield batch
}

/** Parses the output: a name, a NUL byte, and the rest of the line. */
async function takeLines(
  answer: string,
  take: (name: string, text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const slices = createSlices()
  for (let from = 0; from < answer.length;) {
    const middle = answer.indexOf('\0', from)
    if (middle === -1) return
    const end = answer.indexOf('\n', middle)
    const last = end === -1 ? answer.length : end
    take(answer.slice(from, middle), answer.slice(middle + 1, last))
    from = last + 1
    const pause = slices.pass(signal)
    if (pause !== undefined) await pause
  }
}
