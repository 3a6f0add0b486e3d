import type { Finished } from '../../helpers/durable/finished.ts'
import { editCallCount, halfMadeSets, makeEditWorld } from '../../helpers/durable/scenario.ts'
import type { CountingServer } from '../../helpers/durable/server.ts'
import { type Reference, type Start, type Trial, tryWith, uninterrupted } from '../../helpers/durable/trial.ts'
import type { WarmCommand } from '../../helpers/warm-command.ts'
import { atOnce, type Fault, numbersTo } from './fault.ts'

/** Operations on files of the workspace until all answers are applied, plus a few more. */
const operations = 56
const codes = ['ENOSPC', 'EACCES', 'EDQUOT', 'EIO'] as const

/** The scenario for file changes, undisturbed. */
export function editsUninterrupted(server: CountingServer, warm: readonly WarmCommand[] = []): Promise<Reference> {
  return uninterrupted(server, { world: makeEditWorld(), calls: editCallCount, warm })
}

export interface RollbackContext {
  readonly server: CountingServer
  /** Of the scenario for file changes. */
  readonly reference: Finished
  readonly warm?: readonly WarmCommand[]
}

/** Runs the scenario for file changes with disturbed starts, and resumes it; no answer may be applied in part. */
export function tryRollback(starts: readonly Start[], context: RollbackContext): Promise<Trial> {
  return tryWith(starts, { ...context, inspect: halfMade }, makeEditWorld())
}

/** On a disk that stays full, the files that could not be restored must be named. */
function halfMade({ files, last }: Finished): readonly string[] {
  const isNamed = /except: /.test(JSON.stringify(last ?? ''))
  return isNamed ? [] : halfMadeSets(files).map((set) => `I5: made in part: ${set}`)
}

/** A file change of an answer fails: the set is rolled back, and the resume makes it again. */
export const rolledBack: Fault = {
  id: 'R1',
  name: 'ENOSPC, EACCES, EDQUOT, EIO, a disk that stays full, at every operation of sets of changes; resumed',
  async points(context) {
    const reference = await editsUninterrupted(context.server)
    const tries = numbersTo(operations).flatMap((at) =>
      (['fail', 'full'] as const).map((when) => ({ at, when, code: codes[at % codes.length] ?? 'EIO' })),
    )
    return atOnce(tries, context, async (disturb) => {
      const starts = [{ disturb: { ...disturb, scope: 'workspace' as const } }]
      const { problems, stops } = await tryRollback(starts, { ...context, reference })
      return { at: JSON.stringify(disturb), problems, isHit: stops > 0 }
    })
  },
}

/** The process that rolls back is killed, and possibly also the one that resumes it. */
export const killedRollback: Fault = {
  id: 'R1',
  name: 'SIGKILL while a set of changes is rolled back, and again during its resume',
  async points(context) {
    const reference = await editsUninterrupted(context.server)
    const tries = numbersTo(100).map((number) => ({
      at: 1 + Math.floor(context.random() * operations),
      thenKill: 1 + (number % 12),
      second: number % 3 === 0 ? 1 + Math.floor(context.random() * 30) : undefined,
    }))
    return atOnce(tries, context, async ({ second, ...killed }) => {
      const scope = 'workspace' as const
      const starts: Start[] = [{ disturb: { ...killed, when: 'fail', code: 'ENOSPC', scope } }]
      if (second !== undefined) starts.push({ disturb: { at: second, when: 'after', scope } })
      const { problems, stops } = await tryRollback(starts, { ...context, reference })
      return { at: JSON.stringify({ ...killed, second }), problems, isHit: stops > 0 }
    })
  },
}
