import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { displayPath, isInside, readSourceFile, realPath, writeFileAtomic } from '../../src/base/files.ts'
import { tempTree } from '../helpers/temp.ts'

describe('readSourceFile', () => {
  it('reads UTF-8 with a real replacement character and a byte order mark', () => {
    const folder = tempTree({ a: '\ufeffä\ufffd\n' })
    expect(readSourceFile(join(folder, 'a'))).toBe('\ufeffä\ufffd\n')
  })

  it.each([
    ['a NUL byte', new Uint8Array([0x61, 0x0a, 0x62, 0x00]), 'a NUL byte', { line: 2, column: 2 }],
    ['a bad byte', new Uint8Array([0x61, 0x0a, 0xc3, 0x28]), 'not UTF-8', { line: 2, column: 1 }],
    ['a cut character at the end', new Uint8Array([0x61, 0xe2, 0x82]), 'not UTF-8', { line: 1, column: 2 }],
  ])('refuses %s and locates it', (_, bytes, message, place) => {
    const folder = tempTree({ a: bytes })
    expect(() => readSourceFile(join(folder, 'a'))).toThrow(
      expect.objectContaining({
        code: 'FILE_UNREADABLE',
        message: expect.stringContaining(message),
        place: expect.objectContaining(place),
      }),
    )
  })

  it('refuses pipes, which would block', () => {
    const folder = tempTree()
    execFileSync('mkfifo', [join(folder, 'pipe')])
    expect(() => readSourceFile(join(folder, 'pipe'))).toThrow('is a named pipe and not a regular file')
  })

  it('refuses folders', () => {
    expect(() => readSourceFile(tempTree())).toThrow('is a folder')
  })
})

describe('writeFileAtomic', () => {
  it.each(['a.txt/x', 'a.txt/x/y'])('names the file that blocks %s', (path) => {
    const folder = tempTree({ 'a.txt': '' })
    expect(() => writeFileAtomic(join(folder, path), '')).toThrow(`${folder}/a.txt is not a folder`)
  })

  it('creates folders, keeps the mode of a replaced file, and leaves nothing else behind', () => {
    const folder = tempTree({ 'run.sh': 'old' })
    chmodSync(join(folder, 'run.sh'), 0o750)
    writeFileAtomic(join(folder, 'run.sh'), 'new')
    writeFileAtomic(join(folder, 'a/b/c'), 'deep')
    expect(statSync(join(folder, 'run.sh')).mode & 0o777).toBe(0o750)
    expect(readFileSync(join(folder, 'a/b/c'), 'utf8')).toBe('deep')
    expect(readdirSync(folder).toSorted()).toEqual(['a', 'run.sh'])
  })

  it('writes a file with the longest possible name', () => {
    const folder = tempTree()
    const name = 'n'.repeat(255)
    writeFileAtomic(join(folder, name), 'new')
    writeFileAtomic(join(folder, name), 'newer')
    expect(readdirSync(folder)).toEqual([name])
    expect(readFileSync(join(folder, name), 'utf8')).toBe('newer')
  })

  it('writes through a link to its target', () => {
    const folder = tempTree({ real: 'old' })
    symlinkSync('real', join(folder, 'link'))
    writeFileAtomic(join(folder, 'link'), 'new')
    expect(readFileSync(join(folder, 'real'), 'utf8')).toBe('new')
  })
})

describe('paths', () => {
  it('resolves links in paths that do not exist yet, including dangling ones', () => {
    const folder = tempTree({ 'real/x': '' })
    symlinkSync('real', join(folder, 'link'))
    symlinkSync('/nowhere/else', join(folder, 'dangling'))
    expect(realPath(join(folder, 'link/new/file'))).toBe(join(folder, 'real/new/file'))
    expect(realPath(join(folder, 'dangling/file'))).toBe('/nowhere/else/file')
  })

  it.each([
    ['/a', '/a', true],
    ['/a', '/a/b', true],
    ['/a', '/a/..b', true],
    ['/a', '/ab', false],
    ['/a', '/', false],
  ])('isInside(%s, %s) is %s', (folder, path, inside) => {
    expect(isInside(folder, path)).toBe(inside)
  })

  it('shows paths relative to a folder that contains them', () => {
    expect(displayPath('/a', '/a/b/c')).toBe('b/c')
    expect(displayPath('/a', '/b')).toBe('/b')
    expect(displayPath('/a', '/a')).toBe('.')
  })
})
