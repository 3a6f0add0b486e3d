import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { capture } from '../../../src/journal/work-result.ts'
import { hasSystemCode } from '../../../src/base/error.ts'
import { signRun } from '../sign-run.ts'
import { openSigningKey } from '../../../src/journal/signing.ts'
import { formatVersion } from '../../../src/journal/record.ts'
import { root } from '../baton.ts'
import { type Finished, finishedIn } from './finished.ts'
import { readJournal } from './journal-state.ts'
import { type Disturbance, play } from './play.ts'
import { type Shape, shapes } from './golden-shapes.ts'
import { makeWorldOf, type World } from './scenario.ts'
import { type CountingServer, startCountingServer } from './server.ts'

/** The expected result of a resumed golden run. */
type Expected = Pick<Finished, 'answers' | 'shown' | 'files'> & { readonly outputs: readonly unknown[] }

const kept = join(root, 'test/fixtures/journals')

/** The existing golden journals, by folder: `v2-chain` … */
export function goldenNames(): readonly string[] {
  return readdirSync(kept)
}

/** Journals contain absolute paths, also within hashes: a run is resumed where it was recorded. */
const places = '/tmp/baton-golden-journals'

/** Runs a shape to its end to get the expected result, then again up to its stop, and keeps what that run left. */
export async function writeGolden(shapeName: string): Promise<void> {
  const shape = shapes[shapeName]
  if (shape === undefined) throw new Error(`there is no shape ${shapeName}`)
  const name = `v${formatVersion}-${shapeName}`
  const server = await startCountingServer()
  try {
    const expected = await inPlace(name, async (place) => expectedOf(await playShape(shape, { place, server })))
    await inPlace(name, async (place) => {
      await playShape(shape, { place, server, disturb: shape.stop })
      const folder = join(kept, name)
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(dirname(folder), { recursive: true })
      for (const part of ['work', 'home']) cpSync(join(place, part), join(folder, part), { recursive: true })
      writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(expected, undefined, 2)}\n`)
    })
  } finally {
    await server.close()
  }
}

/** Resumes a copy of a golden journal: returns the result, the expected result, and the number of model calls. */
export function resumeGolden(
  name: string,
  { server, change = (text) => text }: { readonly server: CountingServer; readonly change?: (text: string) => string },
): Promise<{
  readonly code: number | null
  readonly given: Expected
  readonly expected: Expected
  readonly calls: number
}> {
  return inPlace(name, async (place) => {
    const folder = join(kept, name)
    for (const part of ['work', 'home']) cpSync(join(folder, part), join(place, part), { recursive: true })
    const world = makeWorldOf({}, place)
    const journal = await readJournal(world)
    if (journal === undefined) throw new Error(`${folder} holds no run`)
    const file = join(journal.folder, 'j-000001.jsonl')
    writeFileSync(file, change(readFileSync(file, 'utf8')))
    // earlier versions did not sign
    signRun(journal.folder, openSigningKey({ env: { BATON_HOME: world.home }, home: world.home }))
    // it was written long ago, on a machine that is not visible from here
    utimesSync(file, 0, 0)
    const account = server.account()
    const played = await play(['resume', journal.run, '--json'], { world, url: account.url })
    const finished = finishedIn(world, played)
    const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Expected
    return { code: finished.code, given: expectedOf(finished), expected, calls: account.calls.length }
  })
}

async function playShape(
  { files, args }: Shape,
  {
    place,
    server,
    disturb = {},
  }: { readonly place: string; readonly server: CountingServer; readonly disturb?: Disturbance },
): Promise<Finished> {
  const world: World = makeWorldOf(files, place)
  return finishedIn(world, await play([...args, '--json'], { world, url: server.account().url, disturb }))
}

function expectedOf({ answers, shown, files, last }: Finished): Expected {
  return { answers, shown, files, outputs: last?.outputs ?? [] }
}

/** Works in the one folder of a shape; waits while another process does so. */
export async function inPlace<T>(name: string, work: (place: string) => Promise<T>): Promise<T> {
  const place = join(places, name)
  await take(place)
  try {
    return await work(place)
  } finally {
    rmSync(place, { recursive: true, force: true })
    capture(() => rmdirSync(places))
  }
}

/** Nobody works in one this long; it was left by a killed process. */
const staleMs = 60_000

async function take(place: string): Promise<void> {
  for (;;) {
    try {
      mkdirSync(dirname(place), { recursive: true })
      return mkdirSync(place)
    } catch (error) {
      // when another process has finished, the last one also removes the parent folder
      if (!hasSystemCode(error, 'EEXIST', 'ENOENT')) throw error
    }
    const began = statSync(place, { throwIfNoEntry: false })?.birthtimeMs ?? Date.now()
    if (Date.now() - began > staleMs) rmSync(place, { recursive: true, force: true })
    else await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
