import { describe, expect, it } from 'vitest'
import { joinValues } from '../../src/cli/join-values.ts'

describe('a value that begins with -', () => {
  it.each([
    [['-p', '---\nmodel: m\n---\nHi'], ['--prompt=---\nmodel: m\n---\nHi']],
    [
      ['run', '--prompt', '- one\n- two', '-m', 'x'],
      ['run', '--prompt=- one\n- two', '-m', 'x'],
    ],
    [
      ['a.md', '-i', '- item', '-i', '- other'],
      ['a.md', '--input=- item', '--input=- other'],
    ],
  ])('belongs to the flag before it: %j', (args, expected) => {
    expect(joinValues(args)).toEqual(expected)
  })

  it.each([
    [['-p', '-v']],
    [['-p', '-1']],
    [['-p', 'two words']],
    [['-v', '- x']],
    [['a.md', '- x']],
    [['-c', '--chdir=a b']],
    [['--', '-p', '- x']],
    [['-p']],
  ])('is left alone where it may be a flag, or follows none: %j', (args) => {
    expect(joinValues(args)).toEqual(args)
  })
})
