import { expect, it } from 'vitest'
import { intersectTools } from '../../src/load/intersect-tools.ts'

it.each<readonly [left: readonly string[], right: readonly string[], both: readonly string[]]>([
  [['read', 'bash'], ['read', 'glob'], ['read']],
  [['*'], ['read', 'bash'], ['read', 'bash']],
  [['read'], ['*'], ['read']],
  [['docs__*'], ['docs__search', 'read'], ['docs__search']],
  // they overlap, but neither covers the other
  [['docs__*'], ['*__search'], []],
  [[], ['*'], []],
])('the intersection of the tools %j and %j is %j', (left, right, both) => {
  expect(intersectTools(left, right)).toEqual(both)
  expect(new Set(intersectTools(right, left))).toEqual(new Set(both))
})
