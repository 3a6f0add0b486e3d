import type { Disturbance } from '../../helpers/durable/play.ts'
import { type IterateKill, iterateKills, tryIterate } from '../../helpers/durable/iterate-trial.ts'
import { atOnce, type Fault, numbersTo, type SoakContext } from './fault.ts'

const modes = ['before', 'half', 'after'] as const

/** Kills at each of this many operations; the three ways alternate. */
function kills(operations: number, scope: NonNullable<Disturbance['scope']>): readonly IterateKill[] {
  return numbersTo(operations).map((at) => ({
    kind: 'operation',
    disturb: { at, when: modes[at % modes.length] ?? 'before', scope },
  }))
}

/** A run that commits after each iteration is killed between edit, stage, commit and record. */
export const iterations: Fault = {
  id: 'G1',
  name: 'SIGKILL of a run that commits its iterations: at its records, its files, and each hook of git',
  async points(context: SoakContext) {
    const reference = await tryIterate(undefined)
    const tries = [
      ...kills(reference.operations + 3, 'journal'),
      ...kills(80, 'workspace'),
      ...iterateKills(reference.hooks),
    ]
    return atOnce(tries, context, async (kill) => {
      const { problems, stops } = await tryIterate(kill, reference.commits)
      return { at: JSON.stringify(kill), problems, isHit: stops > 0 }
    })
  },
}
