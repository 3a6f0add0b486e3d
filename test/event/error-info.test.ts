import { expect, it } from 'vitest'
import { changeFailureText } from '../../src/event/error-info.ts'

it('names the file of a change that failed once, whether or not its error does', () => {
  const failed = { file_path: 'data.bin', kind: 'Fail', success: false } as const
  expect(changeFailureText({ ...failed, error_msg: 'data.bin is not UTF-8 text' })).toBe('data.bin is not UTF-8 text')
  expect(changeFailureText({ ...failed, error_msg: 'hunk 1 not found' })).toBe('data.bin: hunk 1 not found')
})
