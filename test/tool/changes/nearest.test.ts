import { describe, expect, it } from 'vitest'
import { nearestPlaces } from '../../../src/tool/changes/nearest.ts'

const file = [
  'function add(left, right) {',
  '  return left + right',
  '}',
  '',
  'function sum(list) {',
  '  let total = 0',
  '  for (const item of list) total += item',
  '  return total',
  '}',
  '',
].join('\n')

function block(searched: string): string {
  return `<<<<<<< SEARCH\n${searched}\n=======\nnew\n>>>>>>> REPLACE\n`
}

describe('the nearest place for a failed search text', () => {
  it('has the same lines with different white space', () => {
    const [found] = nearestPlaces(file, [block('let total=0\nfor (const item of list) total+=item')])
    expect(found?.text).toContain('  let total = 0\n  for (const item of list) total += item\n')
  })

  it('has lines of similar words, if none is equal', () => {
    const [found] = nearestPlaces(file, [block('  for (const each of list) total += each')])
    expect(found?.text).toContain('for (const item of list) total += item')
  })

  it('is separate for each hunk, and missing if nothing is similar', () => {
    const hunk = '@@ -1,2 +1,2 @@\n function add(left, right) {\n-  return left - right\n+  return 0\n'
    const [first, second] = nearestPlaces(file, [hunk, block('completely unrelated words here')])
    expect(first).toMatchObject({ line: 1 })
    expect(second).toBeUndefined()
  })

  it('is found in files with CRLF', () => {
    const [found] = nearestPlaces(file.replaceAll('\n', '\r\n'), [block('  return left+right')])
    expect(found).toMatchObject({ line: 1 })
    expect(found?.text).not.toContain('\r')
  })
})
