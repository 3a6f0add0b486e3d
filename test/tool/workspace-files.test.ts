import type { FileCall } from '../../src/tool/workspace-files.ts'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { sha256 } from '../../src/base/hash.ts'
import type { FileChangeRecord } from '../../src/event/effects.ts'
import { appendToFile, copyFile, deleteEntry, makeFolder, moveEntry, saveFile } from '../../src/tool/workspace-files.ts'
import { fileStatus, readBytes, readText } from '../../src/tool/workspace-reads.ts'
import { snapshot } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { hostSection, type HostSection } from '../script/host/host-section.ts'
import { placeAt } from '../helpers/effects.ts'

interface Workspace extends HostSection {
  readonly root: string
  readonly outside: string
  readonly at: (path: string) => string
  readonly files: FileCall
}

function workspace(files: { readonly [path: string]: string | Uint8Array } = {}): Workspace {
  const outside = tempTree({ 'secret.txt': 'secret', 'deep/x.txt': '' })
  const root = tempTree(files)
  symlinkSync(outside, join(root, 'link'))
  symlinkSync(join(outside, 'secret.txt'), join(root, 'leak.txt'))
  symlinkSync(join(outside, 'not-there.txt'), join(root, 'dangling.txt'))
  const host = hostSection(root)
  return {
    ...host,
    root,
    outside,
    at: (path) => join(root, path),
    files: { context: host.section.context, at: placeAt('run/call#0') },
  }
}

function namesIn(folder: string): ReadonlySet<string> {
  return new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }))
}

function errorOf(work: () => unknown): BatonError {
  try {
    work()
  } catch (error) {
    if (error instanceof BatonError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** What was requested, without the random names of temporary files. */
function requests({ records }: Workspace): readonly unknown[] {
  return records.flatMap((record) => {
    if (record.k !== 'started') return []
    const { temp, ...request } = (record as unknown as { readonly request: FileChangeRecord }).request
    if (['write', 'copy'].includes(request.op)) expect(temp).toMatch(/^\.baton-[0-9a-f]{16}\.tmp$/)
    else if (temp !== undefined) expect(request.op).toBe('delete')
    return [request]
  })
}

describe('changes of files', () => {
  it('write new and existing files, create folders, and are recorded with both hashes', () => {
    const space = workspace({ 'a.txt': 'old' })
    saveFile(space.at('a.txt'), 'new', space.files)
    saveFile(space.at('deep/down/b.bin'), new Uint8Array([0, 255]), space.files)
    expect(readFileSync(space.at('a.txt'), 'utf8')).toBe('new')
    expect([...readFileSync(space.at('deep/down/b.bin'))]).toEqual([0, 255])
    expect(requests(space)).toEqual([
      { op: 'write', path: 'a.txt', before: sha256('old'), after: sha256('new') },
      { op: 'write', path: 'deep/down/b.bin', before: null, after: sha256(new Uint8Array([0, 255])) },
    ])
    expect(space.events).toEqual([
      { type: 'file.changed', op: 'write', path: 'a.txt' },
      { type: 'file.changed', op: 'write', path: 'deep/down/b.bin' },
    ])
  })

  it('append at the end, also many times', () => {
    const space = workspace()
    for (let index = 0; index < 100; index += 1) appendToFile(space.at('log/x.txt'), `${index}\n`, space.files)
    expect(readFileSync(space.at('log/x.txt'), 'utf8').split('\n')).toHaveLength(101)
    expect(requests(space).slice(0, 2)).toEqual([
      { op: 'append', path: 'log/x.txt', before: null, after: sha256('0\n'), offset: 0, bytes: 2 },
      { op: 'append', path: 'log/x.txt', before: null, after: sha256('1\n'), offset: 2, bytes: 2 },
    ])
  })

  it('copy a file, over another one only if configured', () => {
    const space = workspace({ 'a.txt': 'A', 'b.txt': 'B' })
    copyFile({ source: space.at('a.txt'), destination: space.at('new/c.txt'), overwrite: false }, space.files)
    const refused = errorOf(() =>
      copyFile({ source: space.at('a.txt'), destination: space.at('b.txt'), overwrite: false }, space.files),
    )
    expect(refused).toMatchObject({
      code: 'FILE_FAILED',
      message: 'b.txt already exists',
      hint: expect.stringContaining('overwrite'),
    })
    copyFile({ source: space.at('a.txt'), destination: space.at('b.txt'), overwrite: true }, space.files)
    expect(snapshot(space.root)).toMatchObject({ 'a.txt': 'A', 'b.txt': 'A', 'new/c.txt': 'A' })
    expect(requests(space)).toEqual([
      { op: 'copy', path: 'new/c.txt', from: 'a.txt', before: null, after: sha256('A') },
      { op: 'copy', path: 'b.txt', from: 'a.txt', before: sha256('B'), after: sha256('A') },
    ])
  })

  it('move files and folders, never into themselves', () => {
    const space = workspace({ 'a.txt': 'A', 'dir/x.txt': 'X', 'dir/sub/y.txt': 'Y' })
    moveEntry({ source: space.at('a.txt'), destination: space.at('to/a.txt'), overwrite: false }, space.files)
    moveEntry({ source: space.at('dir'), destination: space.at('moved'), overwrite: false }, space.files)
    expect(existsSync(space.at('dir'))).toBe(false)
    expect(readFileSync(space.at('moved/sub/y.txt'), 'utf8')).toBe('Y')
    expect(requests(space)).toEqual([
      { op: 'move', path: 'to/a.txt', from: 'a.txt', before: null, after: sha256('A') },
      { op: 'move', path: 'moved', from: 'dir', before: null, after: sha256('sub\nsub/y.txt\nx.txt') },
    ])
    const into = { source: space.at('moved'), destination: space.at('moved/inner/deep'), overwrite: true }
    expect(errorOf(() => moveEntry(into, space.files)).message).toContain('cannot be moved into itself')
    const missing = { source: space.at('none'), destination: space.at('x/y'), overwrite: false }
    expect(errorOf(() => moveEntry(missing, space.files)).message).toBe('there is no file none to move')
    expect([existsSync(space.at('moved/inner')), existsSync(space.at('x'))]).toEqual([false, false])
  })

  it('delete files, links without their targets, and folders with all their content', () => {
    const space = workspace({ 'a.txt': 'A', 'dir/x.txt': 'X', 'dir/sub/y.txt': 'Y' })
    symlinkSync('dir', space.at('alias'))
    symlinkSync(space.outside, space.at('dir/out'))
    expect(deleteEntry(space.at('a.txt'), space.files)).toBe(true)
    expect(deleteEntry(space.at('alias'), space.files)).toBe(true)
    expect(readFileSync(space.at('dir/x.txt'), 'utf8')).toBe('X')
    expect(deleteEntry(space.at('dir'), space.files)).toBe(true)
    expect(deleteEntry(space.at('dir'), space.files)).toBe(false)
    expect(readFileSync(join(space.outside, 'secret.txt'), 'utf8')).toBe('secret')
    expect(requests(space)).toEqual([
      { op: 'delete', path: 'a.txt', before: sha256('A'), after: null },
      { op: 'delete', path: 'alias', before: sha256('dir'), after: null },
      { op: 'delete', path: 'dir', before: sha256('out\nsub\nsub/y.txt\nx.txt'), after: null },
    ])
  })

  it('make folders', () => {
    const space = workspace({ file: '' })
    expect([makeFolder(space.at('a/b'), space.files), makeFolder(space.at('a/b'), space.files)]).toEqual([true, false])
    expect(errorOf(() => makeFolder(space.at('file'), space.files)).message).toBe('file exists and is not a folder')
    expect(requests(space)).toEqual([{ op: 'mkdir', path: 'a/b', before: null, after: sha256('') }])
  })

  it('fail as FILE_FAILED for errors of the disk, and leave nothing behind', () => {
    const space = workspace({ file: '', 'dir/x': '' })
    expect(errorOf(() => saveFile(space.at('dir'), 'x', space.files)).message).toBe('dir is a folder, not a file')
    for (const [op, change] of [
      ['write', () => saveFile(space.at('file/below'), 'x', space.files)],
      ['append', () => appendToFile(space.at('file/below'), 'x', space.files)],
      ['mkdir', () => makeFolder(space.at('file/below'), space.files)],
    ] as const) {
      expect(errorOf(change)).toMatchObject({
        code: 'FILE_FAILED',
        message: `${op} of file/below failed: ${space.at('file')} is not a folder`,
      })
    }
    expect(space.events).toEqual([])
    expect(readdirSync(space.root).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('keep the mode of a rewritten file', () => {
    const space = workspace({ 'run.sh': 'old' })
    chmodSync(space.at('run.sh'), 0o755)
    saveFile(space.at('run.sh'), 'new', space.files)
    expect(lstatSync(space.at('run.sh')).mode & 0o777).toBe(0o755)
  })
})

describe('paths that lead outside', () => {
  const outward = ['link/new.txt', 'link/secret.txt', 'leak.txt', 'dangling.txt', 'link/new/deep.txt']

  function ways(space: Workspace, path: string): readonly (() => unknown)[] {
    const call = space.files
    return [
      () => saveFile(path, 'x', call),
      () => appendToFile(path, 'x', call),
      () => copyFile({ source: space.at('a.txt'), destination: path, overwrite: true }, call),
      () => moveEntry({ source: space.at('a.txt'), destination: path, overwrite: true }, call),
      () => moveEntry({ source: path, destination: space.at('made/moved.txt'), overwrite: true }, call),
      () => deleteEntry(path, call),
      () => makeFolder(path, call),
    ]
  }

  it.each(outward)('%s is refused by the name of the link, and nothing changes, not even a folder', (path) => {
    const space = workspace({ 'a.txt': 'A' })
    const before = [namesIn(space.root), snapshot(space.outside)]
    for (const way of ways(space, space.at(path))) {
      expect(errorOf(way)).toMatchObject({
        code: 'OUTSIDE_WORKSPACE',
        message: `${path} leads outside the workspace through the link ${path.split('/')[0]}`,
        hint: expect.stringContaining(space.root),
      })
    }
    expect([namesIn(space.root), snapshot(space.outside)]).toEqual(before)
    expect([requests(space), space.events]).toEqual([[], []])
  })

  it('by climbing are refused too', () => {
    const space = workspace({ 'a.txt': 'A' })
    const before = [snapshot(space.root), snapshot(space.outside)]
    for (const path of [join(space.outside, 'secret.txt'), join(space.outside, 'new/x.txt')]) {
      for (const way of ways(space, path)) {
        expect(errorOf(way)).toMatchObject({
          code: 'OUTSIDE_WORKSPACE',
          message: `${path} is outside the workspace ${space.root}`,
        })
      }
    }
    expect([snapshot(space.root), snapshot(space.outside)]).toEqual(before)
  })

  it('can be read and copied from, also through links', () => {
    const space = workspace({ 'a.txt': 'A' })
    for (const path of [space.at('link/secret.txt'), space.at('leak.txt'), join(space.outside, 'secret.txt')]) {
      expect([readText(path, space.files.context), fileStatus(path, space.files.context)?.size]).toEqual(['secret', 6])
      copyFile({ source: path, destination: space.at('made/copy.txt'), overwrite: true }, space.files)
      expect(readFileSync(space.at('made/copy.txt'), 'utf8')).toBe('secret')
    }
  })

  it('include the folder of git and the workspace itself, which are never changed', () => {
    const space = workspace({ '.git/config': 'x', 'a.txt': 'A' })
    for (const way of ways(space, space.at('.git/config')).slice(0, 3)) {
      expect(errorOf(way)).toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('belongs to git') })
    }
    expect(errorOf(() => deleteEntry(space.root, space.files)).message).toContain('is the workspace itself')
    expect(readFileSync(space.at('.git/config'), 'utf8')).toBe('x')
  })

  it('do not include links that stay inside, which are written through', () => {
    const space = workspace({ 'a.txt': 'A' })
    symlinkSync('a.txt', space.at('alias.txt'))
    saveFile(space.at('alias.txt'), 'new', space.files)
    expect([lstatSync(space.at('alias.txt')).isSymbolicLink(), readFileSync(space.at('a.txt'), 'utf8')]).toEqual([
      true,
      'new',
    ])
    expect(requests(space)).toEqual([{ op: 'write', path: 'a.txt', before: sha256('A'), after: sha256('new') }])
  })

  it('do not include circular links, which are an error', () => {
    const space = workspace()
    symlinkSync('two', space.at('one'))
    symlinkSync('one', space.at('two'))
    expect(errorOf(() => readText(space.at('one'), space.section.context))).toMatchObject({
      code: 'FILE_FAILED',
      message: 'one cannot be used: its links form a loop',
    })
  })
})

describe('reads', () => {
  it('return text with its byte order mark, and bytes', () => {
    const space = workspace({ 'a.txt': '\uFEFFé😀\0', empty: '' })
    expect(readText(space.at('a.txt'), space.section.context)).toBe('\uFEFFé😀\0')
    expect(readText(space.at('empty'), space.section.context)).toBe('')
    expect(readBytes(space.at('a.txt'), space.section.context)).toHaveLength(10)
  })

  it('refuse a missing file, a folder, and invalid UTF-8, and never wait for a pipe', () => {
    const space = workspace({ 'x.bin': new Uint8Array([0x61, 0xff]) })
    mkdirSync(space.at('dir'))
    spawnSync('sh', ['-c', 'mkfifo "$0"', space.at('pipe')])
    const { context } = space.section
    expect(errorOf(() => readText(space.at('none'), context)).message).toBe('there is no file none')
    expect(errorOf(() => readText(space.at('dir'), context)).message).toBe('dir is a folder, not a file')
    expect(errorOf(() => readText(space.at('x.bin'), context)).message).toBe('x.bin is not UTF-8 text')
    expect(errorOf(() => readText(space.at('pipe'), context)).message).toBe('pipe is a device or pipe, not a file')
    expect(errorOf(() => appendToFile(space.at('pipe'), 'x', space.files)).message).toBe(
      'pipe is a device or pipe, not a file',
    )
  })

  it('return times in whole microseconds', () => {
    const space = workspace()
    writeFileSync(space.at('a'), 'abc')
    const status = fileStatus(space.at('a'), space.section.context)
    expect(status).toMatchObject({ kind: 'file', size: 3 })
    expect(Number.isSafeInteger(status?.modified)).toBe(true)
    expect(Math.abs((status?.modified ?? 0) / 1000 - lstatSync(space.at('a')).mtimeMs)).toBeLessThan(1)
    expect(fileStatus(space.at('a/b'), space.section.context)).toBeUndefined()
  })
})
