import { describe, expect, it } from 'vitest'
import { readFileChanges } from '../../../src/tool/changes/answer-changes.ts'
import type { Directive } from '../../../src/tool/changes/directive.ts'
import { parseChanges } from '../../../src/tool/changes/directive-reader.ts'
import { hostileShapes } from './hostile-shapes.ts'

/** For this many characters, nonlinear parsing takes minutes. */
const large = 155_000
const small = 2_000

function found(directives: readonly Directive[]): readonly string[] {
  return [...new Set(directives.map((one) => (one.kind === 'Fail' ? one.fault : one.kind)))].toSorted()
}

describe('an answer that repeats itself is parsed like its beginning', () => {
  it.each(Object.entries(hostileShapes))('%s', (_, shape) => {
    const [beginning, whole] = [shape(small), shape(large)]
    expect(found(readFileChanges(whole).directives)).toEqual(found(readFileChanges(beginning).directives))
    expect(found(parseChanges(whole).directives)).toEqual(found(parseChanges(beginning).directives))
  })
})
