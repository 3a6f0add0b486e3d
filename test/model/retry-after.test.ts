import { describe, expect, it } from 'vitest'
import { retryAfterOf, retryDelayOf } from '../../src/model/faults.ts'

const now = Date.parse('2026-11-22T10:00:00Z')

describe('the wait a response asks for', () => {
  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1_500],
    [{ 'retry-after': 'Sun, 22 Nov 2026 10:01:30 GMT' }, 90_000],
    [{ 'retry-after': 'Sun, 22 Nov 2026 09:00:00 GMT' }, 0],
    // the clock of the server is an hour ahead
    [{ 'retry-after': 'Sun, 22 Nov 2026 11:00:05 GMT', date: 'Sun, 22 Nov 2026 11:00:00 GMT' }, 5_000],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '1763805600' }, undefined],
    [{}, undefined],
  ])('of %j is %s ms', (headers, expected) => {
    expect(retryAfterOf(headers, now)).toBe(expected)
  })
})

describe('the wait an error object asks for', () => {
  it('is the retryDelay of its details', () => {
    const error = {
      details: [{ reason: 'x' }, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.2s' }],
    }
    expect(retryDelayOf(error)).toBe(34_200)
  })

  it.each([undefined, 'text', {}, { details: 'x' }, { details: [{ retryDelay: '5' }, null] }])(
    'is missing in %j',
    (error) => {
      expect(retryDelayOf(error)).toBeUndefined()
    },
  )
})
