import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PDFDocument, StandardFonts } from '@cantoo/pdf-lib'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../src/base/hash.ts'
import { packedPdf, packedTwice } from '../../helpers/packed-pdf.ts'
import { tempTree } from '../../helpers/temp.ts'
import { toolHost } from '../../helpers/tool-call.ts'

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join('')

describe('a text file', () => {
  it('is shown with line numbers, and counts as seen', async () => {
    const folder = tempTree({ 'a.txt': 'one\n\ttwo\n\nfour' })
    const { call, seen } = toolHost(folder)
    expect(await call('read', { path: 'a.txt' })).toEqual({ text: '1→one\n2→\ttwo\n3→\n4→four' })
    const ofModel = toolHost(folder, { scope: { at: [{ kind: 'turn', index: 0 }] } })
    expect(await ofModel.call('read', { path: 'a.txt' })).toEqual({ text: '1\tone\n2\t\ttwo\n3\t\n4\tfour' })
    expect(seen.whole()).toEqual(new Map([[join(folder, 'a.txt'), sha256('one\n\ttwo\n\nfour')]]))
  })

  it('is found with another kind of space or composition in its name, and checked by its actual name', async () => {
    const files = { 'shot 1\u202fAM.txt': 'a\n', 'cafe\u0301/x.txt': 'b\n', 'a\u00a0b': '1', 'a\u2007b': '2' }
    const { call } = toolHost(tempTree({ ...files, 'se\u00a0cret.env': 's' }))
    expect((await call('read', { path: 'shot 1 AM.txt' })).text).toBe('1→a')
    expect((await call('read', { path: 'caf\u00e9/x.txt' })).text).toBe('1→b')
    expect((await call('read', { path: 'a b' })).text).toContain('there is no file a b')
    const edited = await call('edit', { path: 'caf\u00e9/x.txt', old_text: 'b', new_text: 'c' })
    expect(edited.isError).toBeUndefined()
    expect((await call('read', { path: 'cafe\u0301/x.txt' })).text).toBe('1→c')
  })

  it('is not guessed among several names that look the same: each is named so that it can be distinguished', async () => {
    const { call } = toolHost(
      tempTree({ 'a\u00a0b': '1', 'a\u2007b': '2', 'sub/caf\u00e9 x': '3', 'sub/cafe\u0301\u00a0x': '4' }),
    )
    const { text, isError } = await call('read', { path: 'a b' })
    expect(isError).toBe(true)
    expect(text).toContain(String.raw`: write one of "a\u00a0b", "a\u2007b" as the path`)
    expect((await call('read', { path: 'a\u2007b' })).text).toBe('1→2')
    const composed = await call('read', { path: 'sub/cafe\u0301 x' })
    expect(composed.text).toContain(String.raw`"sub/cafe\u0301\u00a0x", "sub/caf\u00e9 x"`)
    expect((await call('read', { path: 'a c' })).text).toMatch(/there is no file a c\.$/)
  })

  it('is returned in parts, and counts as seen when all of them were shown', async () => {
    const { call, seen } = toolHost(tempTree({ 'a.txt': numbers(1, 4500) }))
    const first = await call('read', { path: 'a.txt' })
    expect(first.text).toMatch(/^1→line 1\n2→line 2\n/)
    expect(first.text).toMatch(/\n2000→line 2000\n\[lines 1 to 2000 of 4500; go on from offset 2001\]$/)
    await call('read', { path: 'a.txt', offset: 2001 })
    expect(seen.whole().size).toBe(0)
    const last = await call('read', { path: 'a.txt', offset: 4001 })
    expect(last.text).toMatch(/\n4500→line 4500\n\[lines 4001 to 4500 of 4500\]$/)
    expect(seen.whole().size).toBe(1)
    expect(await call('read', { path: 'a.txt', offset: 7, limit: 2 })).toEqual({
      text: '7→line 7\n8→line 8\n[lines 7 to 8 of 4500; go on from offset 9]',
    })
    expect(await call('read', { path: 'a.txt', offset: 4501 })).toEqual({
      text: 'Error in tool "read": a.txt has 4500 lines: offset 4501 is past the end.',
      isError: true,
    })
    const short = toolHost(tempTree({ 'b.txt': 'one\n', 'c/d.txt': '' }))
    expect((await short.call('read', { path: 'b.txt', offset: 2 })).text).toContain(
      'b.txt has 1 line: offset 2 is past the end',
    )
    expect((await short.call('read', { path: 'c', offset: 3 })).text).toContain(
      'c has 1 entry: offset 3 is past the end',
    )
  })

  it('is returned in parts up to the output limit, at whole lines', async () => {
    const { call } = toolHost(tempTree({ 'a.txt': `${'x'.repeat(500)}\n`.repeat(1000) }))
    const { text } = await call('read', { path: 'a.txt' })
    expect(text.length).toBeLessThan(50_000)
    const [, last = '', next = ''] = /\[lines 1 to (\d+) of 1000; go on from offset (\d+)\]$/.exec(text) ?? []
    expect(Number(next)).toBe(Number(last) + 1)
    expect(text).toContain(`\n${last}→${'x'.repeat(500)}\n[`)
  })

  it('has long lines truncated, and these do not count as seen', async () => {
    const { call, seen } = toolHost(tempTree({ 'a.txt': `short\n${'😀'.repeat(3000)}\nend\n` }))
    const { text } = await call('read', { path: 'a.txt' })
    expect(text).toBe(`1→short\n2→${'😀'.repeat(1000)}… [cut: the line has 12000 bytes]\n3→end`)
    expect(seen.whole().size).toBe(0)
    const huge = toolHost(tempTree({ 'b.txt': 'x'.repeat(3_000_000) }))
    expect((await huge.call('read', { path: 'b.txt' })).text).toMatch(
      /^1→x{2000}… \[cut: the line has 3000000 bytes\]$/,
    )
  })

  it('may be empty, have CRLF line endings, or be invalid UTF-8', async () => {
    const { call, seen } = toolHost(
      tempTree({ 'empty.txt': '', 'dos.txt': 'a\r\nb\r\n', 'old.txt': Buffer.from('caf\u00e9\n', 'latin1') }),
    )
    expect((await call('read', { path: 'empty.txt' })).text).toBe('[the file is empty]')
    expect((await call('read', { path: 'dos.txt' })).text).toBe('1→a\n2→b\n[lines end in CR LF]')
    expect((await call('read', { path: 'old.txt' })).text).toMatch(/^1→caf\ufffd\n\[this is not UTF-8/)
    expect(seen.whole().size).toBe(2)
  })

  it('of a gigabyte is read only as far as requested', async () => {
    const folder = tempTree({ 'big.log': numbers(1, 20_000) })
    const { call, seen } = toolHost(folder)
    truncateSync(join(folder, 'big.log'), 1024 ** 3)
    const { text } = await call('read', { path: 'big.log', offset: 15_000, limit: 2 })
    expect(text).toMatch(
      /^15000→line 15000\n15001→line 15001\n\[lines 15000 to 15001 of more than \d+ \(1gb\); go on from offset 15002\]$/,
    )
    expect(seen.whole().size).toBe(0)
  })
})

describe('a binary file', () => {
  it('is refused with its type', async () => {
    const folder = tempTree({ 'a.bin': Buffer.from([1, 2, 0, 3]), 'b.gz': Buffer.from([0x1f, 0x8b, 8, 0, 0, 0]) })
    execFileSync('mkfifo', [join(folder, 'pipe')])
    const { call } = toolHost(folder)
    const told = async (path: string): Promise<string> => (await call('read', { path })).text
    expect(await told('a.bin')).toBe(
      'Error in tool "read": a.bin is binary (no text, 0.1kb). Only text, images and PDF documents can be read.',
    )
    expect(await told('b.gz')).toContain('b.gz is binary (compressed with gzip, ')
    expect(await told('pipe')).toBe('Error in tool "read": pipe is a device or pipe, not a file.')
    expect(await told('none.txt')).toBe('Error in tool "read": there is no file none.txt.')
    expect(await told('a.bin/b')).toBe('Error in tool "read": there is no file a.bin/b.')
    expect(await told('a\0b')).toContain('null bytes')
  })

  it('is returned as a file when it is an image', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const { call } = toolHost(tempTree({ 'dot.data': png }))
    expect(await call('read', { path: 'dot.data' })).toEqual({
      text: 'dot.data (image/png, 0.1kb)',
      files: [{ type: 'file', name: 'dot.data', mediaType: 'image/png', data: png.toString('base64') }],
    })
  })

  it('is returned as text to a model without PDF support, and images are refused without image support', async () => {
    const document = await PDFDocument.create()
    const font = await document.embedFont(StandardFonts.Helvetica)
    for (let page = 1; page <= 23; page += 1) {
      const drawn = document.addPage()
      if (page !== 2) drawn.drawText(`Page ${page} of the report\nSecond line`, { font, size: 12, x: 50, y: 700 })
    }
    const files = { 'a.pdf': Buffer.from(await document.save()), 'b.pdf': Buffer.from('%PDF-1.7 not really') }
    const { call } = toolHost(tempTree(files), { scope: { taken: { image: true, document: false } } })
    const first = await call('read', { path: 'a.pdf' })
    expect(first.files).toBeUndefined()
    expect(first.text.split('\n').slice(0, 8)).toEqual([
      'a.pdf (PDF, the text of its pages)',
      '[pages 1 to 20 of 23; go on from offset 21]',
      '--- page 1 ---',
      'Page 1 of the report',
      'Second line',
      '--- page 2 ---',
      '[no text: it may be an image]',
      '--- page 3 ---',
    ])
    const last = await call('read', { path: 'a.pdf', offset: 23 })
    expect(last.text).toContain('[pages 23 to 23 of 23]\n--- page 23 ---\nPage 23 of the report')
    expect((await call('read', { path: 'a.pdf', offset: 24 })).text).toContain(
      'has 23 pages: offset 24 is past the end',
    )
    expect((await call('read', { path: 'b.pdf' })).text).toContain('the text of b.pdf cannot be read: ')
    const bomb = packedPdf({ filter: '[/FlateDecode/FlateDecode]', content: packedTwice(160 * 1024 * 1024) })
    const bombed = toolHost(tempTree({ 'a.pdf': bomb }), { scope: { taken: { image: true, document: false } } })
    expect(await bombed.call('read', { path: 'a.pdf' })).toEqual({
      isError: true,
      text: expect.stringContaining('a.pdf cannot be read: it needs more than 128mb when it is unpacked'),
    })
    const image = Buffer.from('89504e470d0a1a0a', 'hex')
    const text = toolHost(tempTree({ 'a.png': image }), { scope: { taken: { image: false, document: false } } })
    expect(await text.call('read', { path: 'a.png' })).toEqual({
      isError: true,
      text: 'Error in tool "read": a.png is an image (image/png), and this model takes only text.',
    })
  })

  it('is returned as a file when it is a PDF, in pages when it is long', async () => {
    const document = await PDFDocument.create()
    for (let page = 0; page < 30; page += 1) document.addPage([100, 100 + page])
    const bytes = await document.save()
    const { call } = toolHost(tempTree({ 'a.pdf': bytes, 'b.pdf': Buffer.from('%PDF-1.7 not really') }))
    const first = await call('read', { path: 'a.pdf' })
    expect(first.text).toBe('a.pdf (PDF)\n[pages 1 to 20 of 30; go on from offset 21]')
    expect(first.files?.map(({ name }) => name).slice(0, 2)).toEqual(['a-1.pdf', 'a-2.pdf'])
    const last = await call('read', { path: 'a.pdf', offset: 30 })
    const page = await PDFDocument.load(Buffer.from(last.files?.[0]?.data ?? '', 'base64'))
    expect([page.getPageCount(), page.getPage(0).getHeight()]).toEqual([1, 129])
    expect((await call('read', { path: 'b.pdf' })).text).toContain('b.pdf is damaged or truncated')
  })
})

describe('a folder', () => {
  it('is listed, without denied entries', async () => {
    const folder = tempTree({ 'src/b.ts': '', 'src/.env': 'KEY=1', 'src/in/c.ts': '', 'src/a\nb': '' })
    symlinkSync('b.ts', join(folder, 'src/link'))
    mkdirSync(join(folder, 'none'))
    const { call } = toolHost(folder)
    expect((await call('read', { path: 'src' })).text).toBe('src is a folder:\n"a\\nb"\nb.ts\nin/\nlink@')
    expect((await call('read', { path: 'src/', offset: 2, limit: 1 })).text).toBe(
      'src is a folder:\nb.ts\n[entries 2 to 2 of 4; go on from offset 3]',
    )
    expect((await call('read', { path: 'none' })).text).toBe('[the folder is empty]')
  })
})

describe('the rules', () => {
  it.each([
    '.env',
    'in/.env.local',
    'id_rsa',
    'keys/server.pem',
    '.npmrc',
    '/etc/passwd',
    '../outside.txt',
    '/proc/self/environ',
    'out/x.txt',
    'safe.txt',
  ])('deny %s', async (path) => {
    const outside = tempTree({ 'x.txt': 'secret' })
    const folder = tempTree({ '.env': 'KEY=1', 'in/.env.local': '', id_rsa: '', 'keys/server.pem': '', '.npmrc': '' })
    symlinkSync(outside, join(folder, 'out'))
    symlinkSync('.env', join(folder, 'safe.txt'))
    const { text, isDenied } = await toolHost(folder).call('read', { path })
    expect(text).toMatch(/^permission denied: /)
    expect(isDenied).toBe(true)
  })

  it('allow examples of files with keys, and what a later rule opens', async () => {
    const folder = tempTree({ '.env.example': 'KEY=', '.env': 'KEY=1', 'certs/ca.pem': 'x' })
    const opened = { tool: 'read', pattern: 'certs/*.pem', effect: 'allow', origin: 'baton.toml:1' } as const
    const { call } = toolHost(folder, { rules: [opened] })
    expect((await call('read', { path: '.env.example' })).text).toBe('1→KEY=')
    expect((await call('read', { path: 'certs/ca.pem' })).text).toBe('1→x')
    expect((await call('read', { path: '.env' })).isDenied).toBe(true)
  })
})

it('returns the rest of a truncated output, at whole lines', async () => {
  const names = Array.from({ length: 1500 }, (_, index) => `entry-with-a-very-long-name-of-many-characters-${index}`)
  const folder = tempTree()
  for (const name of names) writeFileSync(join(folder, name), '')
  const { call } = toolHost(folder)
  const first = await call('read', { path: '.', limit: 1500 })
  const [, last = '', id = '', next = ''] =
    /\n\[cut: lines 1 to (\d+) of 1501 are shown; for the rest, read "(output:\w+)" from offset (\d+)\]$/.exec(
      first.text,
    ) ?? []
  expect(Number(next)).toBe(Number(last) + 1)
  let rest = ''
  for (let offset = next; offset !== '';) {
    const { text } = await call('read', { path: id, offset: Number(offset) })
    rest += `${text.slice(0, text.lastIndexOf('\n['))}\n`
    offset = /; go on from offset (\d+)\]$/.exec(text)?.[1] ?? ''
  }
  const whole = `${first.text.slice(0, first.text.lastIndexOf('\n['))}\n${rest}`
  expect(whole.trimEnd().split('\n').slice(1).toSorted()).toEqual(names.toSorted())
  expect(await call('read', { path: 'output:123456789abc' })).toEqual({
    text: 'Error in tool "read": there is no output output:123456789abc. Call the tool that returned it again.',
    isError: true,
  })
})
