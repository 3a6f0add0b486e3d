import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openZip } from '../../../src/base/zip.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { zipModule } from '../../../src/script/host/zip.ts'
import { agentWorld, aip } from '../../helpers/agents.ts'
import { type RawEntry, rawZip } from '../../helpers/raw-zip.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'
import { zipHost } from './zip-host.ts'

function pathsOf(infos: LuaValue): readonly LuaValue[] {
  return (infos as readonly { readonly path: string }[]).map(({ path }) => path)
}

const good: readonly RawEntry[] = [
  { name: 'a.txt', data: 'ä', method: 8 },
  { name: 'sub/', mode: 0o040755 },
  { name: 'sub/b.md', data: '# B' },
  { name: 'deep/er/c.md', data: '' },
  { name: 'inner.zip', data: rawZip([{ name: '../../up.txt', data: 'x' }]) },
]

describe('aip.zip.extract', () => {
  it('unpacks next to the archive, or to the given folder', async () => {
    const { root, zip } = zipHost({ 'in/good.zip': rawZip(good) })
    const infos = await zip('extract', 'in/good.zip')
    const files = ['a.txt', 'sub/b.md', 'deep/er/c.md', 'inner.zip']
    expect(pathsOf(infos)).toEqual(files.map((name) => `in/good/${name}`))
    expect((infos as readonly LuaValue[])[0]).toMatchObject({ _type: 'FileInfo', name: 'a.txt', ext: 'txt', size: 2 })
    expect(readFileSync(join(root, 'in/good/a.txt'), 'utf8')).toBe('ä')
    expect(statSync(join(root, 'in/good/sub')).isDirectory()).toBe(true)
    expect(pathsOf(await zip('extract', 'in/good.zip', 'out'))).toEqual(files.map((name) => `out/${name}`))
    expect(existsSync(join(root, 'out/up.txt'))).toBe(false)
  })

  it('replaces existing files, and selects by globs', async () => {
    const { root, zip } = zipHost({ 'g.zip': rawZip(good), 'g/sub/b.md': 'old', 'g/own': 'own' })
    expect(pathsOf(await zip('extract', 'g.zip', undefined, { globs: ['**/*.md', '!deep/**'] }))).toEqual([
      'g/sub/b.md',
    ])
    expect(readFileSync(join(root, 'g/sub/b.md'), 'utf8')).toBe('# B')
    expect(readdirSync(join(root, 'g'))).toEqual(['own', 'sub'])
    expect(pathsOf(await zip('extract', 'g.zip', undefined, { globs: [] }))).toHaveLength(4)
    expect(await zip('extract', 'g.zip', 'none', { globs: ['x'] })).toEqual([])
  })

  it('accepts an empty archive, and one with many files', async () => {
    const many = Array.from({ length: 600 }, (_, index) => ({ name: `d/${index}.txt`, data: `${index}` }))
    const { root, zip } = zipHost({ 'empty.zip': rawZip([]), 'many.zip': rawZip(many) })
    expect(await zip('extract', 'empty.zip')).toEqual([])
    expect(await zip('extract', 'many.zip')).toHaveLength(600)
    expect(readdirSync(join(root, 'many/d'))).toHaveLength(600)
  })

  it('records one change for each file, with its archive', async () => {
    const { zip, events } = zipHost({ 'g.zip': rawZip(good) })
    await zip('extract', 'g.zip')
    expect(events.map((event) => (event.type === 'file.changed' ? `${event.op} ${event.path}` : event.type))).toEqual([
      'unpack g/a.txt',
      'mkdir g/sub',
      'unpack g/sub/b.md',
      'unpack g/deep/er/c.md',
      'unpack g/inner.zip',
    ])
  })

  it('stops before the first file when the run is stopped', async () => {
    const root = tempTree({ 'g.zip': rawZip(good) })
    const host = hostSection(root, { signal: AbortSignal.abort(new Error('stopped')) })
    await expect(host.wait(zipModule, 'extract', 'g.zip')).rejects.toThrow('stopped')
    expect(readdirSync(root)).toEqual(['g.zip'])
  })
})

describe('aip.zip.create', () => {
  it('packs a folder next to it, with hidden files and empty folders', async () => {
    const { root, zip } = zipHost({ 'site/ü/a.html': '<p>', 'site/.hidden': 'h', 'site/run.sh': '#!' })
    mkdirSync(join(root, 'site/empty'))
    expect(await zip('create', 'site')).toMatchObject({ _type: 'FileInfo', path: 'site.zip', is_likely_text: false })
    expect(await zip('list', 'site.zip')).toEqual(['.hidden', 'empty/', 'run.sh', 'ü/', 'ü/a.html'])
    expect(await zip('read_text', 'site.zip', 'ü/a.html')).toBe('<p>')
    const first = readFileSync(join(root, 'site.zip'))
    await zip('create', 'site', 'site/own.zip')
    await zip('create', 'site/', 'site/own.zip')
    expect(readFileSync(join(root, 'site/own.zip')).equals(first)).toBe(true)
  })

  it('packs the files that globs select', async () => {
    const { zip } = zipHost({ 'd/a.md': '', 'd/s/b.md': '', 'd/s/c.txt': '' })
    await zip('create', 'd', 'o.zip', { globs: ['**/*.md', '!a.md'] })
    expect(await zip('list', 'o.zip')).toEqual(['s/', 's/b.md'])
    expect(await zip('list', 'o.zip', { globs: 's/*' })).toEqual(['s/b.md'])
    expect(pathsOf(await zip('extract', 'o.zip', 'back'))).toEqual(['back/s/b.md'])
  })

  it('packs the targets of links, also outside', async () => {
    const { root, zip } = zipHost({ 'd/a.txt': 'a', 'd/sub/b': 'b' })
    symlinkSync('a.txt', join(root, 'd/l.txt'))
    symlinkSync('sub', join(root, 'd/m'))
    await zip('create', 'd')
    expect(await zip('list', 'd.zip')).toEqual(['a.txt', 'l.txt', 'm/', 'sub/', 'sub/b'])
    symlinkSync('../../outside/secret.txt', join(root, 'd/s'))
    await zip('create', 'd', 'e.zip')
    expect(await zip('read_text', 'e.zip', 's')).toBe('secret')
  })

  it('preserves executable bits, and packs large files', async () => {
    const { root, zip } = zipHost({ 'd/big.bin': Buffer.alloc(3e6, 'abcdefghij0123456789'), 'd/run': '#!' })
    chmodSync(join(root, 'd/run'), 0o700)
    await zip('create', 'd')
    const bytes = readFileSync(join(root, 'd.zip'))
    const { entries } = openZip(bytes, { archive: 'd.zip' })
    expect(entries.map(({ name, size }) => [name, size])).toEqual([
      ['big.bin', 3e6],
      ['run', 2],
    ])
    const second = bytes.lastIndexOf('PK\u0001\u0002', undefined, 'latin1')
    const first = bytes.lastIndexOf('PK\u0001\u0002', second - 1, 'latin1')
    expect([first, second].map((at) => bytes.readUInt16LE(at + 40).toString(8))).toEqual(['100644', '100755'])
  })

  it('refuses what is not a folder, nonportable names, and places outside', async () => {
    const { zip, names } = zipHost({ f: '', 'd/a\\b': '', 'e/x': '' })
    const before = names()
    await expect(zip('create', 'none')).rejects.toThrow('there is no folder none')
    await expect(zip('create', 'f')).rejects.toThrow('f is not a folder')
    await expect(zip('create', 'd')).rejects.toThrow(String.raw`the entry "a\\b" contains a backslash`)
    await expect(zip('create', '../outside')).rejects.toThrow('outside the workspace')
    await expect(zip('create', 'e', '../e.zip')).rejects.toThrow('outside the workspace')
    await expect(zip('create', '.')).rejects.toThrow('. has no name')
    await expect(zip('create', undefined)).rejects.toThrow('aip.zip.create: the folder must be a string, but was nil')
    await expect(zip('create', 'e', 5, 'x')).rejects.toThrow('the options must be a table')
    await expect(zip('create', 'e', {})).rejects.toThrow('the destination must be a string or nil, but was table')
    await expect(zip('create', 'e', undefined, { globs: 5 })).rejects.toThrow('the option globs must be')
    expect(names()).toEqual(before)
  })
})

describe('aip.zip.list and read_text', () => {
  it('name the entries as they are stored, including invalid ones', async () => {
    const { zip } = zipHost({ 'x.zip': rawZip([{ name: 'b/' }, { name: '../a' }, { name: 'ü', data: 'ö' }]) })
    expect(await zip('list', 'x.zip')).toEqual(['b/', '../a', 'ü'])
    expect(await zip('read_text', 'x.zip', 'ü')).toBe('ö')
    expect(await zip('read_text', 'x.zip', 'none')).toBe(undefined)
    expect(await zip('read_text', 'x.zip', 'b/')).toBe('')
  })

  it('refuse an entry that is not text, is duplicated, or is too large', async () => {
    const bomb = { name: 'bomb', method: 8, packed: deflateRawSync(Buffer.alloc(8e6)), size: 8e6 }
    const entries = [{ name: 'b', data: Buffer.from([0xff]) }, { name: 'c' }, { name: 'c' }, bomb]
    const { zip } = zipHost({ 'x.zip': rawZip(entries) })
    await expect(zip('read_text', 'x.zip', 'b')).rejects.toThrow('b in x.zip is not UTF-8 text')
    await expect(zip('read_text', 'x.zip', 'c')).rejects.toThrow('x.zip contains c twice')
    await expect(zip('read_text', 'x.zip', 'bomb')).rejects.toThrow('looks like a zip bomb')
    await expect(zip('read_text', 'x.zip', undefined)).rejects.toThrow('the entry must be a string, but was nil')
    await expect(zip('list', undefined)).rejects.toThrow('aip.zip.list: the path must be a string, but was nil')
  })
})

describe('aip.zip in scripts', () => {
  it('works completely, and raises an error that pcall catches', async () => {
    const host = zipHost({ 'd/a.txt': 'A', 'bad.zip': rawZip([{ name: '../x' }]) })
    const code = `
      local made = aip.zip.create("d")
      local files = aip.zip.extract(made.path, "out")
      local ok, err = pcall(aip.zip.extract, "bad.zip")
      return { files[1].path, aip.zip.list("d.zip"), aip.zip.read_text("d.zip", "x"), ok, tostring(err) }`
    expect(await runLua(host, code)).toEqual([
      'out/a.txt',
      ['a.txt'],
      null,
      false,
      expect.stringContaining('bad.zip cannot be unpacked: the entry "../x" leads out of the folder'),
    ])
  })

  it('works in an agent', async () => {
    const data = 'aip.zip.create("docs")\nreturn #aip.zip.extract("docs.zip", "copy")'
    const { run } = agentWorld({
      'a.aip': aip({ Data: data, Output: 'return data' }),
      'docs/x.md': 'x',
      'docs/y.md': '',
    })
    expect((await run('a.aip')).outputs).toEqual([2])
  })
})
