import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WireFormatName } from '../../src/event/message.ts'
import { type ApprovalTry, tryApprovals } from '../helpers/durable/approval-trial.ts'
import type { Disturbance } from '../helpers/durable/play.ts'
import { type CountingServer, startCountingServer } from '../helpers/durable/server.ts'
import { trySuspended } from '../helpers/durable/suspended-trial.ts'
import { tryTalking } from '../helpers/durable/talking-trial.ts'
import { type Reference, uninterrupted } from '../helpers/durable/trial.ts'

// A small sample of what scripts/soak.mjs tries in full: a suspended run and conversations are killed by SIGKILL at
// an operation on their journals, and resumed. test/agent/conversation-kills.test.ts has every wire format and record.

const kill = (at: number, when: 'before' | 'half' | 'after'): Disturbance => ({ at, when })

describe('a run that is suspended', () => {
  let server: CountingServer
  let reference: Reference
  beforeAll(async () => {
    server = await startCountingServer()
    reference = await uninterrupted(server)
  })
  afterAll(() => server.close())

  it.each([
    [
      'killed where an effect was suspended, and again after it was approved',
      [{ match: '"k":"suspended"', at: 1, when: 'after' }],
      [kill(20, 'after')],
    ],
  ] as const)('pays for nothing twice when it is %s', async (at, before, after) => {
    const { problems, stops } = await trySuspended({ at, before, after }, { server, reference })
    expect({ problems, stops }).toEqual({ problems: [], stops: before.length + after.length })
  })
})

describe('a run that waits for approvals', () => {
  it('asks and pays for nothing twice when it is killed at a question, is answered and continues', async () => {
    const disturbed: ApprovalTry = {
      run: { match: '"kind":"approval"', at: 1, when: 'after' },
      approve: kill(6, 'after'),
      reject: { match: '"k":"ended"', at: 1, when: 'half' },
      resume: kill(12, 'half'),
    }
    const { problems, stops } = await tryApprovals(disturbed)
    expect({ problems, stops }).toEqual({ problems: [], stops: 4 })
  })
})

describe('a conversation', () => {
  it.each([['gemini', kill(27, 'half')]] as const satisfies readonly (readonly [WireFormatName, Disturbance])[])(
    'over %s that is killed continues, and pays for nothing twice',
    async (format, disturb) => {
      const { problems, stops } = await tryTalking({ at: '', format, turns: 8, disturb: [disturb] })
      expect({ problems, stops }).toEqual({ problems: [], stops: 1 })
    },
  )
})
