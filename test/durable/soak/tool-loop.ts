import { tryEditing, uninterruptedEditing } from '../../helpers/editing-trial.ts'
import type { EditingMode } from '../../helpers/editing-loop.ts'
import { atOnce, type Fault, numbersTo } from './fault.ts'

interface Loop {
  readonly id: string
  readonly name: string
  readonly rounds: number
  readonly mode: EditingMode
}

function killedLoop({ id, name, rounds, mode }: Loop): Fault {
  return {
    id,
    name: `a kill at every record of a loop of ${name} with ${rounds} rounds, which read, write and edit files`,
    async points(context) {
      const whole = await uninterruptedEditing(rounds, mode)
      return atOnce(numbersTo(whole.records), context, async (at) => {
        const { problems, wasKilled } = await tryEditing(whole, at - 1)
        return { at: `record ${at}`, problems, isHit: wasKilled }
      })
    },
  }
}

/** A model reads, writes and edits files by calling tools, and its process is killed at each record. */
export const toolLoop = killedLoop({ id: 'T1', name: 'tools', rounds: 100, mode: 'classic' })

/** The same with programs: each is run again from its first line. */
export const programLoop = killedLoop({ id: 'T2', name: 'programs', rounds: 40, mode: 'code' })
