import { readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type RawEntry, rawZip } from '../../helpers/raw-zip.ts'
import { zipHost } from './zip-host.ts'

const link = 0o120777
const hostile: readonly (readonly [what: string, entries: readonly RawEntry[], named: string, problem: string])[] = [
  ['a way up', [{ name: '../up.txt' }], '../up.txt', 'leads out of the folder'],
  ['a way up inside', [{ name: 'a/../../up.txt' }], 'a/../../up.txt', 'leads out'],
  ['a way up and back', [{ name: 'a/../b.txt' }], 'a/../b.txt', 'leads out'],
  ['a way up at the end', [{ name: 'a/..' }], 'a/..', 'leads out'],
  ['a folder above', [{ name: '../' }], '../', 'leads out'],
  [
    'a way up far away',
    [{ name: `${'x/'.repeat(40)}${'../'.repeat(41)}up` }],
    'x/x/x',
    'is nested in more than 64 folders',
  ],
  ['an absolute path', [{ name: '/etc/passwd' }], '/etc/passwd', 'is an absolute path'],
  ['a path of a server', [{ name: '//server/share' }], '//server/share', 'is an absolute path'],
  ['a path of a Windows server', [{ name: '\\\\server\\share' }], '\\\\\\\\server', 'is an absolute path'],
  [
    'a path of a Windows server, from there',
    [{ name: '\\\\server\\share', host: 0 }],
    '//server',
    'is an absolute path',
  ],
  ['a drive', [{ name: 'C:/windows/x' }], 'C:/windows/x', 'starts with a drive letter'],
  ['a path on a drive', [{ name: 'c:x' }], 'c:x', 'starts with a drive letter'],
  ['a drive, from Windows', [{ name: 'C:\\windows\\x', host: 10 }], 'C:/windows/x', 'starts with a drive letter'],
  ['a backslash', [{ name: '..\\up.txt' }], '..\\\\up.txt', 'contains a backslash'],
  ['a way up from Windows', [{ name: '..\\..\\up.txt', host: 0 }], '../../up.txt', 'leads out'],
  ['both separators', [{ name: 'a/..\\..\\up', host: 0 }], 'a/..\\\\..\\\\up', 'contains a backslash'],
  ['a NUL', [{ name: 'a.txt\0.png' }], String.raw`a.txt\u0000.png`, 'contains a NUL character'],
  ['a line break', [{ name: 'a\nb' }], String.raw`a\nb`, 'contains a control character'],
  ['an escape', [{ name: '\u001b[2Jx' }], String.raw`\u001b[2Jx`, 'contains a control character'],
  ['turned text', [{ name: 'a\u202etxt.exe' }], String.raw`a\u202etxt.exe`, 'contains a control character'],
  ['no name', [{ name: '' }], '""', 'has no name'],
  ['the folder as a file', [{ name: './.', data: 'x' }], './.', 'is a file without a name'],
  ['a long name', [{ name: 'n'.repeat(256) }], 'nnnnnn', 'has a name of more than 255 bytes'],
  ['a long name in bytes', [{ name: 'ü'.repeat(128) }], 'üüüü', 'has a name of more than 255 bytes'],
  ['a long path', [{ name: `${'p'.repeat(200)}/`.repeat(6) }], 'pppp', 'is longer than 1024 bytes'],
  ['a device of Windows', [{ name: 'sub/NUL' }], 'sub/NUL', 'has the name of a device'],
  ['a device with an extension', [{ name: 'com1.txt' }], 'com1.txt', 'has the name of a device'],
  ['a dot at the end', [{ name: 'a./b' }], 'a./b', 'ends with a dot or a space'],
  ['three dots', [{ name: '.../b' }], '.../b', 'ends with a dot or a space'],
  ['a space at the end', [{ name: 'a ' }], 'a ', 'ends with a dot or a space'],
  ['a link', [{ name: 'l', data: '/etc', mode: link }], 'l', 'is a link'],
  ['a link and a file in it', [{ name: 'l', data: '../outside', mode: link }, { name: 'l/x' }], 'l', 'is a link'],
  ['a link from Windows', [{ name: 'l', data: '..', mode: link, host: 0 }], 'l', 'is a link'],
  ['a device', [{ name: 'dev', mode: 0o060644 }], 'dev', 'is a device or pipe'],
  ['a pipe', [{ name: 'pipe', mode: 0o010644 }], 'pipe', 'is a device or pipe'],
  [
    'a file twice',
    [
      { name: 'a', data: '1' },
      { name: 'a', data: '2' },
    ],
    'a',
    'is in the archive twice',
  ],
  [
    'another case',
    [{ name: 'README' }, { name: 'readme' }],
    'readme',
    'has the same path as another entry on some systems',
  ],
  [
    'another normal form',
    [{ name: 'ä' }, { name: 'a\u0308' }],
    'a\u0308',
    'has the same path as another entry on some systems',
  ],
  ['a file as a folder', [{ name: 'f' }, { name: 'f/g' }], 'f/g', 'to be a folder, but it is a file too'],
  ['a folder as a file', [{ name: 'f/g' }, { name: 'f' }], 'f', 'to be a file, but it is a folder too'],
  ['a folder with content', [{ name: 'f/', data: 'x' }], 'f/', 'is a folder, but has content'],
  [
    'a zip bomb',
    [{ name: 'bomb', method: 8, packed: deflateRawSync(Buffer.alloc(8e6)), size: 8e6 }],
    'bomb',
    'zip bomb',
  ],
  ['a lie about sizes', [{ name: 'lie', method: 8, data: 'x'.repeat(4e6), size: 10 }], 'lie', 'more than the 10 bytes'],
  [
    'content used twice',
    [
      { name: 'a', data: 'x' },
      { name: 'b', start: 0, localName: 'a' },
    ],
    'b',
    'overlaps the content',
  ],
  ['a huge entry', [{ name: 'huge', size: 3e8, method: 8, data: 'x' }], 'huge', 'at most 256.0 MiB'],
  ['a wrong checksum', [{ name: 'bad', data: 'x', crc: 5 }], 'bad', 'its checksum is wrong'],
  ['encryption', [{ name: 'enc', data: 'x', flags: 0x801 }], 'enc', 'is encrypted'],
  ['another method', [{ name: 'lzma', data: 'x', method: 14 }], 'lzma', 'is packed with method 14'],
  ['a folder of git', [{ name: '.git/hooks/pre-commit' }], '', 'belongs to git'],
]

describe('hostile archives', () => {
  it.each(hostile)('with %s are refused before anything is written', async (_, entries, named, problem) => {
    const first = { name: 'good.txt', data: 'good' }
    const { zip, names, root } = zipHost({ 'x.zip': rawZip([first, ...entries]) })
    const before = names()
    const failure = await zip('extract', 'x.zip', '.').catch((error: Error) => error.message)
    expect(failure).toContain(problem)
    expect(failure).toContain(named)
    expect(names()).toEqual(before)
    expect(readdirSync(root)).toEqual(['x.zip'])
  })

  it.each(['../outside', '/tmp/elsewhere', '.git', 'link', 'link/deeper'])(
    'are not the only protection: %s is refused as destination',
    async (destination) => {
      const { zip, names, root } = zipHost({ 'x.zip': rawZip([{ name: 'a' }]) })
      symlinkSync('../outside', join(root, 'link'))
      const before = names()
      await expect(zip('extract', 'x.zip', destination)).rejects.toThrow(/outside the workspace|belongs to git/)
      expect(names()).toEqual(before)
    },
  )

  it('do not write through links that lead outside, nor over anything but files', async () => {
    const { zip, names, root } = zipHost({
      'x.zip': rawZip([{ name: 'a.txt' }, { name: 'l/b.txt' }]),
      'y.zip': rawZip([{ name: 'a.txt' }, { name: 'f/b.txt' }]),
      'z.zip': rawZip([{ name: 'a.txt' }, { name: 'd' }]),
      'out/f': 'a file',
      'out/d/x': 'in a folder',
    })
    symlinkSync('../../outside', join(root, 'out/l'))
    const before = names()
    await expect(zip('extract', 'x.zip', 'out')).rejects.toThrow('leads outside the workspace through the link out/l')
    await expect(zip('extract', 'y.zip', 'out')).rejects.toThrow(
      'the entry "f/b.txt" needs a folder at out/f, which is a file',
    )
    await expect(zip('extract', 'z.zip', 'out')).rejects.toThrow(
      'the entry "d" needs a file at out/d, which is a folder',
    )
    await expect(zip('extract', 'z.zip', 'x.zip')).rejects.toThrow('needs a folder at x.zip, which is a file')
    expect(names()).toEqual(before)
  })

  it('are refused if they are not archives', async () => {
    const { zip } = zipHost({ 'x.zip': 'text', 'e.zip': '', 'd/x': '' })
    await expect(zip('extract', 'x.zip')).rejects.toThrow('x.zip is not a zip archive')
    await expect(zip('list', 'e.zip')).rejects.toThrow('e.zip is not a zip archive')
    await expect(zip('list', 'd')).rejects.toThrow('d is a folder, not a file')
    await expect(zip('extract', 'none.zip')).rejects.toThrow('there is no file none.zip')
    await expect(zip('list', '../outside/secret.txt')).rejects.toThrow('secret.txt is not a zip archive')
  })
})
