import { closeSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FilePort, nodeFiles } from '../../src/journal/file-port.ts'
import { createTail } from '../../src/journal/tail.ts'
import { tempTree } from '../helpers/temp.ts'

function newFile(): { readonly path: string; readonly read: () => string } {
  const path = join(tempTree(), 'records')
  return { path, read: () => readFileSync(path, 'utf8') }
}

describe('the growing end of a journal file', () => {
  it('writes the waiting lines in order, only on request', () => {
    const { path, read } = newFile()
    const tail = createTail({ type: 'open', descriptor: nodeFiles.create(path) }, nodeFiles)
    tail.add('one\n')
    tail.add('two\n')
    expect([read(), tail.hasWaiting()]).toEqual(['', true])
    tail.writeOut()
    expect([read(), tail.hasWaiting()]).toEqual(['one\ntwo\n', false])
    tail.writeOut()
    tail.close()
    expect(read()).toBe('one\ntwo\n')
  })

  it('writes on its own when many characters wait', () => {
    const { path, read } = newFile()
    const tail = createTail({ type: 'open', descriptor: nodeFiles.create(path) }, nodeFiles)
    const line = `${'x'.repeat(200 * 1024)}\n`
    tail.add(line)
    expect(read()).toBe('')
    tail.add(line)
    tail.close()
    expect(read()).toBe(line + line)
  })

  it('creates a file together with the waiting lines, once', () => {
    const { path, read } = newFile()
    const given: string[] = []
    const tail = createTail(
      {
        type: 'lazy',
        open(first) {
          given.push(String(first()), String(first()))
          return nodeFiles.create(path)
        },
      },
      nodeFiles,
    )
    tail.add('one\n')
    expect(existsSync(path)).toBe(false)
    const descriptor = tail.open()
    expect(tail.open()).toBe(descriptor)
    tail.add('two\n')
    tail.writeOut()
    tail.close()
    expect([given, read()]).toEqual([['one\n', ''], 'two\n'])
  })

  it('creates no file if the lines were dropped before', () => {
    const tail = createTail({ type: 'lazy', open: () => expect.unreachable() }, nodeFiles)
    tail.add('one\n')
    tail.drop()
    tail.writeOut()
    tail.close()
    expect(tail.hasWaiting()).toBe(false)
  })

  it('signs all lines that are written together, and nothing if none wait', () => {
    const { path, read } = newFile()
    const sign = (lines: Buffer): string => `signed ${lines.length}\n`
    const tail = createTail({ type: 'open', descriptor: nodeFiles.create(path) }, nodeFiles, sign)
    tail.add('one\n')
    tail.add('two\n')
    tail.writeOut()
    tail.writeOut()
    tail.close()
    expect(read()).toBe('one\ntwo\nsigned 8\n')
  })

  it('continues after a partial write of the file system', () => {
    const { path, read } = newFile()
    const slow: FilePort = {
      ...nodeFiles,
      write: (descriptor, bytes, offset) => nodeFiles.write(descriptor, bytes.subarray(0, offset + 3), offset),
    }
    const descriptor = nodeFiles.create(path)
    const tail = createTail({ type: 'open', descriptor }, slow)
    tail.add('a longer line\n')
    tail.writeOut()
    closeSync(descriptor)
    expect(read()).toBe('a longer line\n')
  })
})
