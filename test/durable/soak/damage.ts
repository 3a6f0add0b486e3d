import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openFileRecords, readRun } from '../../../src/journal/source.ts'
import { nodeFiles, type FilePort } from '../../../src/journal/file-port.ts'
import { noMask } from '../../../src/journal/secrets.ts'
import { violations } from '../../helpers/durable/checker.ts'
import { finishedIn } from '../../helpers/durable/finished.ts'
import { readJournal } from '../../helpers/durable/journal-state.ts'
import { play } from '../../helpers/durable/play.ts'
import { makeWorld } from '../../helpers/durable/scenario.ts'
import { refusalProblems, startOver } from '../../helpers/durable/trial.ts'
import { atOnce, type Fault, numbersTo, type Point, type SoakContext } from './fault.ts'

/** Changes the bytes of a journal file. */
export interface Damage {
  readonly at: string
  readonly change: (bytes: Buffer) => Buffer
  /** The most records that may be lost; the others must be unchanged. */
  readonly mayLose: number
}

export const cut = (position: number): Damage => ({
  at: `cut at ${position}`,
  change: (bytes) => bytes.subarray(0, position),
  mayLose: Infinity,
})

export const flip = (position: number): Damage => ({
  at: `bit flipped at ${position}`,
  change(bytes) {
    const changed = Buffer.from(bytes)
    changed[position] = (changed[position] ?? 0) ^ (1 << (position % 8))
    return changed
  },
  // a flipped line feed joins two lines
  mayLose: 2,
})

export function range(kind: 'zeros' | 'noise', { random }: Pick<SoakContext, 'random'>, bytes: Buffer): Damage {
  const start = Math.floor(random() * bytes.length)
  const end = Math.min(bytes.length, start + 1 + Math.floor(random() * 600))
  const fill = Buffer.from(bytes.subarray(start, end)).map(() => (kind === 'zeros' ? 0 : Math.floor(random() * 256)))
  return {
    at: `${kind} from ${start} to ${end}`,
    change: (whole) => Buffer.concat([whole.subarray(0, start), fill, whole.subarray(end)]),
    mayLose: Infinity,
  }
}

/** What both readers return for a damaged journal: a record unchanged or not at all, never a different one. */
export const damagedJournal: Fault = {
  id: 'F5',
  name: 'cut at every byte, a bit flipped in every byte, zeros and noise: read',
  async points(context) {
    const bytes = await killedJournal(context)
    const ranges = numbersTo(2000).map((number) => range(number % 2 === 0 ? 'zeros' : 'noise', context, bytes))
    const positions = [...bytes.keys()]
    const points: Point[] = []
    const whole = await bothReaders(bytes)
    const damages = [...positions.map(cut), ...positions.map(flip), ...ranges]
    for (const damage of damages.filter((_, index) => index % context.every === 0)) {
      const problems = readingProblems(damage, { whole, found: await bothReaders(damage.change(bytes)) })
      points.push({ at: damage.at, problems, isHit: true })
      if (problems.length > 0) context.onPoint({ at: damage.at, problems, isHit: true })
    }
    return points
  },
}

async function killedJournal({ server }: SoakContext): Promise<Buffer> {
  const world = makeWorld()
  await play(['run', 'ask.md', '--json'], { world, url: server.account().url, disturb: { at: 30, when: 'after' } })
  const journal = await readJournal(world)
  if (journal === undefined) throw new Error('the scenario has left no journal')
  return readFileSync(join(journal.folder, 'j-000001.jsonl'))
}

interface ReadRecords {
  readonly stream: readonly string[]
  readonly scanned: readonly string[]
  readonly reported: number
}

/** The records as read by the stream and by the index. */
export async function bothReaders(bytes: Buffer): Promise<ReadRecords> {
  const files = oneFile(bytes)
  const stream: string[] = []
  const scanned: string[] = []
  let reported = 0
  for await (const reading of readRun('/run', files)) {
    if (reading.type === 'corrupt') reported += 1
    else stream.push(JSON.stringify(reading.record))
  }
  const source = openFileRecords('/run', { mask: noMask, files })
  const damages = await source.scan((record) => scanned.push(JSON.stringify(record)))
  source.close()
  return { stream, scanned, reported: Math.min(reported, damages.length) }
}

export function readingProblems(
  { at, mayLose }: Damage,
  { whole, found }: { readonly whole: ReadRecords; readonly found: ReadRecords },
): readonly string[] {
  const problems = (['stream', 'scanned'] as const).flatMap((kind) => {
    const known = new Set(whole[kind])
    const invented = found[kind].filter((record) => !known.has(record))
    const lost = whole[kind].length - found[kind].length
    return [
      ...(invented.length > 0 ? [`I2: ${at}: ${kind} reads ${invented[0]}`] : []),
      ...(lost > mayLose ? [`I1: ${at}: ${kind} has lost ${lost} records`] : []),
    ]
  })
  const isPrefix = found.stream.every((record, index) => record === whole.stream[index])
  return isPrefix || found.reported > 0 ? problems : [...problems, `I1: ${at}: damage in the middle is not reported`]
}

/** A folder with one journal file that exists only in memory. */
function oneFile(bytes: Buffer): FilePort {
  const read = (target: Uint8Array, position: number): number => bytes.copy(target, 0, position)
  return {
    ...nodeFiles,
    openToRead: () => 1,
    close: () => undefined,
    list: () => ['j-000001.jsonl'],
    size: () => bytes.length,
    read: (_, target, position) => Promise.resolve(read(target, position)),
    readNow: (_, target, position) => read(target, position),
  }
}

/**
 * A run resumes with a damaged journal: a torn end costs the records in it; damage elsewhere is refused without
 * `--repair`.
 */
export const resumedDamage: Fault = {
  id: 'F5',
  name: 'cut, flipped, overwritten: resumed, with --repair where it is refused',
  async points(context) {
    const bytes = await killedJournal(context)
    const some = numbersTo(20).map(() => Math.floor(context.random() * bytes.length))
    const ranges = numbersTo(20).map((number) => range(number % 2 === 0 ? 'zeros' : 'noise', context, bytes))
    return atOnce([...some.map(cut), ...some.map(flip), ...ranges], context, (damage) => resumeDamaged(damage, context))
  },
}

async function resumeDamaged({ at, change }: Damage, { server, reference }: SoakContext): Promise<Point> {
  const world = makeWorld()
  const account = server.account()
  const options = { world, url: account.url }
  await play(['run', 'ask.md', '--json'], { ...options, disturb: { at: 30, when: 'after' } })
  const before = await readJournal(world)
  const [name] = before === undefined ? [] : readdirSync(before.folder).filter((file) => file.startsWith('j-'))
  if (before === undefined || name === undefined)
    return { at, problems: ['the scenario has left no journal'], isHit: false }
  const file = join(before.folder, name)
  writeFileSync(file, change(readFileSync(file)))

  let played = await startOver(world, options)
  const isRefused = played.stderr.includes('--repair')
  if (isRefused) played = await startOver(world, { ...options, more: ['--repair'] })
  const journal = await readJournal(world)
  if (journal === undefined) return { at, problems: ['I1: the journal is gone'], isHit: true }
  const finished = finishedIn(world, played)
  // changes to files may conflict if their records are lost: then the run fails and reports it
  if (finished.code !== 0) return { at, problems: refusalProblems(finished), isHit: true }
  const seen = { ...finished, files: withoutRepeats(finished.files) }
  const evidence = { reference, stops: [], journal, finished: seen, calls: account.calls, concurrency: 4 }
  // lost results are paid for again, which cannot be reported; after --repair, neither can what was shown, and a part
  // whose start is lost is run again with everything below it
  const lost = isRefused ? /^I5(?!: shown)/ : /^I[35]/
  return { at, problems: violations(evidence).filter((problem) => lost.test(problem)), isHit: true }
}

/** A line whose record is lost in a power failure may be appended again (docs/durability.md says so). */
function withoutRepeats(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const once = (text: string): string => [...new Set(text.split('\n'))].join('\n')
  const kept = Object.entries(files).map(([path, text]) => [path, path === 'out/log.txt' ? once(text) : text])
  return Object.fromEntries(kept) as Readonly<Record<string, string>>
}
