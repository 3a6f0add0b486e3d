import { expect, it } from 'vitest'
import { BatonError, rewordError } from '../../src/base/error.ts'
import { changeFailureText, errorInfo } from '../../src/event/error-info.ts'

it('names the file of a failed change once, whether or not the error names it', () => {
  const failed = { file_path: 'data.bin', kind: 'Fail', success: false } as const
  expect(changeFailureText({ ...failed, error_msg: 'data.bin is not UTF-8 text' })).toBe('data.bin is not UTF-8 text')
  expect(changeFailureText({ ...failed, error_msg: 'hunk 1 not found' })).toBe('data.bin: hunk 1 not found')
})

it('truncates messages and hints that quote received text, also when they are rephrased, and says so', () => {
  const long = 'é'.repeat(1_000_000)
  const file = 'a'.repeat(5000)
  const error = new BatonError('MODEL_FAILED', long, { hint: long, place: { file, line: 1 } })
  for (const one of [error, rewordError(error, { message: `again: ${long}` }), new Error(long)]) {
    const { message, hint = '', file: name = '' } = errorInfo(one)
    for (const text of [message, hint, name]) expect(text.length).toBeLessThanOrEqual(2000)
    expect(message).toMatch(/^(?:again: )?éé.*é… \(\d+ more characters\)$/)
  }
  const whole = 'x'.repeat(2000)
  expect(errorInfo(new BatonError('MODEL_FAILED', whole)).message).toBe(whole)
})
