import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { fileModule } from '../../../src/script/host/file.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection, type HostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

interface FileHost extends HostSection {
  readonly root: string
  readonly file: (name: string, ...args: readonly LuaValue[]) => LuaValue
}

function fileHost(files: { readonly [path: string]: string | Uint8Array } = {}): FileHost {
  const root = tempTree(files)
  const host = hostSection(root)
  return { ...host, root, file: (name, ...args) => host.call(fileModule, name, ...args)[0] }
}

/** As scripts see an absolute path. */
function shown(path: string): string {
  return path.startsWith(`${homedir()}/`) ? `~${path.slice(homedir().length)}` : path
}

const time = expect.any(Number)

describe('aip.file.load', () => {
  it('returns a record with the given path', () => {
    const { file } = fileHost({ 'docs/read.me.md': 'Grüße\n' })
    expect(file('load', './docs/read.me.md')).toEqual({
      _type: 'FileRecord',
      path: './docs/read.me.md',
      dir: './docs',
      name: 'read.me.md',
      stem: 'read.me',
      ext: 'md',
      ctime: time,
      mtime: time,
      size: 8,
      is_likely_text: true,
      content: 'Grüße\n',
    })
    expect(file('load', 'read.me.md', { base_dir: 'docs' })).toMatchObject({
      path: 'read.me.md',
      dir: '',
      content: 'Grüße\n',
    })
  })

  it('returns times in whole microseconds, with ctime equal to mtime', () => {
    const { file } = fileHost({ a: '' })
    const { ctime, mtime } = file('load', 'a') as { readonly ctime: number; readonly mtime: number }
    expect([ctime, Number.isSafeInteger(mtime)]).toEqual([mtime, true])
    expect(Math.abs(mtime / 1000 - Date.now())).toBeLessThan(600_000)
  })

  it('refuses a missing file, a folder, bytes and nil', () => {
    const { file } = fileHost({ 'dir/x': '', 'b.png': new Uint8Array([0xff, 0xd8]) })
    expect(() => file('load', 'none.md')).toThrow('there is no file none.md')
    expect(() => file('load', 'dir')).toThrow('dir is a folder, not a file')
    expect(() => file('load', 'b.png')).toThrow('b.png is not UTF-8 text')
    expect(() => file('load', undefined)).toThrow('aip.file.load: the path must be a string, but was nil')
    expect(() => file('load', 'x', { base_dir: '/etc' })).toThrow('there is no file /etc/x')
    expect(() => file('load', 'x', 'base')).toThrow('the options must be a table, but were string')
    expect(() => file('load', 'ns@pack/x.md')).toThrow('No aipack matches for ns@pack/x.md')
  })

  it('loads large files', () => {
    const { file } = fileHost({ 'big.txt': 'x'.repeat(5_000_000) })
    expect((file('load', 'big.txt') as { readonly content: string }).content).toHaveLength(5_000_000)
  })
})

describe('aip.file.save', () => {
  it.each([
    [{ trim_start: true }, '   Lead.\n', 'Lead.\n'],
    [{ trim_end: true }, 'x.   \n\t', 'x.'],
    [{ single_trailing_newline: true }, 'x', 'x\n'],
    [{ single_trailing_newline: true }, 'x\n\n\n', 'x\n'],
    [{ trim_start: true, trim_end: true, single_trailing_newline: true }, '   x.  \n\n', 'x.\n'],
    [undefined, '  x \n\n', '  x \n\n'],
    [{}, '', ''],
  ])('with %j', (options, content, expected) => {
    const { file, root } = fileHost()
    file('save', 'out/x.txt', content, options)
    expect(readFileSync(join(root, 'out/x.txt'), 'utf8')).toBe(expected)
  })

  it('returns the absolute path, writes bytes unchanged, and numbers as text', () => {
    const { file, root } = fileHost()
    expect(file('save', 'a.bin', new Uint8Array([0, 0xff]))).toEqual({
      _type: 'FileInfo',
      path: shown(join(root, 'a.bin')),
      dir: shown(root),
      name: 'a.bin',
      stem: 'a',
      ext: 'bin',
      ctime: time,
      mtime: time,
      size: 2,
      is_likely_text: false,
    })
    file('save', 'n.txt', 42)
    expect(readFileSync(join(root, 'n.txt'), 'utf8')).toBe('42')
  })

  it('refuses wrong arguments', () => {
    const { file } = fileHost()
    expect(() => file('save', 'x', undefined)).toThrow('aip.file.save: the content must be a string, but was nil')
    expect(() => file('save', 'x', { a: 1 })).toThrow('the content must be a string or nil, but was table')
    expect(() => file('save', 'x', 'y', { trim_end: 'yes' })).toThrow('the option trim_end must be true or false')
    expect(() => file('save', 5, 'y')).not.toThrow()
  })
})

describe('the other changes', () => {
  it('append creates and adds', () => {
    const { file, root } = fileHost()
    expect(file('append', 'logs/a.log', 'one\n')).toMatchObject({ size: 4 })
    expect(file('append', 'logs/a.log', 'two\n')).toMatchObject({ size: 8, path: shown(join(root, 'logs/a.log')) })
    expect(() => file('append', 'logs/a.log', undefined)).toThrow('the content must be a string, but was nil')
  })

  it('copy and move return the destination as given', () => {
    const { file, root } = fileHost({ 'a.txt': 'A', 'b.txt': 'B' })
    expect(file('copy', 'a.txt', 'new/c.txt')).toMatchObject({
      _type: 'FileInfo',
      path: 'new/c.txt',
      dir: 'new',
      size: 1,
    })
    expect(() => file('copy', 'a.txt', 'b.txt')).toThrow('b.txt already exists')
    expect(file('move', 'a.txt', 'b.txt', { overwrite: true })).toMatchObject({ path: 'b.txt' })
    expect([existsSync(join(root, 'a.txt')), readFileSync(join(root, 'b.txt'), 'utf8')]).toEqual([false, 'A'])
    expect(() => file('move', 'a.txt', 'c.txt')).toThrow('there is no file a.txt to move')
    expect(() => file('copy', 'none', 'c.txt')).toThrow('there is no file none')
    expect(() => file('copy', 'b.txt', undefined)).toThrow('the destination must be a string, but was nil')
  })

  it('delete removes files and whole folders, and returns whether there was something', () => {
    const { file, root } = fileHost({ 'dir/a/b.txt': '', 'x.txt': '' })
    expect([file('delete', 'dir/'), file('delete', 'x.txt'), file('delete', 'x.txt')]).toEqual([true, true, false])
    expect(existsSync(join(root, 'dir'))).toBe(false)
    expect(() => file('delete', '.')).toThrow('is the workspace itself')
  })

  it('ensure_exists writes only a missing file, or an empty one if configured', () => {
    const { file, root } = fileHost({ 'full.md': 'F', 'empty.md': ' \n\t' })
    const content = (name: string): string => readFileSync(join(root, name), 'utf8')
    expect(file('ensure_exists', 'new/x.md', 'N')).toMatchObject({ path: 'new/x.md', size: 1 })
    file('ensure_exists', 'nothing.md')
    file('ensure_exists', 'full.md', 'N', { content_when_empty: true })
    file('ensure_exists', 'empty.md', 'N')
    expect([content('new/x.md'), content('nothing.md'), content('full.md'), content('empty.md')]).toEqual([
      'N',
      '',
      'F',
      ' \n\t',
    ])
    file('ensure_exists', 'empty.md', 'N', { content_when_empty: true })
    expect(content('empty.md')).toBe('N')
  })

  it('ensure_dir returns whether it created the folder', () => {
    const { file } = fileHost({ 'a.txt': '' })
    expect([file('ensure_dir', 'x/y'), file('ensure_dir', 'x/y'), file('ensure_dir', 'x')]).toEqual([
      true,
      false,
      false,
    ])
    expect(() => file('ensure_dir', 'a.txt')).toThrow('a.txt exists and is not a folder')
  })

  it('become file events', () => {
    const { file, events } = fileHost({ 'a.txt': '' })
    file('save', 'b.txt', 'x')
    file('append', 'b.txt', 'x')
    file('copy', 'a.txt', 'c.txt')
    file('move', 'a.txt', 'd.txt')
    file('delete', 'd.txt')
    file('ensure_dir', 'e')
    file('ensure_dir', 'e')
    expect(events.map((event) => (event.type === 'file.changed' ? `${event.op} ${event.path}` : event.type))).toEqual([
      'write b.txt',
      'append b.txt',
      'copy c.txt',
      'move d.txt',
      'delete d.txt',
      'mkdir e',
    ])
  })
})

describe('aip.file.exists and info', () => {
  it('exists includes folders and never fails', () => {
    const { file, root } = fileHost({ 'd/a.txt': '' })
    symlinkSync('/etc', join(root, 'out'))
    const paths = [
      'd',
      'd/',
      './d/..',
      'd/a.txt',
      'd/none',
      'out/passwd',
      '/etc/passwd',
      '../',
      'ns@pack/x',
      '$tmp/x',
      '',
    ]
    expect(paths.filter((path) => file('exists', path))).toEqual([
      'd',
      'd/',
      './d/..',
      'd/a.txt',
      'out/passwd',
      '/etc/passwd',
      '../',
      '',
    ])
    expect(() => file('exists', undefined)).toThrow('the path must be a string, but was nil')
  })

  it('info is nil for nil, an empty string, missing files and folders', () => {
    const { file, root } = fileHost({ 'd/a.txt': 'abc' })
    expect([undefined, '', '  ', 'none', 'd', 'd/a.txt/x'].map((path) => file('info', path))).toEqual(
      Array(6).fill(undefined),
    )
    expect(file('info', './d/a.txt')).toEqual({
      _type: 'FileInfo',
      path: './d/a.txt',
      dir: './d',
      name: 'a.txt',
      stem: 'a',
      ext: 'txt',
      ctime: time,
      mtime: time,
      size: 3,
      is_likely_text: true,
    })
    expect(file('info', join(root, 'd/a.txt'))).toMatchObject({ path: shown(join(root, 'd/a.txt')) })
  })
})

describe('lists', () => {
  const tree = {
    'main.aip': 'M',
    'sub-dir-a/a.aip': 'A',
    'sub-dir-a/b.md': 'BB',
    'sub-dir-a/deep/c.txt': 'CCC',
    'node_modules/x.aip': '',
    '.git/x.aip': '',
  }

  it('list returns paths relative to the workspace or to base_dir, or absolute ones', () => {
    const { file, root } = fileHost(tree)
    const paths = (...args: readonly LuaValue[]): unknown =>
      (file('list', ...args) as readonly { readonly path: string }[]).map(({ path }) => path)
    expect(paths(['**/*.aip', '!sub-dir-a/**/*.aip'], { absolute: true })).toEqual([shown(join(root, 'main.aip'))])
    expect(paths(['**/*.*'], { base_dir: 'sub-dir-a' })).toEqual(['a.aip', 'b.md', 'deep/c.txt'])
    expect(paths('**/*.aip')).toEqual(['main.aip', 'sub-dir-a/a.aip'])
    expect(paths(['**/*.{md,txt}', 'sub-dir-a/a.aip', 'none'])).toEqual([
      'sub-dir-a/b.md',
      'sub-dir-a/deep/c.txt',
      'sub-dir-a/a.aip',
    ])
    expect(paths(['**'], { base_dir: join(root, 'none') })).toEqual([])
    expect(paths({})).toEqual([])
  })

  it('list returns file infos, list_load adds the content', () => {
    const { file } = fileHost(tree)
    const info = {
      path: 'sub-dir-a/b.md',
      dir: 'sub-dir-a',
      name: 'b.md',
      stem: 'b',
      ext: 'md',
      ctime: time,
      mtime: time,
      size: 2,
      is_likely_text: true,
    }
    expect(file('list', '**/*.md')).toEqual([{ _type: 'FileInfo', ...info }])
    expect(file('list_load', '**/*.md')).toEqual([{ _type: 'FileRecord', ...info, content: 'BB' }])
    expect(file('list_load', '*.md', { base_dir: 'sub-dir-a' })).toMatchObject([{ path: 'b.md', content: 'BB' }])
  })

  it('list_load names the file that is not text', () => {
    const { file } = fileHost({ 'x.bin': new Uint8Array([0xff]) })
    expect(() => file('list_load', '*')).toThrow('x.bin is not UTF-8 text')
  })

  it('first also searches where list does not, except in .git', () => {
    const { file } = fileHost(tree)
    expect(file('first', '**/x.aip')).toMatchObject({ _type: 'FileInfo', path: 'node_modules/x.aip' })
    expect(file('first', ['*.none'])).toBeUndefined()
  })

  it('stats sums up', () => {
    const { file } = fileHost(tree)
    expect(file('stats', '**/*.*')).toEqual({
      _type: 'FileStats',
      total_size: 7,
      number_of_files: 4,
      ctime_first: time,
      ctime_last: time,
      mtime_first: time,
      mtime_last: time,
    })
    expect(file('stats', '*.none')).toEqual({
      _type: 'FileStats',
      total_size: 0,
      number_of_files: 0,
      ctime_first: 0,
      ctime_last: 0,
      mtime_first: 0,
      mtime_last: 0,
    })
    expect(file('stats', undefined)).toBeUndefined()
  })

  it('refuse paths that lead outside, and wrong arguments', () => {
    const { file } = fileHost(tree)
    for (const name of ['list', 'list_load', 'first', 'stats']) {
      expect(() => file(name, '../**'), name).toThrow('climbs out')
      expect(() => file(name, 5), name).toThrow(
        `aip.file.${name}: the globs must be a string or a list of strings, but was number`,
      )
    }
    expect(() => file('list', undefined)).toThrow('but was nil')
    expect(() => file('list', '*', { absolute: 1 })).toThrow('the option absolute must be true or false')
  })
})

describe('other formats', () => {
  it('load_json is relaxed, and returns nil for a file without a value', () => {
    const { file } = fileHost({
      'a.json': "{ // c\n a: [1, null,], 'b': 0x10 }",
      'empty.json': '',
      'only.json': '// nothing\n',
      'bad.json': '{a',
    })
    expect(file('load_json', 'a.json')).toEqual({ a: [1, null], b: 16 })
    expect([file('load_json', 'empty.json'), file('load_json', 'only.json')]).toEqual([undefined, undefined])
    expect(() => file('load_json', 'bad.json')).toThrow('aip.file.load_json: bad.json is not JSON: expected a colon')
    expect(() => file('load_json', 'none.json')).toThrow('there is no file none.json')
  })

  it('load_md_sections and load_md_split_first', () => {
    const { file } = fileHost({ 'a.md': 'Intro\n# One\ntext\n## Two\nmore\n' })
    expect(file('load_md_sections', 'a.md', '## Two')).toEqual([
      {
        _type: 'MdSection',
        content: 'more\n',
        heading_raw: '## Two\n',
        heading_content: '## Two',
        heading_level: 2,
        heading_name: 'Two',
      },
    ])
    expect(file('load_md_sections', 'a.md', ['', '# One'])).toMatchObject([
      { content: 'Intro\n', heading_raw: '', heading_content: '', heading_level: 0, heading_name: '' },
      { content: 'text\n## Two\nmore\n' },
    ])
    expect(file('load_md_sections', 'a.md')).toHaveLength(3)
    expect(() => file('load_md_sections', 'a.md', 'Two')).toThrow('"Two" is not a Markdown heading')
    expect(file('load_md_split_first', 'a.md')).toMatchObject({
      before: '',
      first: { content: 'Intro\n' },
      after: '# One\ntext\n## Two\nmore\n',
    })
  })

  it('line_spans and read_span count bytes', () => {
    const { file } = fileHost({ 'a.txt': 'é\r\n\nb', 'empty.txt': '' })
    expect(file('line_spans', 'a.txt')).toEqual([
      [0, 2],
      [4, 4],
      [5, 6],
    ])
    expect(file('line_spans', 'empty.txt')).toEqual([])
    expect([
      file('read_span', 'a.txt', 0, 2),
      file('read_span', 'a.txt', 5, 6),
      file('read_span', 'a.txt', 1, 1),
    ]).toEqual(['é', 'b', ''])
    expect(() => file('read_span', 'a.txt', 0, 1)).toThrow('is not UTF-8 text')
    expect(() => file('read_span', 'a.txt', -1, 1)).toThrow('must not be negative')
    expect(() => file('read_span', 'a.txt', 2, 1)).toThrow('the end 1 is before the start 2')
    expect(() => file('read_span', 'a.txt', 0, 7)).toThrow('the end 7 is past the 6 bytes of a.txt')
    expect(() => file('read_span', 'a.txt', 0.5, 1)).toThrow('the start must be a whole number')
  })
})

describe('in Lua', () => {
  it('functions read, list and write with tables as arguments', async () => {
    const host = fileHost({ 'src/a.ts': 'let a', 'src/b.ts': 'let b' })
    const code = `
      local files = aip.file.list_load({ "src/*.ts", "!src/b.ts" }, { base_dir = "." })
      aip.file.save("out/x.txt", files[1].content .. "  ", { trim_end = true })
      local info = aip.file.info("out/x.txt")
      return { #files, math.type(info.mtime), tostring(info.mtime):find("[.e]") == nil, info.size, aip.file.exists("out"), aip.file.info("out") == nil }`
    expect(await runLua(host, code)).toEqual([1, 'integer', true, 5, true, true])
    expect(readFileSync(join(host.root, 'out/x.txt'), 'utf8')).toBe('let a')
  })

  it('calls that read or change something are numbered', async () => {
    const host = fileHost({ 'a.txt': 'A' })
    mkdirSync(join(host.root, 'd'))
    await runLua(host, 'aip.text.trim("x") aip.file.load("a.txt") aip.file.save("b.txt", "B") aip.path.exists("b.txt")')
    expect(
      host.records.flatMap((record) => ('p' in record && record.p.includes('#') ? [[record.k, record.p]] : [])),
    ).toEqual([
      ['obs', 'pre/0:agent/data#0'],
      ['started', 'pre/0:agent/data#1'],
      ['ended', 'pre/0:agent/data#1'],
      ['call', 'pre/0:agent/data#1'],
      ['obs', 'pre/0:agent/data#2'],
    ])
  })
})
