import { tryEditing, uninterruptedEditing } from '../../helpers/editing-trial.ts'
import { atOnce, type Fault, numbersTo } from './fault.ts'

const rounds = 100

/** A model reads, writes and edits files for 100 rounds, and its process is killed at each record. */
export const toolLoop: Fault = {
  id: 'T1',
  name: `a kill at every record of a loop of tools with ${rounds} rounds, which read, write and edit files`,
  async points(context) {
    const whole = await uninterruptedEditing(rounds)
    return atOnce(numbersTo(whole.records), context, async (at) => {
      const { problems, wasKilled } = await tryEditing(whole, at - 1)
      return { at: `record ${at}`, problems, isHit: wasKilled }
    })
  },
}
