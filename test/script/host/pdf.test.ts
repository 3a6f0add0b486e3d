import { PDFDocument, StandardFonts } from '@cantoo/pdf-lib'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { pdfModule } from '../../../src/script/host/pdf.ts'
import { agentWorld, aip } from '../../helpers/agents.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

/** A PDF whose pages are 100, 101, 102… points wide. */
async function pdfOf(pages: number, lock: { userPassword?: string; ownerPassword?: string } = {}): Promise<Uint8Array> {
  const document = await PDFDocument.create()
  const font = await document.embedFont(StandardFonts.Helvetica)
  for (let page = 0; page < pages; page += 1) document.addPage([100 + page, 200]).drawText(`page ${page}`, { font })
  if (Object.keys(lock).length > 0) document.encrypt({ permissions: {}, ...lock })
  return document.save({ useObjectStreams: pages % 2 === 0, addDefaultPage: false })
}

function pdfHost(files: { readonly [path: string]: string | Uint8Array }) {
  const root = tempTree(files)
  const host = hostSection(root)
  return { ...host, root, pdf: (name: string, ...args: readonly LuaValue[]) => host.wait(pdfModule, name, ...args) }
}

describe('aip.pdf.page_count', () => {
  it('counts pages', async () => {
    const { pdf } = pdfHost({ 'docs/ü.pdf': await pdfOf(3), 'two.pdf': await pdfOf(2), 'none.pdf': await pdfOf(0) })
    expect(await pdf('page_count', 'docs/ü.pdf')).toBe(3)
    expect(await pdf('page_count', './two.pdf')).toBe(2)
    expect(await pdf('page_count', 'none.pdf')).toBe(0)
  })

  it('reads a PDF with restricted rights, and refuses one that needs a password', async () => {
    const { pdf } = pdfHost({
      'owner.pdf': await pdfOf(2, { ownerPassword: 'o' }),
      'user.pdf': await pdfOf(2, { userPassword: 'u', ownerPassword: 'o' }),
    })
    expect(await pdf('page_count', 'owner.pdf')).toBe(2)
    await expect(pdf('page_count', 'user.pdf')).rejects.toThrow('user.pdf is encrypted, and needs a password')
    await expect(pdf('split_pages', 'user.pdf')).rejects.toThrow('user.pdf is encrypted, and needs a password')
  })

  it('refuses what is not a PDF, or only a part of one', async () => {
    const whole = await pdfOf(3)
    const { pdf } = pdfHost({
      'text.pdf': 'hello',
      'empty.pdf': '',
      'head.pdf': '%PDF-1.7\n%%EOF\n',
      'half.pdf': whole.subarray(0, whole.length / 2),
      'hole.pdf': Buffer.concat([whole.subarray(0, 300), whole.subarray(700)]),
      'd/x': '',
    })
    await expect(pdf('page_count', 'text.pdf')).rejects.toThrow('text.pdf is not a PDF')
    await expect(pdf('page_count', 'empty.pdf')).rejects.toThrow('empty.pdf is not a PDF')
    await expect(pdf('page_count', 'head.pdf')).rejects.toThrow('head.pdf is damaged')
    await expect(pdf('page_count', 'half.pdf')).rejects.toThrow('half.pdf is damaged or truncated: its end is missing')
    await expect(pdf('page_count', 'hole.pdf')).rejects.toThrow('hole.pdf is damaged')
    await expect(pdf('page_count', 'missing.pdf')).rejects.toThrow('there is no file missing.pdf')
    await expect(pdf('page_count', 'd')).rejects.toThrow('d is a folder, not a file')
    await expect(pdf('page_count', '/etc/passwd')).rejects.toThrow('/etc/passwd is not a PDF')
    await expect(pdf('page_count', undefined)).rejects.toThrow(
      'aip.pdf.page_count: the path must be a string, but was nil',
    )
    await expect(pdf('page_count', {})).rejects.toThrow('must be a string or nil, but was table')
  })
})

describe('aip.pdf.split_pages', () => {
  it('writes each page next to the PDF, or to the given folder', async () => {
    const { root, pdf, events } = pdfHost({ 'docs/r.v1.pdf': await pdfOf(3) })
    expect(await pdf('split_pages', 'docs/r.v1.pdf')).toMatchObject(
      ['1', '2', '3'].map((page) => ({ _type: 'FileInfo', path: `docs/r.v1/r.v1-page-000${page}.pdf`, ext: 'pdf' })),
    )
    const widths = await Promise.all(
      readdirSync(join(root, 'docs/r.v1')).map(async (name) => {
        const page = await PDFDocument.load(readFileSync(join(root, 'docs/r.v1', name)))
        return [page.getPageCount(), page.getPage(0).getWidth()]
      }),
    )
    expect(widths).toEqual([
      [1, 100],
      [1, 101],
      [1, 102],
    ])
    expect(events[0]).toMatchObject({ type: 'file.changed', op: 'split', path: 'docs/r.v1/r.v1-page-0001.pdf' })
    expect(await pdf('split_pages', 'docs/r.v1.pdf', 'out/')).toMatchObject([
      { path: 'out/r.v1-page-0001.pdf' },
      {},
      {},
    ])
  })

  it('writes the same bytes each time, and nothing for a PDF without pages', async () => {
    const { root, pdf } = pdfHost({ 'a.pdf': await pdfOf(12), 'none.pdf': await pdfOf(0) })
    await pdf('split_pages', 'a.pdf', 'one')
    await pdf('split_pages', 'a.pdf', 'two')
    const bytes = (folder: string): Buffer => readFileSync(join(root, folder, 'a-page-0012.pdf'))
    expect(bytes('one').equals(bytes('two'))).toBe(true)
    expect(await pdf('split_pages', 'none.pdf')).toEqual([])
    expect(readdirSync(root)).toEqual(['a.pdf', 'none.pdf', 'one', 'two'])
  })

  it('writes only where scripts may write', async () => {
    const { root, pdf } = pdfHost({ 'a.pdf': await pdfOf(1) })
    await expect(pdf('split_pages', 'a.pdf', '../out')).rejects.toThrow('outside the workspace')
    await expect(pdf('split_pages', 'a.pdf', '.git')).rejects.toThrow('belongs to git')
    await expect(pdf('split_pages', 'a.pdf', {})).rejects.toThrow('the destination must be a string')
    await expect(pdf('split_pages', '/')).rejects.toThrow('/ is not the path of a file')
    await expect(pdf('split_pages', 'none.pdf')).rejects.toThrow('there is no file none.pdf')
    expect(readdirSync(root)).toEqual(['a.pdf'])
  })
})

describe('aip.pdf in scripts', () => {
  it('raises an error that pcall catches, and works in an agent', async () => {
    const { section, ...host } = pdfHost({ 'a.pdf': 'x' })
    const code = 'local ok, err = pcall(aip.pdf.page_count, "a.pdf")\nreturn { ok, tostring(err) }'
    expect(await runLua({ section, ...host }, code)).toEqual([false, expect.stringContaining('a.pdf is not a PDF')])

    const output = 'return { aip.pdf.page_count("b.pdf"), #aip.pdf.split_pages("b.pdf") }'
    const world = agentWorld({ 'a.aip': aip({ Output: output }) })
    writeFileSync(join(world.folder, 'b.pdf'), await pdfOf(2))
    expect((await world.run('a.aip')).outputs).toEqual([[2, 2]])
  })
})
