import { describe, expect, it } from 'vitest'
import { unifiedDiff } from '../../src/history/unified-diff.ts'

/** What applying the lines of a diff of whole texts gives. */
function side(lines: readonly string[], sign: '+' | '-'): string {
  return lines
    .filter((line) => line.startsWith(' ') || line.startsWith(sign))
    .map((line) => line.slice(1))
    .join('\n')
}

describe('a unified diff', () => {
  it('is empty for equal texts', () => {
    expect(unifiedDiff('a\nb', 'a\nb')).toEqual([])
  })

  it('shows each difference with three lines around it', () => {
    const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9'].join('\n')
    expect(unifiedDiff(before, before.replace('5', 'five'))).toEqual([
      '@@ -2,7 +2,7 @@',
      ' 2',
      ' 3',
      ' 4',
      '-5',
      '+five',
      ' 6',
      ' 7',
      ' 8',
    ])
  })

  it('joins differences that are near and parts those that are far', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`)
    const after = lines.with(3, 'x').with(6, 'y').with(30, 'z')
    const heads = unifiedDiff(lines.join('\n'), after.join('\n')).filter((line) => line.startsWith('@@'))
    expect(heads).toEqual(['@@ -1,10 +1,10 @@', '@@ -28,7 +28,7 @@'])
  })

  it('gives back both texts, whatever differs', () => {
    let seed = 7
    const next = (most: number): number => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % most
    for (let round = 0; round < 300; round += 1) {
      const text = (): string => Array.from({ length: 1 + next(4) }, () => 'abc'.charAt(next(3))).join('\n')
      const [before, after] = [text(), text()]
      const lines = unifiedDiff(before, after)
      if (before === after) continue
      expect([side(lines, '-'), side(lines, '+')]).toEqual([before, after])
      const changes = lines.filter((line) => /^[+-]/.test(line)).length
      expect(changes).toBe(shortestEdits(before.split('\n'), after.split('\n')))
    }
  })

  it('shows texts that have nothing in common as two blocks', () => {
    const text = (name: string): string => Array.from({ length: 1500 }, (_, index) => `${name} ${index}`).join('\n')
    const lines = unifiedDiff(text('a'), text('b'))
    expect(lines.slice(1, 1501).every((line) => line.startsWith('-'))).toBe(true)
    expect(lines.slice(1501).every((line) => line.startsWith('+'))).toBe(true)
  })
})

/** By the table of longest common subsequences. */
function shortestEdits(before: readonly string[], after: readonly string[]): number {
  const table = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0))
  for (let i = 1; i <= before.length; i += 1) {
    for (let j = 1; j <= after.length; j += 1) {
      const [up, left, corner] = [table[i - 1]?.[j] ?? 0, table[i]?.[j - 1] ?? 0, table[i - 1]?.[j - 1] ?? 0]
      const row = table[i]
      if (row !== undefined) row[j] = before[i - 1] === after[j - 1] ? corner + 1 : Math.max(up, left)
    }
  }
  return before.length + after.length - 2 * (table[before.length]?.[after.length] ?? 0)
}
