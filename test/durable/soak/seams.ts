import type { WireFormatName } from '../../../src/event/message.ts'
import { approvalPhases, tryApprovals } from '../../helpers/durable/approval-trial.ts'
import type { Disturbance } from '../../helpers/durable/play.ts'
import { type SuspendedTry, trySuspended } from '../../helpers/durable/suspended-trial.ts'
import { type TalkingTry, tryTalking } from '../../helpers/durable/talking-trial.ts'
import { atOnce, type Fault, numbersTo } from './fault.ts'

const modes = ['before', 'half', 'after'] as const
const formats: readonly WireFormatName[] = ['chat', 'responses', 'anthropic', 'gemini']
const turns = 20

/**
 * A kill at each of this many operations and a few more: their number varies with how records are batched for a sync.
 * The three ways alternate; F1 tries all of them at each operation.
 */
function kills(operations: number): readonly Disturbance[] {
  return numbersTo(operations + 3).map((at) => ({ at, when: modes[at % modes.length] ?? 'before' }))
}

/** A run is suspended, and killed at each operation on its journal before that, or after it was approved. */
export const suspendedRun: Fault = {
  id: 'S1',
  name: 'SIGKILL at every operation on the journal of a run that is suspended and goes on',
  async points(context) {
    const { operations } = await trySuspended({ at: '', before: [], after: [] }, context)
    const tries: readonly SuspendedTry[] = [
      ...kills(operations.before).map((kill) => ({ at: `before ${JSON.stringify(kill)}`, before: [kill], after: [] })),
      ...kills(operations.after).map((kill) => ({ at: `after ${JSON.stringify(kill)}`, before: [], after: [kill] })),
    ]
    return atOnce(tries, context, async (one) => {
      const { problems, stops } = await trySuspended(one, context)
      return { at: one.at, problems, isHit: stops > 0 }
    })
  },
}

/** Processes that ask for approvals, answer and resume are killed at each operation on the journal. */
export const approvals: Fault = {
  id: 'S3',
  name: 'SIGKILL at every operation on the journal of a run that waits for approvals, is answered and resumed',
  async points(context) {
    const { operations } = await tryApprovals({})
    const tries = approvalPhases.flatMap((phase) =>
      kills(operations[phase]).map((kill) => ({
        at: `${phase} ${JSON.stringify(kill)}`,
        disturbed: { [phase]: kill },
      })),
    )
    return atOnce(tries, context, async ({ at, disturbed }) => {
      const { problems, stops } = await tryApprovals(disturbed)
      return { at, problems, isHit: stops > 0 }
    })
  },
}

/** A conversation with tools is killed at each operation on its journal. */
export const conversations: Fault = {
  id: 'S2',
  name: `SIGKILL at every operation on the journal of a conversation of ${turns} turns, in each wire format`,
  async points(context) {
    const tries: TalkingTry[] = []
    for (const format of formats) {
      const { operations } = await tryTalking({ at: '', format, turns, disturb: [] })
      for (const kill of kills(operations)) {
        tries.push({ at: `${format} ${JSON.stringify(kill)}`, format, turns, disturb: [kill] })
      }
    }
    return atOnce(tries, context, async (one) => {
      const { problems, stops } = await tryTalking(one)
      return { at: one.at, problems, isHit: stops > 0 }
    })
  },
}
