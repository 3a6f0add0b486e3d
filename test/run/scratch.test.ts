import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import type { FileChangeRecord } from '../../src/event/effects.ts'
import { createScratch, type Scratch } from '../../src/run/scratch.ts'
import { entryHash } from '../../src/tool/file-hash.ts'
import { tempTree } from '../helpers/temp.ts'

interface Replayed {
  readonly scratch: Scratch
  /** The text of a file in the scratch folder; undefined if it does not exist. */
  readonly text: (path: string) => string | undefined
  readonly change: (record: FileChangeRecord, text?: string) => void
}

/** A workspace as a replay finds it. */
function world(files: { readonly [path: string]: string } = {}): Replayed {
  const root = tempTree(files)
  const scratch = createScratch(root)
  onTestFinished(scratch.discard)
  const at = (path: string): string => join(scratch.folder() ?? '', path)
  return {
    scratch,
    text: (path) => (entryHash(at(path)) === null ? undefined : readFileSync(at(path), 'utf8')),
    change(record, text) {
      const { op, path } = record
      if (text === undefined) return scratch.change(record, undefined)
      scratch.change(record, (disk) =>
        writeFileSync(disk(join(root, path)), text, { flag: op === 'append' ? 'a' : 'w' }),
      )
    },
  }
}

const write = (path: string, text: string): FileChangeRecord => ({
  op: 'write',
  path,
  before: null,
  after: sha256(text),
})
const append = (path: string, offset: number, text: string): FileChangeRecord => ({
  op: 'append',
  path,
  before: null,
  after: sha256(text),
  offset,
  bytes: text.length,
})
const from = (op: 'copy' | 'move', source: string, path: string, text: string): FileChangeRecord => ({
  op,
  path,
  from: source,
  before: null,
  after: sha256(text),
})
const made = (op: 'pack' | 'unpack' | 'split', path: string, text: string): FileChangeRecord => ({
  op,
  path,
  source: 'other',
  before: null,
  after: sha256(text),
})

describe('files that the recorded run found and the workspace lacks', () => {
  it('are named, with everything derived from them', () => {
    const { scratch, change, text } = world()
    change(append('log.txt', 4, 'new\n'), 'new\n')
    change(append('log.txt', 8, 'end\n'), 'end\n')
    change(from('copy', 'log.txt', 'copied.txt', 'old\nnew\nend\n'))
    change(from('move', 'm1.txt', 'm2.txt', 'moved'))
    change(from('move', 'copied.txt', 'final.txt', 'old\nnew\nend\n'))
    change(made('unpack', 'out/x.txt', 'x'))
    change({ op: 'chmod', path: 'tool.sh', before: sha256('x'), after: sha256('x'), mode: 0o755 })
    expect(scratch.unlike()).toEqual(['final.txt', 'log.txt', 'm2.txt', 'out/x.txt', 'tool.sh'])
    expect(scratch.files()).toEqual(['final.txt', 'log.txt'])
    expect(text('log.txt')).toBe('new\nend\n')
  })

  it('no longer matter once they are rewritten or removed', () => {
    const { scratch, change, text } = world()
    change(append('log.txt', 4, 'new\n'), 'new\n')
    change(append('gone.txt', 4, 'new\n'), 'new\n')
    change(write('log.txt', 'whole'), 'whole')
    change({ op: 'delete', path: 'gone.txt', before: sha256('old\nnew\n'), after: null })
    change({ op: 'delete', path: 'other.txt', before: sha256('other'), after: null })
    expect([scratch.unlike(), scratch.files(), text('log.txt')]).toEqual([[], ['log.txt'], 'whole'])
  })
})

describe('files that the workspace has', () => {
  it('are used as they were then', () => {
    const { scratch, change, text } = world({ 'log.txt': 'old\n', 'm1.txt': 'moved', 'tool.sh': 'x' })
    change(append('log.txt', 4, 'new\n'), 'new\n')
    change(from('copy', 'log.txt', 'copied.txt', 'old\nnew\n'))
    change(from('move', 'm1.txt', 'm2.txt', 'moved'))
    change({ op: 'chmod', path: 'tool.sh', before: sha256('x'), after: sha256('x'), mode: 0o755 })
    expect(scratch.unlike()).toEqual([])
    expect(['log.txt', 'copied.txt', 'm1.txt', 'm2.txt'].map(text)).toEqual([
      'old\nnew\n',
      'old\nnew\n',
      undefined,
      'moved',
    ])
  })

  it('are also accepted in the state that the recorded run left', () => {
    const { scratch, change, text } = world({
      'log.txt': 'old\nnew\nend\n',
      'copied.txt': 'old\nnew\n',
      'm2.txt': 'moved',
      'a.zip': 'zip',
    })
    change(append('log.txt', 4, 'new\n'), 'new\n')
    change(from('copy', 'log.txt', 'copied.txt', 'old\nnew\n'))
    change(append('log.txt', 8, 'end\n'), 'end\n')
    change(from('move', 'm1.txt', 'm2.txt', 'moved'))
    change(made('pack', 'a.zip', 'zip'))
    expect(scratch.unlike()).toEqual([])
    expect(['log.txt', 'copied.txt', 'm2.txt', 'a.zip'].map(text)).toEqual([
      'old\nnew\nend\n',
      'old\nnew\n',
      'moved',
      'zip',
    ])
  })

  it('are named if they have changed since', () => {
    const { scratch, change, text } = world({
      'log.txt': 'another\n',
      'm1.txt': 'changed',
      'm3.txt': 'not it',
      'a.zip': 'not it',
    })
    change(append('log.txt', 4, 'new\n'), 'new\n')
    change(from('move', 'm1.txt', 'm2.txt', 'moved'))
    change(from('move', 'absent.txt', 'm3.txt', 'moved'))
    change(made('pack', 'a.zip', 'zip'))
    expect(scratch.unlike()).toEqual(['a.zip', 'log.txt', 'm2.txt', 'm3.txt'])
    expect([text('m3.txt'), text('a.zip')]).toEqual([undefined, undefined])
  })
})

describe('texts that are appended in a different order', () => {
  const texts = ['one\n', 'two, longer\n', 'three\n']
  const all = ['old\n', ...texts].join('')
  const appends = texts.map((text) => ({ record: append('log.txt', all.indexOf(text), text), text }))

  it.each([
    ['in a new file', undefined, 'log.txt'],
    ['in the file of then', 'old\n', undefined],
    ['in the file that the recorded run has left', all, undefined],
    ['in the file that others have added to since', `${all}more\n`, undefined],
  ])('are at their original position, %s', (_, present, unlike) => {
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ]) {
      const { scratch, change, text } = world(present === undefined ? {} : { 'log.txt': present })
      for (const one of order) change(appends[one]?.record ?? append('', 0, ''), appends[one]?.text)
      expect([text('log.txt'), scratch.unlike()], order.join()).toEqual(
        unlike === undefined ? [all, []] : [texts.join(''), [unlike]],
      )
    }
  })
})

it('files are named by the folder that they were moved to', () => {
  const { scratch, change } = world()
  change(append('a/log.txt', 4, 'new'), 'new')
  change({ op: 'chmod', path: 'a', before: sha256('log.txt'), after: sha256('log.txt'), mode: 0o700 })
  change(from('move', 'a', 'b', 'log.txt'))
  expect([scratch.unlike(), scratch.files()]).toEqual([['b/log.txt'], ['b']])
})
