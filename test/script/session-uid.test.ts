import { expect, it } from 'vitest'
import { uuidTime } from '../../src/base/uuid.ts'
import { newRunId } from '../../src/journal/run-id.ts'
import { sessionUid } from '../../src/script/run-uid.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/

it('names a run by a UUID of version 7 with its time, the same at every call', () => {
  const now = new Date('2026-11-22T08:45:47.132Z')
  const [id, other] = [newRunId(now), newRunId(now)]
  expect(sessionUid(id)).toMatch(uuid)
  expect(sessionUid(id)).toBe(sessionUid(id))
  expect(sessionUid(id)).not.toBe(sessionUid(other))
  expect(uuidTime(sessionUid(id))).toBe(now.getTime())
})

it.each(['plan', '20261399-084547-184abcdef', ''])('uses the year 1970 for the id %j, which has no time', (id) => {
  expect(sessionUid(id)).toMatch(uuid)
  expect(uuidTime(sessionUid(id))).toBe(0)
})
