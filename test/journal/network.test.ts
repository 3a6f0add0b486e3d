import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isOnNetwork } from '../../src/journal/network.ts'
import { tempTree } from '../helpers/temp.ts'

it('recognizes local folders, also missing ones', () => {
  expect(isOnNetwork(join(tempTree(), 'not/yet'))).toBe(false)
})

it.each([0x6969, 0xff534d42, 0x517b])(
  'recognizes network file systems by their type %i, from the existing part of the path',
  (type) => {
    const folder = tempTree()
    const asked: string[] = []
    expect(isOnNetwork(join(folder, 'a/b'), (path) => (asked.push(path), type))).toBe(true)
    expect(asked).toEqual([folder])
  },
)
