import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openResult, type ResultSink } from '../../src/cli/result-file.ts'
import { snapshot } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

interface Opened extends ResultSink {
  readonly rescued: string[]
  readonly notes: string[]
}

function open(output: string, cwd: string): Opened {
  const rescued: string[] = []
  const notes: string[] = []
  const sink = openResult(
    { output, file: 'ask.md', json: false, level: 'normal' },
    {
      cwd,
      env: {},
      home: '/nonexistent',
      out: (text) => rescued.push(text),
      outIsTerminal: false,
      err: (text) => notes.push(text),
    },
  )
  return { ...sink, rescued, notes }
}

describe('--output', () => {
  it('writes the complete result at the end of a successful run', () => {
    const folder = tempTree({ 'out.md': 'old' })
    const { write, finish, rescued, notes } = open('out.md', folder)
    write('one\n')
    write('two\n')
    expect(snapshot(folder)).toEqual({ 'out.md': 'old' })
    finish(0)
    expect(snapshot(folder)).toEqual({ 'out.md': 'one\ntwo\n' })
    expect([...rescued, ...notes]).toEqual([])
  })

  it('does not change the file when the run fails, and prints partial answers to stdout', () => {
    const folder = tempTree({ 'out.md': 'old' })
    const { write, finish, rescued, notes } = open('out.md', folder)
    write('one\n')
    finish(1)
    expect(snapshot(folder)).toEqual({ 'out.md': 'old' })
    expect(rescued).toEqual(['one\n'])
    expect(notes).toEqual(['out.md was not written, because the run failed\n'])
  })

  it('prints nothing for a failed run without answers', () => {
    const { finish, rescued, notes } = open('out.md', tempTree({}))
    finish(2)
    expect([...rescued, ...notes]).toEqual([])
  })

  it('prints the result to stdout when its folder was deleted', () => {
    const folder = tempTree({ 'sub/x': '' })
    const { write, finish, rescued } = open('sub/out.md', folder)
    write('paid\n')
    rmSync(join(folder, 'sub'), { recursive: true })
    symlinkSync(join(folder, 'nowhere/deep'), join(folder, 'sub'))
    expect(() => finish(0)).toThrow(/^--output sub\/out\.md cannot be written: /)
    expect(rescued).toEqual(['paid\n'])
  })

  it('writes through a link and outside the current folder', () => {
    const folder = tempTree({ 'real.md': 'old', 'sub/x': '' })
    symlinkSync('real.md', join(folder, 'link.md'))
    const { write, finish } = open('../link.md', join(folder, 'sub'))
    write('new')
    finish(0)
    expect(readFileSync(join(folder, 'real.md'), 'utf8')).toBe('new')
  })

  it.each([
    ['no/out.md', '--output no/out.md: there is no folder '],
    ['file/out.md', '--output file/out.md: there is no folder '],
    ['sub', '--output sub is a folder'],
    ['/dev/null', '--output /dev/null is not a file'],
    ['/dev/stdout', '--output /dev/stdout is not a file'],
    ['/proc/self/fd/1', '--output /proc/self/fd/1 is not a file'],
    ['/sys/x', '--output /sys/x is not a file'],
    ['/dev/shm/no/out.md', '--output /dev/shm/no/out.md: there is no folder '],
    ['-', '--output - is not a file'],
    [' ', '--output is empty'],
    ['./sub/../ask.md', '--output ./sub/../ask.md is the file being run'],
  ])('is refused before the run: %j', (output, message) => {
    const folder = tempTree({ file: '', 'ask.md': 'Hi\n' })
    mkdirSync(join(folder, 'sub'))
    expect(() => open(output, folder)).toThrow(message)
  })
})
