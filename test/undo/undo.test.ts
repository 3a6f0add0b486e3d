import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runIds } from '../../src/journal/find-run.ts'
import { createMask } from '../../src/journal/secrets.ts'
import { readFileChanges } from '../../src/tool/changes/answer-changes.ts'
import { applyTransaction } from '../../src/tool/changes/transaction.ts'
import {
  appendToFile,
  copyFile,
  deleteEntry,
  makeFolder,
  makeLink,
  moveEntry,
  removeEmptyFolder,
  saveFile,
  setMode,
} from '../../src/tool/workspace-files.ts'
import { type Change, undoWorld } from './world.ts'

const files = {
  'a.txt': 'one\ntwo\nthree\n',
  'b.txt': 'b\n',
  'bin/raw': new Uint8Array([0, 255, 1, 254]),
  'dir/deep/x.txt': 'x',
  'dir/y.txt': 'y',
  'empty/keep/.keep': '',
  'run.sh': '#!/bin/sh\n',
}

const kinds: readonly (readonly [string, Change])[] = [
  ['a new file', (at, call) => saveFile(at('new.txt'), 'new', call())],
  ['a new file in new folders', (at, call) => saveFile(at('made/here/new.txt'), 'new', call())],
  ['a replaced file', (at, call) => saveFile(at('a.txt'), 'other', call())],
  ['a binary file', (at, call) => saveFile(at('bin/raw'), new Uint8Array([9, 0, 200]), call())],
  ['a file that was emptied', (at, call) => saveFile(at('a.txt'), '', call())],
  ['something added', (at, call) => appendToFile(at('a.txt'), 'four\n', call())],
  [
    'something added many times',
    (at, call) => {
      for (const text of ['four\n', 'five\n', 'x'.repeat(40_000), 'six\n']) appendToFile(at('a.txt'), text, call())
    },
  ],
  ['something added to a file that was not there', (at, call) => appendToFile(at('made/log.txt'), 'first\n', call())],
  [
    'a written file to which something was added, which was written again',
    (at, call) => {
      saveFile(at('a.txt'), 'start\n', call())
      appendToFile(at('a.txt'), 'more\n', call())
      saveFile(at('a.txt'), 'end\n', call())
    },
  ],
  ['a deleted file', (at, call) => void deleteEntry(at('run.sh'), call())],
  ['a deleted folder', (at, call) => void deleteEntry(at('dir'), call())],
  [
    'a copied file',
    (at, call) => copyFile({ source: at('a.txt'), destination: at('c/a.txt'), overwrite: false }, call()),
  ],
  [
    'a file copied onto another',
    (at, call) => copyFile({ source: at('a.txt'), destination: at('b.txt'), overwrite: true }, call()),
  ],
  [
    'a moved file',
    (at, call) => moveEntry({ source: at('run.sh'), destination: at('sub/go.sh'), overwrite: false }, call()),
  ],
  [
    'a file moved onto another',
    (at, call) => moveEntry({ source: at('a.txt'), destination: at('b.txt'), overwrite: true }, call()),
  ],
  [
    'a moved folder',
    (at, call) => moveEntry({ source: at('dir'), destination: at('away/dir2'), overwrite: false }, call()),
  ],
  [
    'a folder moved, and files in it changed',
    (at, call) => {
      moveEntry({ source: at('dir'), destination: at('dir2'), overwrite: false }, call())
      saveFile(at('dir2/y.txt'), 'yy', call())
      deleteEntry(at('dir2/deep/x.txt'), call())
    },
  ],
  [
    'two files that have changed places',
    (at, call) => {
      moveEntry({ source: at('a.txt'), destination: at('tmp'), overwrite: false }, call())
      moveEntry({ source: at('b.txt'), destination: at('a.txt'), overwrite: false }, call())
      moveEntry({ source: at('tmp'), destination: at('b.txt'), overwrite: false }, call())
    },
  ],
  ['made folders', (at, call) => void makeFolder(at('one/two/three'), call())],
  [
    'a removed folder',
    (at, call) => {
      deleteEntry(at('empty/keep/.keep'), call())
      removeEmptyFolder(at('empty/keep'), call())
    },
  ],
  ['permission bits', (at, call) => setMode(at('run.sh'), 0o700, call())],
  ['a link', (at, call) => makeLink(at('link'), 'a.txt', call())],
  ['a link in the place of a file', (at, call) => makeLink(at('a.txt'), 'b.txt', call())],
  ['a link that leads elsewhere', (at, call) => makeLink(at('alias'), 'run.sh', call())],
  [
    'a file in the place of a link',
    (at, call) => {
      deleteEntry(at('alias'), call())
      saveFile(at('alias'), 'a file now', call())
    },
  ],
  [
    'a link in the place of a file that was moved',
    (at, call) => {
      moveEntry({ source: at('a.txt'), destination: at('z.txt'), overwrite: false }, call())
      makeLink(at('a.txt'), 'b.txt', call())
    },
  ],
  ['a deleted link', (at, call) => void deleteEntry(at('alias'), call())],
  [
    'a folder in the place of a file',
    (at, call) => {
      deleteEntry(at('a.txt'), call())
      saveFile(at('a.txt/in/it.txt'), 'deep', call())
    },
  ],
  [
    'a file in the place of a folder',
    (at, call) => {
      deleteEntry(at('dir'), call())
      saveFile(at('dir'), 'flat', call())
    },
  ],
  ['the changes of an answer', (at, call) => answer(at('.'), call())],
]

async function answer(root: string, call: ReturnType<Parameters<Change>[1]>) {
  const { directives } = readFileChanges(
    `<FILE_CHANGES>
<FILE_NEW file_path="src/n.ts">
export {}
</FILE_NEW>
<FILE_PATCH file_path="a.txt">
@@
-two
+2
</FILE_PATCH>
<FILE_APPEND file_path="b.txt">
more
</FILE_APPEND>
<FILE_RENAME from_path="dir/y.txt" to_path="z.txt" />
<FILE_DELETE file_path="run.sh" />
</FILE_CHANGES>`,
  )
  const result = await applyTransaction(directives, { baseDir: root, partial: false, shown: undefined }, call)
  if (result.kind !== 'applied') throw new Error(JSON.stringify(result))
}

function world() {
  const made = undoWorld(files)
  symlinkSync('b.txt', made.at('alias'))
  chmodSync(made.at('run.sh'), 0o755)
  return made
}

describe('undoing a run', () => {
  it.each(kinds)('reverts %s, and undoing the undo applies it again', async (_, change) => {
    const { run, undo, look } = world()
    const before = look()
    const folder = await run(change)
    const after = look()
    expect(after).not.toEqual(before)

    const undone = await undo(folder)
    expect(undone.items.filter(({ why }) => why !== undefined)).toEqual([])
    expect(look()).toEqual(before)

    const redone = await undo(join(folder, '..', undone.by ?? ''))
    expect(redone.items.filter(({ why }) => why !== undefined)).toEqual([])
    expect(look()).toEqual(after)
  })

  it.each(kinds)('reverts %s although the run was killed afterwards', async (_, change) => {
    const { run, undo, look, runs } = world()
    const before = look()
    const folder = await run(change, 'killed')
    // its last record, the end of the last change, is torn off, and with it the line that signs it
    const [segment] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
    const file = join(folder, segment ?? '')
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    writeFileSync(file, lines.slice(0, -1).join('\n'))
    const { items } = await undo(folder)
    expect({ items: items.filter(({ why }) => why !== undefined), runs: readdirSync(runs).length }).toMatchObject({
      items: [],
    })
    expect(look()).toEqual(before)
  })

  it('skips and names files that were changed since, and restores the rest', async () => {
    const { run, undo, at } = world()
    const folder = await run((path, call) => {
      saveFile(path('a.txt'), 'one\n2\nthree\n', call())
      saveFile(path('b.txt'), 'B\n', call())
      saveFile(path('new.txt'), 'new', call())
    })
    writeFileSync(at('a.txt'), 'mine')
    appendFileSync(at('new.txt'), ' and mine')
    const { items } = await undo(folder)
    expect(items).toEqual([
      { path: 'a.txt', outcome: 'refused', why: 'it has changed since the run' },
      { path: 'b.txt', outcome: 'restored' },
      { path: 'new.txt', outcome: 'refused', why: 'it has changed since the run' },
    ])
    expect([readFileSync(at('a.txt'), 'utf8'), readFileSync(at('b.txt'), 'utf8')]).toEqual(['mine', 'b\n'])
  })

  it('merges later changes on request, and marks conflicts as git does', async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`)
    const { run, undo, at } = undoWorld({ 'a.txt': lines.join(''), 'b.txt': 'one\n' })
    const changed = (index: number, text: string, all = lines): string[] =>
      all.map((line, at) => (at === index ? text : line))
    const folder = await run((path, call) => {
      saveFile(path('a.txt'), changed(2, 'run\n').join(''), call())
      saveFile(path('b.txt'), 'two\n', call())
    })
    writeFileSync(at('a.txt'), changed(15, 'mine\n', changed(2, 'run\n')).join(''))
    writeFileSync(at('b.txt'), 'three\n')
    const { items } = await undo(folder, { merges: true })
    expect(items.map(({ outcome }) => outcome)).toEqual(['merged', 'conflicts'])
    expect(readFileSync(at('a.txt'), 'utf8')).toBe(changed(15, 'mine\n').join(''))
    expect(readFileSync(at('b.txt'), 'utf8')).toBe('<<<<<<< present\nthree\n=======\none\n>>>>>>> before the run\n')
  })

  it('does not revert what somebody else changed between two changes of the run', async () => {
    const { run, undo, at } = undoWorld({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n8\n9\n' })
    const folder = await run((path, call) => {
      saveFile(path('a.txt'), 'run\n2\n3\n4\n5\n6\n7\n8\n9\n', call())
      writeFileSync(path('a.txt'), 'run\n2\n3\n4\nmine\n6\n7\n8\n9\n')
      saveFile(path('a.txt'), 'run\n2\n3\n4\nmine\n6\n7\n8\nrun\n', call())
    })
    const { items } = await undo(folder)
    expect(items).toEqual([{ path: 'a.txt', outcome: 'refused', why: 'something else changed it during the run' }])
    expect((await undo(folder, { merges: true })).items).toEqual([{ path: 'a.txt', outcome: 'merged' }])
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('1\n2\n3\n4\nmine\n6\n7\n8\n9\n')
  })

  it('restores only the named files and folders', async () => {
    const { run, undo, at } = world()
    const folder = await run((path, call) => {
      saveFile(path('a.txt'), 'A', call())
      saveFile(path('dir/y.txt'), 'Y', call())
      moveEntry({ source: path('b.txt'), destination: path('dir/b.txt'), overwrite: false }, call())
    })
    const { items } = await undo(folder, { files: [at('dir/y.txt'), at('b.txt')] })
    expect(items.map(({ path }) => path)).toEqual(['b.txt', 'dir/y.txt'])
    const read = (path: string): string => readFileSync(at(path), 'utf8')
    // a file that was moved is copied back if its current location was not named
    expect([read('a.txt'), read('dir/y.txt'), read('b.txt'), read('dir/b.txt')]).toEqual(['A', 'y', 'b\n', 'b\n'])
    await expect(undo(folder, { files: [at('run.sh')] })).rejects.toThrow('did not change run.sh')
  })

  it('keeps created folders that are no longer empty', async () => {
    const { run, undo, at } = world()
    const folder = await run((path, call) => saveFile(path('made/new.txt'), 'new', call()))
    writeFileSync(at('made/mine.txt'), 'mine')
    const { items } = await undo(folder)
    expect(items).toEqual([
      { path: 'made', outcome: 'as_before', isFolder: true },
      { path: 'made/new.txt', outcome: 'removed' },
    ])
    expect(readFileSync(at('made/mine.txt'), 'utf8')).toBe('mine')
  })

  it('does nothing for a dry run, an undone run, or a run that restored everything itself', async () => {
    const { run, undo, look, runs } = world()
    const before = look()
    const folder = await run((path, call) => saveFile(path('a.txt'), 'other', call()))
    const after = look()
    expect((await undo(folder, { dry: true })).items).toEqual([{ path: 'a.txt', outcome: 'restored' }])
    expect(look()).toEqual(after)
    await undo(folder)
    expect(await undo(folder)).toMatchObject({ by: undefined, items: [{ outcome: 'as_before' }] })
    const back = await run((path, call) => {
      saveFile(path('x.txt'), 'x', call())
      deleteEntry(path('x.txt'), call())
    })
    expect((await undo(back)).items).toEqual([])
    expect([look(), runIds(runs).length]).toEqual([before, 3])
  })

  it('refuses while the run is running', async () => {
    const { run, undo } = world()
    const folder = await run((path, call) => saveFile(path('a.txt'), 'other', call()), 'none')
    await expect(undo(folder)).rejects.toThrow('is running')
  })

  it('completes an undo that was killed', async () => {
    const { run, undo, look, at } = world()
    const before = look()
    const folder = await run((path, call) => {
      deleteEntry(path('run.sh'), call())
      moveEntry({ source: path('dir'), destination: path('dir2'), overwrite: false }, call())
      saveFile(path('a.txt'), 'other', call())
    })
    // the first steps of an undo
    mkdirSync(at('dir'))
    mkdirSync(at('dir/deep'))
    writeFileSync(at('a.txt'), files['a.txt'])
    writeFileSync(at('run.sh'), files['run.sh'])
    await undo(folder)
    expect(look()).toEqual(before)
  })

  it('restores secrets that the record does not contain, and refuses when they are no longer set', async () => {
    const mask = createMask({ MY_API_KEY: 'sk-0123456789abcdef' })
    const { run, undo, at, runs } = undoWorld(
      { '.env': 'KEY=sk-0123456789abcdef\n', raw: Buffer.from('\xff sk-0123456789abcdef', 'latin1') },
      mask,
    )
    const folder = await run((path, call) => {
      saveFile(path('.env'), 'KEY=none\n', call())
      deleteEntry(path('raw'), call())
      appendToFile(path('log'), 'used sk-0123456789abcdef\n', call())
    })
    const kept = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /jsonl$|[0-9a-f]{64}/.test(name),
    )
    for (const name of kept)
      expect(readFileSync(join(folder, name)).toString('latin1')).not.toContain('0123456789abcdef')

    const refused = await undo(folder, { mask: createMask({}) })
    const why = 'it contained a secret that is no longer set, or has changed'
    expect(refused.items.map((one) => [one.path, one.why])).toEqual([
      ['.env', why],
      ['log', undefined],
      ['raw', why],
    ])
    await undo(join(runs, refused.by ?? ''))
    expect((await undo(folder)).items.map(({ outcome }) => outcome)).toEqual(['restored', 'removed', 'restored'])
    expect(readFileSync(at('.env'), 'utf8')).toBe('KEY=sk-0123456789abcdef\n')
    expect(readFileSync(at('raw')).toString('latin1')).toBe('\xff sk-0123456789abcdef')
  })

  it('names a file whose content is no longer kept, and never restores damaged content', async () => {
    const { run, undo, at } = world()
    const folder = await run((path, call) => {
      deleteEntry(path('a.txt'), call())
      deleteEntry(path('b.txt'), call())
    })
    const blobs = join(folder, 'blobs')
    for (const name of readdirSync(blobs)) {
      if (readFileSync(join(blobs, name), 'utf8') === files['a.txt']) rmSync(join(blobs, name))
      else writeFileSync(join(blobs, name), 'damaged')
    }
    expect((await undo(folder)).items.map(({ why }) => why)).toEqual([
      'its former content was not kept',
      'the kept copy is damaged',
    ])
    expect(existsSync(at('a.txt'))).toBe(false)
  })

  it('streams large files, and stores none that contains a secret', async () => {
    const mask = createMask({ MY_API_KEY: 'sk-0123456789abcdef' })
    const large = Buffer.alloc(9 * 1024 * 1024, 'abcdefgh')
    const secret = Buffer.from(large)
    // across the boundary between two chunks
    secret.write('sk-0123456789abcdef', 1024 * 1024 - 5)
    const { run, undo, at } = undoWorld({ large, secret }, mask)
    const folder = await run((path, call) => {
      deleteEntry(path('large'), call())
      deleteEntry(path('secret'), call())
    })
    expect((await undo(folder)).items).toEqual([
      { path: 'large', outcome: 'restored' },
      { path: 'secret', outcome: 'refused', why: 'its former content was not kept' },
    ])
    expect(readFileSync(at('large')).equals(large)).toBe(true)
  })

  it('handles many files', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`f/${index % 10}/${index}.txt`, `${index}`]),
    )
    const { run, undo, look } = undoWorld(many)
    const before = look()
    const folder = await run((path, call) => {
      for (const [index, name] of Object.keys(many).entries()) {
        if (index % 3 === 0) saveFile(path(name), 'changed', call())
        else if (index % 3 === 1) deleteEntry(path(name), call())
        else moveEntry({ source: path(name), destination: path(`g/${index}`), overwrite: false }, call())
      }
    })
    await undo(folder)
    expect(look()).toEqual(before)
  })

  it('asks the guard, as every change does', async () => {
    const { run, undo, at, root } = world()
    const outside = undoWorld({}).root
    const folder = await run((path, call) => saveFile(path('dir/y.txt'), 'Y', call()))
    rmSync(at('dir'), { recursive: true })
    symlinkSync(outside, join(root, 'dir'))
    writeFileSync(join(outside, 'y.txt'), 'Y')
    expect((await undo(folder)).items).toMatchObject([{ outcome: 'refused', why: expect.stringContaining('outside') }])
    expect(readFileSync(join(outside, 'y.txt'), 'utf8')).toBe('Y')
  })
})
