import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type EditingLife, type EditingMode, editingWorld } from './editing-loop.ts'

/** The end of an undisturbed loop with this many rounds. */
export interface EditingEnd {
  readonly rounds: number
  readonly mode: EditingMode
  readonly end: EditingLife
  /** Names and contents of the files that it leaves. */
  readonly files: Readonly<Record<string, string>>
  readonly records: number
}

export async function uninterruptedEditing(rounds: number, mode: EditingMode = 'classic'): Promise<EditingEnd> {
  const world = editingWorld(rounds, mode)
  const end = await world.live(Infinity)
  return { rounds, mode, end, files: filesOf(world.folder), records: world.records.length }
}

/**
 * Kills the process of a loop after a number of records, resumes it, and returns the violations: a request whose answer
 * was recorded is made again, or the end or a file differs. `again`: requests that were in flight and are made twice.
 */
export async function tryEditing(
  { rounds, mode, end, files }: EditingEnd,
  lives: number,
): Promise<{ readonly problems: readonly string[]; readonly again: number; readonly wasKilled: boolean }> {
  const world = editingWorld(rounds, mode)
  const problems: string[] = []
  const first = await world.live(lives)
  const paid = world.paidTurns()
  const before = [...world.asked]
  const last = first.kind === 'killed' ? await world.live(Infinity) : first
  if (!isDeepStrictEqual(last, end)) problems.push(`it ended with ${JSON.stringify(last)}`)
  for (const turn of paid) {
    if (world.asked[turn] !== before[turn]) problems.push(`turn ${turn} was asked again, and was paid for`)
  }
  const left = filesOf(world.folder)
  for (const name of new Set([...Object.keys(files), ...Object.keys(left)])) {
    if (left[name] !== files[name]) problems.push(`${name} holds ${JSON.stringify(left[name])}`)
  }
  rmSync(world.folder, { recursive: true })
  const again = world.asked.reduce((sum, count) => sum + count - 1, 0)
  return { problems, again, wasKilled: first.kind === 'killed' }
}

function filesOf(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}
