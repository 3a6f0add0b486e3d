import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { fileModule } from '../../../src/script/host/file.ts'
import { udiffxModule } from '../../../src/script/host/udiffx.ts'
import { tempTree } from '../../helpers/temp.ts'
import { callFunction, hostSection, type HostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

interface ChangeHost extends HostSection {
  readonly root: string
  readonly apply: (...args: readonly LuaValue[]) => Promise<readonly LuaValue[]>
  readonly context: (...args: readonly LuaValue[]) => LuaValue
  readonly save: (...args: readonly LuaValue[]) => Promise<readonly LuaValue[]>
  readonly read: (path: string) => string
}

function changeHost(files: { readonly [path: string]: string | Uint8Array } = {}): ChangeHost {
  const root = tempTree(files)
  const host = hostSection(root)
  return {
    ...host,
    root,
    apply: async (...args) => callFunction({ module: udiffxModule, name: 'apply_file_changes' }, args, host.section),
    context: (...args) => host.call(udiffxModule, 'load_files_context', ...args)[0],
    save: async (...args) => callFunction({ module: fileModule, name: 'save_changes' }, args, host.section),
    read: (path) => readFileSync(join(root, path), 'utf8'),
  }
}

function container(...items: readonly string[]): string {
  return `<FILE_CHANGES>\n${items.join('\n')}\n</FILE_CHANGES>`
}

function directive(name: string, path: string, content: string): string {
  return `<${name} file_path="${path}">\n${content}\n</${name}>`
}

const greet = 'function greet() {\n  return 1;\n}\nmodule.exports = { greet };\n'

describe('aip.udiffx.apply_file_changes', () => {
  it('applies the answer of a coder and returns the rest of the text (P01)', async () => {
    const { apply, read } = changeHost({ 'src/a.js': greet })
    const hunks =
      '@@\n-function greet() {\n+function hello() {\n   return 1;\n@@\n-module.exports = { greet };\n+module.exports = { hello };'
    const answer = `Some explanation.\n\n${container(directive('FILE_PATCH', 'src/a.js', hunks), directive('FILE_NEW', 'CHANGELOG.md', '# Changelog'))}\n\nDone.`
    expect(await apply(answer, undefined, { extrude: 'content' })).toEqual([
      {
        success: true,
        total_count: 2,
        success_count: 2,
        fail_count: 0,
        items: [
          { file_path: 'src/a.js', kind: 'Patch', success: true },
          { file_path: 'CHANGELOG.md', kind: 'New', success: true },
        ],
      },
      'Some explanation.\n\n\n\nDone.',
    ])
    expect(read('src/a.js')).toBe(greet.replaceAll('greet', 'hello'))
    expect(read('CHANGELOG.md')).toBe('# Changelog\n')
  })

  it('reports the failed hunk and keeps the other changes (P05, P08)', async () => {
    const { apply, read } = changeHost({ 'src/a.js': greet })
    const hunk = '@@\n zzz_no_such_context_alpha\n-  return 7;\n+  return 2;'
    const answer = container(directive('FILE_PATCH', 'src/a.js', hunk), directive('FILE_NEW', 'src/b.js', 'b'))
    const cause = 'its context and removed lines are not in the file'
    expect(await apply(answer)).toEqual([
      {
        success: false,
        total_count: 2,
        success_count: 1,
        fail_count: 1,
        items: [
          {
            file_path: 'src/a.js',
            kind: 'Patch',
            success: false,
            error_msg: `1 of 1 hunks failed: ${cause}`,
            error_hunks: [{ hunk_body: `${hunk}\n`, cause }],
          },
          { file_path: 'src/b.js', kind: 'New', success: true },
        ],
      },
    ])
    expect([read('src/a.js'), read('src/b.js')]).toEqual([greet, 'b\n'])
  })

  it('appends to a file without final newline literally (P06)', async () => {
    const { apply, read } = changeHost({ 'src/a.js': 'a' })
    await apply(container(directive('FILE_APPEND', 'src/a.js', '+')))
    expect(read('src/a.js')).toBe('a+\n')
  })

  it('names the new path of copies and renames, and errors in the answer', async () => {
    const { apply } = changeHost({ a: '' })
    const answer = `[[[FILE_CHANGES]]]\n[[[FILE_COPY from_path="a" to_path="b" /]]]\n[[[FILE_RENAME from_path="a" to_path="c" /]]]\n[[[FILE_NEW file_path="d"]]]\n`
    expect((await apply(answer))[0]).toMatchObject({
      total_count: 4,
      fail_count: 2,
      items: [
        { file_path: 'b', kind: 'Copy', success: true },
        { file_path: 'c', kind: 'Rename', success: true },
        { file_path: 'd', kind: 'Fail', error_msg: 'FILE_NEW is never closed with [[[/FILE_NEW]]]' },
        { file_path: 'unknown', kind: 'Fail' },
      ],
    })
  })

  it('succeeds with nothing to do', async () => {
    const nothing = { success: true, total_count: 0, success_count: 0, fail_count: 0, items: [] }
    const { apply } = changeHost()
    expect(await apply('')).toEqual([nothing])
    expect(await apply('Just text.', null, { extrude: 'content' })).toEqual([nothing, 'Just text.'])
    expect(await apply(container(), '', {})).toEqual([nothing])
  })

  it('uses the base folder, and stays inside', async () => {
    const { apply, root, read } = changeHost({ 'lib/x': '' })
    const answer = container(directive('FILE_NEW', 'a.txt', 'A'), directive('FILE_NEW', '../b.txt', 'B'))
    for (const base of ['lib', './lib/', join(root, 'lib')]) {
      await apply(container('<FILE_DELETE file_path="a.txt"/>'), base)
      expect((await apply(answer, base))[0]).toMatchObject({
        success_count: 1,
        items: [{ success: true }, { kind: 'New', error_msg: '../b.txt leads out of lib' }],
      })
    }
    expect([read('lib/a.txt'), existsSync(join(root, 'b.txt'))]).toEqual(['A\n', false])
    expect((await apply(answer, '..'))[0]).toMatchObject({ success_count: 0 })
  })

  it('refuses wrong arguments', async () => {
    const { apply } = changeHost()
    await expect(apply()).rejects.toThrow('aip.udiffx.apply_file_changes: the content must be a string, but was nil')
    await expect(apply({})).rejects.toThrow('the content must be a string or nil, but was table')
    await expect(apply('', {})).rejects.toThrow('the base folder must be a string or nil, but was table')
    await expect(apply('', undefined, 'content')).rejects.toThrow('the options must be a table, but were string')
    await expect(apply('', undefined, { extrude: 'all' })).rejects.toThrow(
      'the option extrude must be "content", but was "all"',
    )
  })

  it('records its observations and changes below the place of the call', async () => {
    const { apply, records } = changeHost({ a: 'x\n' })
    await apply(container(directive('FILE_PATCH', 'a', '@@\n-x\n+y'), '<FILE_DELETE file_path="none"/>'))
    expect(records.map((record) => [record.k, 'p' in record ? record.p : ''])).toEqual([
      ['obs', 'call/0/plan'],
      ['started', 'call/0'],
      ['ended', 'call/0'],
      ['obs', 'call/1/plan'],
    ])
  })

  it('handles unicode and large files', async () => {
    const lines = Array.from({ length: 50_000 }, (_, n) => `Zeile ${n} ü\n`)
    const { apply, read } = changeHost({ 'große datei.txt': lines.join('') })
    const patch = '@@\n Zeile 49998 ü\n-Zeile 49999 ü\n+Ende 👋'
    expect((await apply(container(directive('FILE_PATCH', 'große datei.txt', patch))))[0]).toMatchObject({
      success: true,
    })
    expect(read('große datei.txt').endsWith('Zeile 49998 ü\nEnde 👋\n')).toBe(true)
  })

  it('is available in scripts', async () => {
    const host = changeHost({ a: 'x\n' })
    const code = `
      local status, rest = aip.udiffx.apply_file_changes(answer, nil, { extrude = "content" })
      return { status.success, #status.items, status.items[1].error_msg == nil, status.items[2].error_hunks[1].hunk_body,
        rest, type(aip.udiffx.file_changes_instruction()), tostring(aip.udiffx.load_files_context({"none/*"})),
        #aip.udiffx.apply_file_changes("").items }`
    const answer = `Hi\n${container(directive('FILE_NEW', 'b', 'B'), directive('FILE_PATCH', 'a', '@@\n-z'))}`
    expect(await runLua(host, code, { answer })).toEqual([false, 2, true, '@@\n-z\n', 'Hi\n', 'string', 'nil', 0])
  })
})

describe('aip.udiffx.load_files_context', () => {
  it('puts each file into a block, in the order of the globs', () => {
    const { context } = changeHost({ 'src/b.ts': 'b', 'src/a.ts': 'a\n', 'empty.md': '' })
    expect(context(['*.md', 'src/*.ts'])).toBe(
      '<FILE_CONTENT path="empty.md">\n\n</FILE_CONTENT>\n\n<FILE_CONTENT path="src/a.ts">\na\n</FILE_CONTENT>\n\n<FILE_CONTENT path="src/b.ts">\nb\n</FILE_CONTENT>\n',
    )
    expect(context('src/a.ts')).toBe('<FILE_CONTENT path="src/a.ts">\na\n</FILE_CONTENT>\n')
  })

  it('uses paths relative to the base folder, or absolute ones', () => {
    const { context, root } = changeHost({ 'src/ä.ts': 'ü' })
    expect(context('*.ts', { base_dir: 'src' })).toContain('path="ä.ts"')
    expect(context('src/*.ts', { absolute: true })).toContain(`path="${join(root, 'src/ä.ts')}"`)
  })

  it('returns nil when nothing matches', () => {
    const { context } = changeHost({ a: '' })
    expect([context('*.ts'), context([]), context({})]).toEqual([undefined, undefined, undefined])
  })

  it('refuses wrong arguments and files that are not text', () => {
    const { context } = changeHost({ bin: new Uint8Array([0xff]) })
    expect(() => context()).toThrow('aip.udiffx.load_files_context: the globs must be a string or a list of strings')
    expect(() => context([true])).toThrow('the globs[1] must be a string, but was boolean')
    expect(() => context('*', 'x')).toThrow('the options must be a table, but were string')
    expect(() => context('*', { base_dir: {} })).toThrow('aip.udiffx.load_files_context: the option base_dir')
    expect(() => context('bin')).toThrow('bin is not UTF-8 text')
  })
})

describe('aip.udiffx.file_changes_instruction', () => {
  it('returns the text that explains the format of changes to a model', async () => {
    const { wait } = changeHost()
    expect(await wait(udiffxModule, 'file_changes_instruction')).toContain('<FILE_CHANGES>')
  })
})

describe('aip.file.save_changes', () => {
  const two = '<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nfour\n=======\n4\n>>>>>>> REPLACE\n'

  it('saves the result of the blocks for a file, and returns failures (vector 58)', async () => {
    const { save, read } = changeHost({ 'a.txt': 'one two three' })
    expect(await save('a.txt', two)).toEqual([
      expect.objectContaining({ _type: 'FileInfo', path: 'a.txt', size: 11 }),
      {
        changed_count: 1,
        failed_changes: [{ search: 'four', replace: '4', reason: 'Search block not found in content' }],
      },
    ])
    expect(read('a.txt')).toBe('one 2 three')
  })

  it('omits failed_changes when all were applied', async () => {
    const { save } = changeHost({ 'a.txt': 'two four' })
    expect((await save('a.txt', two))[1]).toEqual({ changed_count: 2 })
  })

  it('saves text without blocks as the whole file, which may be new (vector 56)', async () => {
    const { save, read } = changeHost({ 'a.txt': 'old' })
    expect((await save('a.txt', 'new ü'))[1]).toEqual({ changed_count: 1 })
    await save('deep/b.txt', 'b')
    expect([read('a.txt'), read('deep/b.txt')]).toEqual(['new ü', 'b'])
  })

  it('starts a new file from blocks with an empty search, and refuses others', async () => {
    const { save, read, root } = changeHost()
    await save('new.txt', '<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n')
    expect(read('new.txt')).toBe('hello')
    await expect(save('none.txt', two)).rejects.toThrow('there is no file none.txt to change')
    expect(existsSync(join(root, 'none.txt'))).toBe(false)
  })

  it('changes nothing when the blocks cannot be parsed, or the path is refused', async () => {
    const { save, read } = changeHost({ 'a.txt': 'two', 'dir/x': '' })
    await expect(save('a.txt', `text\n${two}`)).rejects.toThrow('line 1 is outside a block: text')
    expect(read('a.txt')).toBe('two')
    await expect(save('../a.txt', 'x')).rejects.toThrow('is outside the workspace')
    await expect(save('dir', 'x')).rejects.toThrow('dir is a folder, not a file')
    await expect(save(undefined, 'x')).rejects.toThrow('aip.file.save_changes: the path must be a string, but was nil')
    await expect(save('a.txt')).rejects.toThrow('aip.file.save_changes: the changes must be a string, but was nil')
    await expect(save('a.txt', {})).rejects.toThrow('the changes must be a string or nil, but was table')
  })
})
