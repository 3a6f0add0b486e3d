import type { FileCall } from '../../src/tool/workspace-files.ts'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import type { FileChangeRecord } from '../../src/event/effects.ts'
import { settleChange } from '../../src/tool/change-state.ts'
import {
  appendToFile,
  copyFile,
  deleteEntry,
  makeFolder,
  makeLink,
  moveEntry,
  saveFile,
  setMode,
} from '../../src/tool/workspace-files.ts'
import { tempTree } from '../helpers/temp.ts'
import { hostSection } from '../script/host/host-section.ts'
import { placeAt } from '../helpers/effects.ts'

type Change = (at: (path: string) => string, call: FileCall) => void

const changes: { readonly [what: string]: Change } = {
  'a new file': (at, call) => saveFile(at('new/x.md'), 'X', call),
  'a file written over': (at, call) => saveFile(at('a.md'), 'X', call),
  'an appended line': (at, call) => appendToFile(at('a.md'), 'more\n', call),
  'a line appended to a new file': (at, call) => appendToFile(at('new.md'), 'more\n', call),
  'a copy': (at, call) => copyFile({ source: at('a.md'), destination: at('b.md'), overwrite: true }, call),
  'a moved file': (at, call) => moveEntry({ source: at('a.md'), destination: at('to/c.md'), overwrite: false }, call),
  'a file moved over another': (at, call) =>
    moveEntry({ source: at('a.md'), destination: at('b.md'), overwrite: true }, call),
  'a moved folder': (at, call) => moveEntry({ source: at('dir'), destination: at('moved'), overwrite: false }, call),
  'a moved link that leads nowhere': (at, call) =>
    moveEntry({ source: at('gone'), destination: at('link'), overwrite: false }, call),
  'a deleted file': (at, call) => void deleteEntry(at('a.md'), call),
  'a deleted folder': (at, call) => void deleteEntry(at('dir'), call),
  'a new folder': (at, call) => void makeFolder(at('one/two'), call),
  'a mode': (at, call) => setMode(at('a.md'), 0o700, call),
  'a link': (at, call) => makeLink(at('to-a'), 'a.md', call),
}

function workspace() {
  const root = tempTree({ 'a.md': 'A\n', 'b.md': 'B\n', 'dir/x.md': 'X', 'dir/sub/y.md': 'Y' })
  chmodSync(join(root, 'a.md'), 0o644)
  symlinkSync('nowhere', join(root, 'gone'))
  const { section, records } = hostSection(root)
  const call: FileCall = { context: section.context, at: placeAt('s#0') }
  const at = (path: string): string => join(root, path)
  const state = (record: FileChangeRecord) => settleChange(record, root)
  const recorded = (): FileChangeRecord => {
    const started = (records as readonly { readonly k: string; readonly request?: unknown }[]).findLast(
      ({ k }) => k === 'started',
    )
    return started?.request as FileChangeRecord
  }
  return { root, at, call, state, recorded }
}

describe('a file change that a killed process had started', () => {
  it.each(Object.entries(changes))('%s is recognized before and after the change', (_, change) => {
    const done = workspace()
    change(done.at, done.call)
    const record = done.recorded()
    expect(done.state(record)).toBe('after')
    expect(workspace().state(record)).toBe('before')
  })

  it.each(['a new file', 'a file written over', 'a copy', 'a file moved over another'])(
    '%s matches neither state if somebody has written since',
    (what) => {
      const done = workspace()
      changes[what]?.(done.at, done.call)
      const record = done.recorded()
      writeFileSync(done.at(record.path), 'something else')
      expect(done.state(record)).toBe('neither')
    },
  )

  it('that was removing a folder is completed', () => {
    const done = workspace()
    void deleteEntry(done.at('dir'), done.call)
    const record = done.recorded()
    const { temp } = record
    if (typeof temp !== 'string') throw new Error('it is removed at its own path')
    mkdirSync(done.at(`${temp}/sub`), { recursive: true })
    writeFileSync(done.at(`${temp}/sub/y.md`), 'Y')

    expect(done.state(record)).toBe('after')
    expect(existsSync(done.at(temp))).toBe(false)
  })

  it('that cannot remove a folder completely leaves the rest at its path', () => {
    const { at, call } = workspace()
    // a name that is not UTF-8 cannot be found by its decoded form
    writeFileSync(Buffer.concat([Buffer.from(at('dir/sub/')), Buffer.from([0xff])]), 'Z')

    expect(() => deleteEntry(at('dir'), call)).toThrow('delete of dir failed')
    expect(existsSync(at('dir/sub'))).toBe(true)
  })

  it('that appended a line is recognized when others have appended after it, and matches neither state if it is incomplete', () => {
    const { at, call, state, recorded } = workspace()
    appendToFile(at('a.md'), 'more\n', call)
    const record = recorded()
    for (const [text, expected] of [
      ['A\nmore\nand more\n', 'after'],
      ['A\nmo', 'neither'],
      ['A\nother words\n', 'neither'],
      ['A\n', 'before'],
      ['', 'neither'],
    ] as const) {
      writeFileSync(at('a.md'), text)
      expect([text, state(record)]).toEqual([text, expected])
    }
  })

  it('that appended half of a known line is reverted, and nothing else is', () => {
    const { at, call, recorded, root } = workspace()
    appendToFile(at('a.md'), 'more\n', call)
    const record = recorded()
    const added = () => Buffer.from('more\n')
    for (const [text, expected, left] of [
      ['A\nmo', 'before', 'A\n'],
      ['A\nmi', 'neither', 'A\nmi'],
      ['A\nmore\nmo', 'after', 'A\nmore\nmo'],
    ] as const) {
      writeFileSync(at('a.md'), text)
      expect([text, settleChange(record, root, added)]).toEqual([text, expected])
      expect(readFileSync(at('a.md'), 'utf8')).toBe(left)
    }
    writeFileSync(at('a.md'), 'A\nmo')
    expect(settleChange(record, root, () => Buffer.from('moor\n'))).toBe('neither')
  })

  it('that moved a file matches neither state when the file is missing, or at both places', () => {
    const { at, call, state, recorded } = workspace()
    moveEntry({ source: at('a.md'), destination: at('c.md'), overwrite: false }, call)
    const record = recorded()
    writeFileSync(at('a.md'), 'A\n')
    expect(state(record)).toBe('neither')
    rmSync(at('a.md'))
    renameSync(at('c.md'), at('d.md'))
    expect(state(record)).toBe('neither')
  })

  it('that deleted a folder matches neither state when a part of it is missing', () => {
    const { at, call, state, recorded } = workspace()
    deleteEntry(at('dir'), call)
    mkdirSync(at('dir'))
    writeFileSync(at('dir/x.md'), 'X')
    expect(state(recorded())).toBe('neither')
  })

  it('leaves no temporary file behind, and removes none but its own', () => {
    const { at, state } = workspace()
    const temp = '.baton-0123456789abcdef.tmp'
    for (const name of [temp, 'other.tmp']) writeFileSync(at(name), 'half')
    const record = { op: 'write', path: 'a.md', before: sha256('A\n'), after: sha256('X'), temp }
    expect(state(record)).toBe('before')
    expect([existsSync(at(temp)), existsSync(at('other.tmp'))]).toEqual([false, true])
  })

  it.each(['dir', 'b.md', '..', '.', '', '../dir', '.baton-0123456789abcdef.tmp/..', '.baton-0123456789ABCDEF.tmp'])(
    'matches neither state, and nothing is removed, when the record names %j as its temporary file',
    (temp) => {
      const { at, state } = workspace()
      const record = { op: 'write', path: 'a.md', before: sha256('A\n'), after: sha256('X'), temp }
      expect(state(record)).toBe('neither')
      expect(['a.md', 'b.md', 'dir/sub/y.md'].map((path) => existsSync(at(path)))).toEqual([true, true, true])
    },
  )

  it('removes the temporary file of a link next to the link, not at its target', () => {
    const { at, state } = workspace()
    const temp = '.baton-0123456789abcdef.tmp'
    symlinkSync('dir/x.md', at('to-x'))
    symlinkSync('a.md', at(temp))
    writeFileSync(at(`dir/${temp}`), 'of another one')
    const record = { op: 'link', path: 'to-x', before: sha256('dir/x.md'), after: sha256('a.md'), temp }
    expect(state(record)).toBe('before')
    expect(readdirSync(at('.')).filter((name) => name === temp)).toEqual([])
    expect([existsSync(at('a.md')), existsSync(at(`dir/${temp}`))]).toEqual([true, true])
  })

  it('reports what cannot be removed', () => {
    const { at, state } = workspace()
    const temp = '.baton-0123456789abcdef.tmp'
    mkdirSync(at(temp))
    // a name that is not UTF-8 cannot be found by its decoded form
    writeFileSync(Buffer.concat([Buffer.from(at(`${temp}/`)), Buffer.from([0xff])]), 'Z')
    const record = { op: 'delete', path: 'dir', before: null, after: null, temp }
    expect(() => state(record)).toThrow(`${temp} cannot be removed`)
  })

  it('is also evaluated when its folder is gone', () => {
    const temp = '.baton-0123456789abcdef.tmp'
    const record = { op: 'write', path: 'gone/x.md', before: null, after: sha256('Z'), temp }
    expect(workspace().state(record)).toBe('before')
    expect(workspace().state({ ...record, before: sha256('X') })).toBe('neither')
  })
})
