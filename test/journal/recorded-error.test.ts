import { expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { errorInfo } from '../../src/event/error-info.ts'
import { boundaryEnd, recordedError, restoreError } from '../../src/journal/recorded-error.ts'

const source = { value: <T>(field: T) => field } as Parameters<typeof restoreError>[0]

it('an error keeps its code, reason and hint in the record, for a call and for a boundary', () => {
  const error = new BatonError('LIMIT', 'agent "a" took too long', { reason: 'AGENT_TIMEOUT', hint: 'Raise it.' })
  const told = { code: 'LIMIT', reason: 'AGENT_TIMEOUT', message: 'agent "a" took too long', hint: 'Raise it.' }
  expect(errorInfo(error)).toEqual(told)
  expect(errorInfo(restoreError(source, recordedError(error)))).toEqual(told)
  const end = boundaryEnd(
    'task/0',
    { status: 'ok', value: null },
    { isFinal: () => false, failureIn: () => errorInfo(error) },
  )
  expect(end).toMatchObject({ k: 'failed', error: told })
  // records of earlier versions have no reason
  const older = restoreError(source, { type: 'baton', code: 'LIMIT', message: 'late' })
  expect(errorInfo(older)).toEqual({ code: 'LIMIT', message: 'late' })
})
