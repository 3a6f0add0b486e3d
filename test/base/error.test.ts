import { expect, it } from 'vitest'
import { hasSystemCode, messageOf } from '../../src/base/error.ts'

it('names system errors that Node has only a number for', () => {
  const text = 'Unknown system error -122: Unknown system error -122, write'
  const error = Object.assign(new Error(text), { code: 'Unknown system error -122', errno: -122 })
  expect(messageOf(error)).toBe('EDQUOT, write')
  expect(hasSystemCode(error, 'EDQUOT')).toBe(true)
  expect(hasSystemCode(error, 'ENOSPC')).toBe(false)
  expect(messageOf(new Error('Unknown system error -99999'))).toBe('Unknown system error -99999')
})
