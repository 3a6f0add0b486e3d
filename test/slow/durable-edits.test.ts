import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command } from '../helpers/durable/play.ts'
import { type CountingServer, startCountingServer } from '../helpers/durable/server.ts'
import { type Reference, type Start, uninterrupted } from '../helpers/durable/trial.ts'
import { createWarmCommand } from '../helpers/warm-command.ts'
import { tryLease } from '../durable/soak/leases.ts'
import { editsUninterrupted, tryRollback } from '../durable/soak/rollbacks.ts'
import { tryUndo, type UndoTry } from '../durable/soak/undos.ts'

// A sample of the faults R1, U1 and F11 (docs/durability.md); scripts/soak.mjs tries every point.

const warm = [createWarmCommand(command), createWarmCommand(command)]
let server: CountingServer
let reference: Reference
beforeAll(async () => {
  server = await startCountingServer()
  reference = await editsUninterrupted(server, warm)
})
afterAll(async () => {
  await Promise.all(warm.map(({ end }) => end()))
  await server.close()
})

const scope = 'workspace'

describe('failed changes of an answer are undone together, and applied again by the resume', () => {
  it.each<readonly [string, Start]>([
    ['on a disk that stays full', { disturb: { at: 12, when: 'full', code: 'ENOSPC', scope } }],
    ['by a process that is killed then', { disturb: { at: 11, when: 'fail', thenKill: 3, code: 'EACCES', scope } }],
  ])('%s', async (_, start) => {
    expect(await tryRollback([start], { server, reference, warm })).toEqual({ problems: [], stops: 1 })
  })
})

describe('an undo that is killed', () => {
  it.each<readonly [string, UndoTry]>([
    ['is finished by another one', { starts: [{ at: 20, when: 'after', scope }], merge: false }],
    ['leaves nothing half-merged', { starts: [{ at: 14, when: 'before', scope }], merge: true }],
  ])('%s', async (_, asked) => {
    expect(await tryUndo(asked, { server, warm })).toMatchObject({ problems: [], kills: 1 })
  })
})

it('a process of another machine that is suspended for longer than its lease does nothing more', async () => {
  const point = await tryLease(
    // early: the rest of the run is work that it would go on with before the signal arrives
    { moment: '"type":"item.started"', count: 1 },
    { server, warm, reference: await uninterrupted(server, { warm }) },
  )
  expect(point).toMatchObject({ problems: [], isHit: true })
})
