import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { writeZip } from '../../src/base/zip-write.ts'
import { checkZip, openZip, readZipEntry, type ZipArchive } from '../../src/base/zip.ts'
import { longField, rawZip } from '../helpers/raw-zip.ts'
import { tempTree } from '../helpers/temp.ts'

const { signal } = new AbortController()

function open(bytes: Uint8Array): ZipArchive {
  return openZip(bytes, { archive: 'a.zip' })
}

function contents(bytes: Uint8Array): Record<string, string> {
  const zip = open(bytes)
  return Object.fromEntries(zip.entries.map((one) => [one.name, Buffer.from(readZipEntry(zip, one)).toString()]))
}

describe('reading a zip file', () => {
  it('accepts stored and compressed entries, comments, and empty archives', () => {
    const entries = [
      { name: 'ü.txt', data: 'grün' },
      { name: 'b/', data: '' },
      { name: 'b/c', data: 'x'.repeat(999), method: 8 },
    ]
    expect(contents(rawZip(entries, { comment: 'PK\x05\x06 a comment' }))).toEqual({
      'ü.txt': 'grün',
      'b/': '',
      'b/c': 'x'.repeat(999),
    })
    expect(contents(rawZip([]))).toEqual({})
  })

  it('accepts 64-bit sizes and end records', () => {
    const extra = longField(5, 5, 0)
    const long = { name: 'a', data: 'hello', size: 0xffffffff, packedSize: 0xffffffff, start: 0xffffffff, extra }
    expect(contents(rawZip([long], { isLong: true }))).toEqual({ a: 'hello' })
    expect(() => open(rawZip([{ ...long, extra: longField(5) }]))).toThrow('sizes that are missing')
  })

  it('accepts names in encodings older than UTF-8, and those with backslashes from Windows', () => {
    const old = { name: Buffer.from([0x81, 0x2e, 0x74]), flags: 0 }
    expect(Object.keys(contents(rawZip([old, { name: 'ö', flags: 0 }])))).toEqual(['ü.t', 'ö'])
    expect(
      Object.keys(
        contents(
          rawZip([
            { name: 'a\\b.txt', host: 0 },
            { name: 'c\\d', host: 3 },
          ]),
        ),
      ),
    ).toEqual(['a/b.txt', 'c\\d'])
  })

  it('accepts archives of the zip tool', async () => {
    const folder = tempTree({ 'src/ä/one.txt': 'one', 'src/two.bin': new Uint8Array(70_000) })
    const made = spawnSync('zip', ['-qr', '../out.zip', '.'], { cwd: join(folder, 'src') })
    if (made.error !== undefined) writeFileSync(join(folder, 'out.zip'), rawZip([{ name: 'ä/one.txt', data: 'one' }]))
    const zip = openZip(readFileSync(join(folder, 'out.zip')), { archive: 'out.zip' })
    expect((await checkZip(zip, signal)).map(({ path }) => path)).toContain('ä/one.txt')
  })
})

describe('a damaged zip file', () => {
  const good = rawZip([
    { name: 'a.txt', data: 'hello world', method: 8 },
    { name: 'b.txt', data: 'b' },
  ])

  it.each<[string, Uint8Array, string]>([
    ['is empty', new Uint8Array(), 'a.zip is not a zip archive, or is truncated'],
    ['is something else', Buffer.from('x'.repeat(100_000)), 'a.zip is not a zip archive, or is truncated'],
    ['is truncated at its end', good.subarray(0, -1), 'is not a zip archive, or is truncated'],
    ['is truncated at its beginning', good.subarray(10), 'its directory is not where it should be'],
    ['has something before it', Buffer.concat([Buffer.from('MZ'), good]), 'its directory is not where it should be'],
    [
      'counts more entries than it has',
      rawZip([{ name: 'a' }], { count: 2 }),
      'its directory ends after 1 of 2 entries',
    ],
    [
      'counts fewer entries than it has',
      rawZip([{ name: 'a' }, { name: 'b' }], { count: 1 }),
      'more than the declared 1 entries',
    ],
    ['is a part of a multi-part archive', rawZip([{ name: 'a' }], { disk: 1 }), 'is part of a multi-part archive'],
    ['counts far too many entries', rawZip([], { count: 60_000 }), 'has 60000 entries'],
    ['counts billions of entries', rawZip([], { count: 4e9, isLong: true }), 'has 4000000000 entries'],
    [
      'has another name in a local header',
      rawZip([{ name: 'a', localName: 'b' }]),
      '"a" has a different name in its local header',
    ],
    ['has no content where it says', rawZip([{ name: 'a', start: 5 }]), '"a" has a different name in its local header'],
    ['has content behind its end', rawZip([{ name: 'a', start: 4e9 }]), '"a" has a different name in its local header'],
    ['has truncated content', rawZip([{ name: 'a', packedSize: 99 }]), '"a" has truncated content'],
    ['has a name that is not UTF-8', rawZip([{ name: Buffer.from([0x61, 0xff]) }]), 'has a name that is not UTF-8'],
    [
      'has two entries of the same content',
      rawZip([{ name: 'a' }, { name: 'a', start: 0 }]),
      '"a" overlaps the content',
    ],
    [
      'has entries that overlap',
      rawZip([
        { name: 'a', packedSize: 40, size: 40 },
        { name: 'b', data: 'x'.repeat(40) },
      ]),
      '"b" overlaps the content of "a"',
    ],
  ])('that %s is refused', (_, bytes, message) => {
    expect(() => open(bytes)).toThrow(message)
  })

  it.each<[string, Uint8Array, string]>([
    [
      'larger than declared',
      rawZip([{ name: 'a', data: 'x'.repeat(5e6), method: 8, size: 3 }]),
      'more than the 3 bytes',
    ],
    ['smaller than declared', rawZip([{ name: 'a', data: 'abc', method: 8, size: 9 }]), 'has 3 bytes, but declares 9'],
    ['of another checksum', rawZip([{ name: 'a', data: 'abc', crc: 1 }]), '"a" is damaged: its checksum is wrong'],
    ['no deflate', rawZip([{ name: 'a', packed: Buffer.from([7, 7, 7]), method: 8, size: 3 }]), '"a" is damaged: '],
    [
      'a stored block of contradictory lengths',
      rawZip([{ name: 'a', data: 'abc', packed: Buffer.from([1, 3, 0, 0, 0, 97, 98, 99]), method: 8 }]),
      '"a" is damaged: invalid stored block lengths',
    ],
    [
      'a reference to what is before its start',
      rawZip([{ name: 'a', data: 'abc', packed: Buffer.from([0x03, 0x02, 0x00]), method: 8 }]),
      '"a" is damaged: invalid distance',
    ],
    ['packed otherwise', rawZip([{ name: 'a', data: 'abc', method: 93 }]), '"a" is packed with method 93'],
    ['encrypted', rawZip([{ name: 'a', data: 'abc', flags: 0x801 }]), '"a" is encrypted'],
  ])('with content that is %s is refused', async (_, bytes, message) => {
    await expect(checkZip(open(bytes), signal)).rejects.toThrow(message)
  })

  it('whose entries expand 1000 times is refused before anything is unpacked', async () => {
    const packed = deflateRawSync(Buffer.alloc(20e6))
    const bomb = { name: 'bomb', packed, method: 8, size: 20e6 }
    const zip = open(rawZip([bomb]))
    await expect(checkZip(zip, signal)).rejects.toThrow('looks like a zip bomb')
    await expect(checkZip(open(rawZip([{ ...bomb, size: 900 }])), signal)).rejects.toThrow('more than the 900')
  })

  it('never causes another error when any byte is wrong', async () => {
    for (let at = 0; at < good.length; at += 1) {
      for (const value of [0, 0x7f, 0xff]) {
        const bytes = Buffer.from(good)
        bytes[at] = value
        const failure = await failureOf(bytes)
        if (failure !== undefined) expect(failure).toMatchObject({ name: 'BatonError', code: 'FILE_FAILED' })
      }
    }
  })

  it('is not read any further once the run is stopped', async () => {
    const zip = open(good)
    await expect(checkZip(zip, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop')
  })
})

async function failureOf(bytes: Uint8Array): Promise<unknown> {
  try {
    await checkZip(open(bytes), signal)
    return undefined
  } catch (error) {
    return error
  }
}

describe('writing a zip file', () => {
  it('returns the same readable bytes for the same entries', () => {
    const file = (path: string, text: string) =>
      ({ kind: 'file', path, content: Buffer.from(text), isExecutable: false }) as const
    const inputs = [
      { kind: 'folder', path: 'ä' } as const,
      file('ä/b', 'bb'.repeat(5_000)),
      file('__proto__', ''),
      file('1', 'x'),
    ]
    const bytes = writeZip(inputs)
    expect(contents(bytes)).toEqual(
      Object.fromEntries([
        ['ä/', ''],
        ['ä/b', 'bb'.repeat(5_000)],
        ['__proto__', ''],
        ['1', 'x'],
      ]),
    )
    expect(open(bytes).entries.map(({ name, kind }) => [name, kind])).toEqual([
      ['ä/', 'folder'],
      ['ä/b', 'file'],
      ['__proto__', 'file'],
      ['1', 'file'],
    ])
    expect(Buffer.from(writeZip(inputs)).equals(bytes)).toBe(true)
    expect(contents(writeZip([]))).toEqual({})
  })
})
