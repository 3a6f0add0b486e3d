import { describe, expect, it } from 'vitest'
import { parseIgnoreFile } from '../../src/base/gitignore.ts'

function verdict(text: string, path: string): string | undefined {
  const kind = path.endsWith('/') ? 'folder' : 'file'
  return parseIgnoreFile(text).says(path.replace(/\/$/, '').split('/'), kind)
}

describe('a .gitignore file', () => {
  it('ignores a name without a slash in each folder below', () => {
    expect(verdict('*.log\n', 'a.log')).toBe('ignored')
    expect(verdict('*.log\n', 'in/deep/a.log')).toBe('ignored')
    expect(verdict('*.log\n', 'a.txt')).toBeUndefined()
  })

  it('matches a pattern with a slash only from its own folder', () => {
    expect(verdict('/build\n', 'build')).toBe('ignored')
    expect(verdict('/build\n', 'in/build')).toBeUndefined()
    expect(verdict('in/build\n', 'in/build')).toBe('ignored')
    expect(verdict('in/build\n', 'other/in/build')).toBeUndefined()
  })

  it('matches only folders after a trailing slash', () => {
    expect(verdict('out/\n', 'out/')).toBe('ignored')
    expect(verdict('out/\n', 'out')).toBeUndefined()
  })

  it('uses the last matching pattern', () => {
    expect(verdict('*.log\n!keep.log\n', 'keep.log')).toBe('kept')
    expect(verdict('!keep.log\n*.log\n', 'keep.log')).toBe('ignored')
  })

  it('skips comments and empty lines, and the byte order mark', () => {
    expect(verdict('\uFEFFa.txt\n', 'a.txt')).toBe('ignored')
    expect(verdict('# a.txt\n\n', 'a.txt')).toBeUndefined()
    expect(verdict('# a.txt\n', '# a.txt')).toBeUndefined()
  })

  it('keeps trailing blanks only after a backslash', () => {
    expect(verdict('a.txt  \r\n', 'a.txt')).toBe('ignored')
    expect(verdict('a\\ \n', 'a ')).toBe('ignored')
  })

  it('treats braces literally', () => {
    expect(verdict('{a,b}\n', '{a,b}')).toBe('ignored')
    expect(verdict('{a,b}\n', 'a')).toBeUndefined()
  })
})
