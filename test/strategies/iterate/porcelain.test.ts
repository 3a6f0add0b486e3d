import { expect, it } from 'vitest'
import { parseStatus, pathsOf, unstagedOf } from '../../../src/strategies/iterate/repository.ts'

const nul = (text: string): string => text.replaceAll('⎕', '\0')

it('parses every name completely: of one letter, with spaces, of renames', () => {
  const entries = parseStatus(nul(' M b⎕RM bar.txt⎕foo.txt⎕?? d/y⎕?? new file.txt⎕'))
  expect(entries.map(({ path }) => path)).toEqual(['b', 'bar.txt', 'd/y', 'new file.txt'])
  expect(entries.map(({ isUnstaged }) => isUnstaged)).toEqual([true, true, true, true])
  expect(entries.flatMap(pathsOf)).toEqual(['b', 'bar.txt', 'foo.txt', 'd/y', 'new file.txt'])
})

it('parses names that look like something else', () => {
  const entries = parseStatus(nul('?? a -> b⎕?? "q"⎕ M line\nbreak⎕?? Ä/ö⎕C  copy⎕R  source⎕A   lead⎕'))
  expect(entries.flatMap(pathsOf)).toEqual(['a -> b', '"q"', 'line\nbreak', 'Ä/ö', 'copy', ' lead'])
})

it('detects completely staged files', () => {
  const entries = parseStatus(nul('D  a⎕M  b⎕R  new⎕old⎕A  c⎕AM d⎕ D e⎕MD f⎕?? g⎕'))
  expect(unstagedOf(entries)).toEqual(['d', 'e', 'f', 'g'])
  expect(parseStatus('')).toEqual([])
})
