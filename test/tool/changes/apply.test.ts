import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { applyChanges, type ChangeItem } from '../../../src/tool/changes/plan.ts'
import { createTextThread } from '../../../src/tool/changes/text-thread.ts'
import type { Directive } from '../../../src/tool/changes/directive.ts'
import { testContext, type TestContext } from '../../helpers/context.ts'
import { tempTree } from '../../helpers/temp.ts'
import { placeAt } from '../../helpers/effects.ts'

interface Applied {
  readonly root: string
  readonly context: TestContext
  readonly apply: (...directives: readonly Directive[]) => Promise<readonly ChangeItem[]>
  readonly read: (path: string) => string
}

function workspace(files: { readonly [path: string]: string | Uint8Array }, base = '.'): Applied {
  const root = tempTree(files)
  const context = testContext({ workspace: root })
  return {
    root,
    context,
    apply: (...directives) =>
      applyChanges(
        directives,
        { baseDir: join(root, base), thread: createTextThread(context.services.signal) },
        { context, at: placeAt('call#0') },
      ),
    read: (path) => readFileSync(join(root, path), 'utf8'),
  }
}

describe('applyChanges', () => {
  it('applies, records and reports every kind of change', async () => {
    const { apply, read, root, context } = workspace({ a: 'x\n', b: 'y\n', c: 'z', 'd/e': '' })
    const items = await apply(
      { kind: 'New', filePath: 'deep/new.txt', content: 'é\n' },
      { kind: 'Patch', filePath: 'a', content: '@@\n-x\n+X\n' },
      { kind: 'Append', filePath: 'c', content: '+\n' },
      { kind: 'Copy', fromPath: 'b', filePath: 'copies/b' },
      { kind: 'Rename', fromPath: 'b', filePath: 'moved/b' },
      { kind: 'Delete', filePath: 'd' },
    )
    expect(items).toEqual([
      { filePath: 'deep/new.txt', kind: 'New', isSuccess: true },
      { filePath: 'a', kind: 'Patch', isSuccess: true },
      { filePath: 'c', kind: 'Append', isSuccess: true },
      { filePath: 'copies/b', fromPath: 'b', kind: 'Copy', isSuccess: true },
      { filePath: 'moved/b', fromPath: 'b', kind: 'Rename', isSuccess: true },
      { filePath: 'd', kind: 'Delete', isSuccess: true },
    ])
    expect(['deep/new.txt', 'a', 'c', 'copies/b', 'moved/b'].map(read)).toEqual(['é\n', 'X\n', 'z+\n', 'y\n', 'y\n'])
    expect([existsSync(join(root, 'b')), existsSync(join(root, 'd'))]).toEqual([false, false])
    expect(context.sent.map((event) => ('op' in event ? event.op : ''))).toEqual([
      'write',
      'write',
      'append',
      'copy',
      'move',
      'delete',
    ])
    const started = context.records.filter(({ k }) => k === 'started').map((record) => ('p' in record ? record.p : ''))
    expect(started).toEqual([0, 1, 2, 3, 4, 5].map((number) => `call#0/${number}`))
  })

  it('writes the matching hunks, and reports the others', async () => {
    const { apply, read } = workspace({ a: 'x\ny\n' })
    expect(await apply({ kind: 'Patch', filePath: 'a', content: '@@\n-x\n+X\n@@\n-none\n+Y\n' })).toEqual([
      {
        filePath: 'a',
        kind: 'Patch',
        isSuccess: false,
        error: '1 of 2 hunks failed: its context and removed lines are not in the file',
        failedHunks: [{ body: '@@\n-none\n+Y', cause: 'its context and removed lines are not in the file' }],
      },
    ])
    expect(read('a')).toBe('X\ny\n')
  })

  it('continues after a failed change', async () => {
    const { apply, read } = workspace({ a: 'x', dir: '', 'folder/f': '', bin: new Uint8Array([0xff, 0xfe, 0]) })
    const items = await apply(
      { kind: 'New', filePath: 'a', content: 'x' },
      { kind: 'New', filePath: 'folder', content: 'x' },
      { kind: 'New', filePath: 'a/b/c', content: 'x' },
      { kind: 'Patch', filePath: 'bin', content: '@@\n-x\n' },
      { kind: 'Copy', fromPath: 'none', filePath: 'b' },
      { kind: 'Copy', fromPath: 'folder', filePath: 'b' },
      { kind: 'Rename', fromPath: 'none', filePath: 'b' },
      { kind: 'Rename', fromPath: 'a', filePath: './a' },
      { kind: 'Rename', fromPath: 'a', filePath: 'folder' },
      { kind: 'Delete', filePath: 'none' },
      { kind: 'Delete', filePath: '.' },
      { kind: 'Fail', fault: 'malformed', filePath: 'unknown', reason: 'why', hunks: [] },
      { kind: 'New', filePath: 'last', content: 'done' },
    )
    expect(items.map(({ kind, isSuccess, error }) => (isSuccess ? kind : `${kind}: ${error}`))).toEqual([
      'New: the file already has exactly this content',
      'New: folder is a folder, not a file',
      'New: a/b/c cannot be written, because a part of its path is a file',
      'Patch: bin is not UTF-8 text',
      'Copy: there is no file none',
      'Copy: folder is a folder, not a file',
      'Rename: there is no file none',
      'Rename: from_path and to_path are both ./a',
      'Rename: folder already exists',
      'Delete: there is no file none to delete',
      'Delete: . is the base folder itself',
      'Fail: why',
      'New',
    ])
    expect(read('last')).toBe('done')
  })

  it('copies and moves bytes, also over an existing file', async () => {
    const bytes = new Uint8Array([0xff, 0, 0xfe])
    const { apply, root } = workspace({ bin: bytes, b: 'b', c: 'c' })
    expect(
      await apply({ kind: 'Copy', fromPath: 'bin', filePath: 'b' }, { kind: 'Rename', fromPath: 'b', filePath: 'c' }),
    ).toMatchObject([{ isSuccess: true }, { isSuccess: true }])
    expect(new Uint8Array(readFileSync(join(root, 'c')))).toEqual(bytes)
  })

  it('changes nothing outside of the base folder', async () => {
    const { apply, root } = workspace({ 'base/in': 'x', out: 'x', '.git/config': 'x' }, 'base')
    const outside = tempTree({ secret: 'secret' })
    symlinkSync(outside, join(root, 'base/link'))
    symlinkSync(root, join(root, 'base/up'))
    const write = (filePath: string): Directive => ({ kind: 'New', filePath, content: 'y' })
    const items = await apply(
      write('../out'),
      write('a/../../out'),
      write(join(root, 'out')),
      write(join(outside, 'secret')),
      write('~/x'),
      write('link/secret'),
      write('link/new'),
      write('up/out'),
      { kind: 'Delete', filePath: '../out' },
      { kind: 'Delete', filePath: 'link/secret' },
      { kind: 'Copy', fromPath: '../out', filePath: 'got' },
      { kind: 'Copy', fromPath: 'link/secret', filePath: 'got' },
      { kind: 'Rename', fromPath: 'in', filePath: '../moved' },
      { kind: 'Rename', fromPath: '../out', filePath: 'got' },
    )
    expect(items.filter(({ isSuccess }) => isSuccess)).toEqual([])
    expect(items[0]?.error).toBe('../out leads out of base')
    expect(readFileSync(join(root, 'out'), 'utf8')).toBe('x')
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
    expect(
      [join(root, 'base/got'), join(root, 'moved'), join(outside, 'new'), join(root, 'base/~')].filter(existsSync),
    ).toEqual([])
  })

  it('accepts absolute paths inside the base folder and refuses protected ones', async () => {
    const { apply, root, read } = workspace({ '.git/config': 'x' })
    expect(
      await apply(
        { kind: 'New', filePath: join(root, 'abs'), content: 'y' },
        { kind: 'Append', filePath: '.git/config', content: 'y' },
      ),
    ).toMatchObject([{ isSuccess: true }, { kind: 'Append', isSuccess: false }])
    expect([read('abs'), read('.git/config')]).toEqual(['y', 'x'])
  })

  it('reports a base folder outside of the workspace for each change', async () => {
    const { apply } = workspace({}, '..')
    expect(await apply({ kind: 'New', filePath: 'x', content: 'y' })).toMatchObject([{ kind: 'New', isSuccess: false }])
  })

  it('stops when the run is aborted', async () => {
    const root = tempTree({})
    const context = testContext({ workspace: root, signal: AbortSignal.abort(new Error('stop')) })
    await expect(
      applyChanges(
        [{ kind: 'New', filePath: 'x', content: 'y' }],
        { baseDir: root, thread: createTextThread(context.services.signal) },
        { context, at: placeAt('call') },
      ),
    ).rejects.toThrow('stop')
    expect(existsSync(join(root, 'x'))).toBe(false)
  })
})
