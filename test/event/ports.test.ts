import { describe, expect, it } from 'vitest'
import { emitOnce } from '../../src/event/context.ts'
import { checkedBefore, decorate } from '../../src/event/effects.ts'
import { allRights, type Permission } from '../../src/event/permission.ts'
import { createPermission } from '../../src/tool/permission.ts'
import { testContext } from '../helpers/context.ts'
import { effectOf, placeAt } from '../helpers/effects.ts'
import { createMemoryEffects } from '../helpers/memory-journal.ts'

const all = createPermission(allRights, { workspace: '/nowhere' })
const command = effectOf({ kind: 'command', request: {}, repeat: 'safe' })

describe('a decorated gate', () => {
  it('keeps its methods under each permission, and passes the remaining permission to the gate below', async () => {
    const given: (Permission | undefined)[] = []
    const refusing: Permission = { check: () => ({ kind: 'deny', code: 'UNTRUSTED', reason: 'it is refused' }) }
    const gate = decorate(
      createMemoryEffects(),
      (_, permission) => {
        given.push(permission)
        return { wasDone: () => true }
      },
      () => refusing,
    )
    const narrower = gate.under(all).under(all)
    expect([gate, narrower].map((one) => one.wasDone(placeAt('a')))).toEqual([true, true])
    expect(given).toEqual([undefined, all, all])
    expect(await gate.perform(placeAt('a'), command, async () => 'done')).toBe('done')
    await expect(narrower.perform(placeAt('b'), command, async () => 'done')).rejects.toThrow('it is refused')
  })

  it('checks before an effect or a file change is made, and changes nothing if the check throws', async () => {
    let acts = 0
    const gate = checkedBefore(createMemoryEffects(), () => {
      throw new Error('it is gone')
    }).under(all)
    const act = async (): Promise<null> => {
      acts += 1
      return null
    }
    await expect(gate.perform(placeAt('a'), command, act)).rejects.toThrow('it is gone')
    const plan = (): undefined => void (acts += 1)
    expect(() => gate.changeFile(placeAt('b'), { op: 'write', path: 'a.txt' }, plan)).toThrow('it is gone')
    expect(acts).toBe(0)
  })
})

it('an event that is sent once per run is sent once by all its parts, and again by another run', () => {
  const [one, other] = [testContext(), testContext()]
  for (const context of [one, { ...one, scope: { ...one.scope, at: placeAt('a') } }, other]) {
    emitOnce(context, 'key', { type: 'warning', message: 'once' })
    emitOnce(context, 'another key', { type: 'warning', message: 'twice' })
  }
  expect([one, other].map(({ sent }) => sent.length)).toEqual([2, 2])
})
