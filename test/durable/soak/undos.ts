import { isDeepStrictEqual } from 'node:util'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finishedIn } from '../../helpers/durable/finished.ts'
import { type Disturbance, play, type PlayOptions } from '../../helpers/durable/play.ts'
import { makeEditWorld, type World } from '../../helpers/durable/scenario.ts'
import type { TrialContext } from '../../helpers/durable/trial.ts'
import { atOnce, type Fault, numbersTo, type Point } from './fault.ts'

type Files = Readonly<Record<string, string>>

interface Undone {
  readonly problems: readonly string[]
  /** How many of the processes were killed. */
  readonly kills: number
  readonly files: Files
  readonly operations: number
}

/** How an undo is disturbed; `merge`: the user has changed files since the run, and the changes are merged. */
export interface UndoTry {
  readonly starts: readonly Disturbance[]
  readonly merge: boolean
}

type UndoContext = Pick<TrialContext, 'server' | 'warm'>

/** Runs the scenario for file changes and undoes it, killing and repeating the undo until it completes. */
export async function tryUndo({ starts, merge }: UndoTry, { server, warm = [] }: UndoContext): Promise<Undone> {
  const world = makeEditWorld()
  const options: PlayOptions = { world, url: server.account().url, warm }
  const before = filesIn(world)
  const run = await play(['run', 'ask.md', '--json'], options)
  const id = /"run_id":"([^"]+)"/.exec(run.stdout)?.[1]
  if (run.code !== 0 || id === undefined) throw new Error(`the scenario itself fails: ${run.stderr}`)
  if (merge) changeSince(world)
  const args = ['undo', id, ...(merge ? ['--merge'] : [])]
  let kills = 0
  let operations = 0
  for (const disturb of starts) {
    const played = await play(args, { ...options, disturb })
    operations = played.operations.length
    if (played.code === null) kills += 1
  }
  const last = await play(args, options)
  const files = filesIn(world)
  const problems: string[] = []
  const isLeft = /conflict/.test(last.stdout + last.stderr)
  if (last.code !== 0 && !isLeft) problems.push(`I5: undo ends with exit ${last.code}: ${last.stdout}${last.stderr}`)
  if (!merge && !isDeepStrictEqual(files, before)) problems.push(`I5: ${differences(files, before)}`)
  const again = await play(args, options)
  if (!isDeepStrictEqual(filesIn(world), files)) problems.push('I5: undone once more, it changes files again')
  if (!merge && again.code !== 0) problems.push(`I7: exit ${again.code}: ${again.stderr}`)
  return { problems, kills, files, operations }
}

function filesIn(world: World): Files {
  return finishedIn(world, { code: 0, stdout: '', stderr: '' }).files
}

/** One change that can be merged with those of the run, one that conflicts. */
function changeSince({ workspace }: World): void {
  const change = (path: string, work: (text: string) => string): void => {
    const file = join(workspace, path)
    writeFileSync(file, work(readFileSync(file, 'utf8')))
  }
  change('plan.txt', (text) => text.replace('one\n', 'ONE\n'))
  change('src/e00.txt', (text) => text.replace('state: set', 'state: mine'))
}

function differences(have: Files, want: Files): string {
  const paths = [...new Set([...Object.keys(have), ...Object.keys(want)])].filter((path) => have[path] !== want[path])
  return paths.map((path) => `${path} is ${JSON.stringify(have[path])}, not ${JSON.stringify(want[path])}`).join('; ')
}

function undoFault(scope: 'journal' | 'workspace', merge: boolean, name: string): Fault {
  return {
    id: 'U1',
    name,
    async points(context) {
      const whole = await tryUndo({ starts: [], merge }, context)
      const counted = await tryUndo({ starts: [{ scope }], merge }, context)
      const modes = ['before', 'half', 'after'] as const
      const kills = numbersTo(counted.operations + 1).map((at) => [{ at, when: modes[at % 3] ?? 'before', scope }])
      const twice = numbersTo(10).map(() => [
        { at: 1 + Math.floor(context.random() * counted.operations), when: 'after' as const, scope },
        { at: 1 + Math.floor(context.random() * 20), when: 'before' as const, scope },
      ])
      return atOnce([...kills, ...twice], context, async (starts): Promise<Point> => {
        const { problems, kills: hit, files } = await tryUndo({ starts, merge }, context)
        const other = isDeepStrictEqual(files, whole.files) ? [] : [`I5: ${differences(files, whole.files)}`]
        return { at: JSON.stringify(starts), problems: [...new Set([...problems, ...other])], isHit: hit > 0 }
      })
    },
  }
}

/** `baton undo` is killed between its files, and repeated. */
export const killedUndo = undoFault(
  'workspace',
  false,
  'SIGKILL at every operation on files of `baton undo`, which is repeated',
)
export const killedUndoRecord = undoFault(
  'journal',
  false,
  'SIGKILL at every operation on the journal of `baton undo`, which is repeated',
)
export const killedMerge = undoFault(
  'workspace',
  true,
  'SIGKILL at every operation on files of `baton undo --merge`, which is repeated',
)
