import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { fileModule } from '../../../src/script/host/file.ts'
import { docxFile, paragraph, row, run } from '../../helpers/docx.ts'
import { type RawEntry, rawZip } from '../../helpers/raw-zip.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const styles = ['Title', 'Subtitle', 'heading 1', 'heading 2', 'heading 6']

function docx(body: string, more: readonly RawEntry[] = []): Buffer {
  return docxFile(body, { styles, link: 'https://example.org/a', more })
}

const report = docx(
  [
    paragraph(run('Grüße'), 0),
    paragraph(run('Under it'), 1),
    paragraph(run('First'), 2),
    paragraph(
      run('Plain, ') +
        run('bold', '<w:b/>') +
        run(' and ') +
        run('slanted', '<w:i/>') +
        run(' 名前 🎉 &lt;b&gt; ') +
        run('gone', '<w:strike/>') +
        run(' ') +
        run('under', '<w:u w:val="single"/>'),
    ),
    paragraph(run('Second'), 3),
    paragraph(`<w:hyperlink r:id="r2">${run('a link')}</w:hyperlink>`),
    paragraph(run('Deepest'), 4),
    `<w:tbl>${row('a', 'b')}${row('1', '2')}</w:tbl>`,
  ].join(''),
)

function docxHost(files: { readonly [path: string]: string | Uint8Array }) {
  const root = tempTree(files)
  const host = hostSection(root)
  return { ...host, root, file: (name: string, ...args: readonly LuaValue[]) => host.wait(fileModule, name, ...args) }
}

describe('aip.file.load_docx_as_md', () => {
  it('returns headings, emphasis, struck out and underlined text, links and tables as Markdown', async () => {
    const { file } = docxHost({ 'r.docx': report })
    expect(await file('load_docx_as_md', 'r.docx')).toBe(`# Grüße

**Under it**

## First

Plain, **bold** and *slanted* 名前 🎉 \\<b> ~~gone~~ <u>under</u>

### Second

[a link](https://example.org/a)

###### Deepest

| a | b |
| - | - |
| 1 | 2 |`)
  })

  it('accepts empty and large documents', async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => paragraph(run(`line ${index}`))).join('')
    const { file } = docxHost({ 'empty.docx': docx(''), 'large.docx': docx(many) })
    expect(await file('load_docx_as_md', 'empty.docx')).toBe('')
    expect(String(await file('load_docx_as_md', 'large.docx')).split('\n\n')).toHaveLength(3_000)
  })

  it('refuses other files, damaged documents, and zip bombs', async () => {
    const { file } = docxHost({
      'text.docx': 'hello',
      'zip.docx': rawZip([{ name: 'a' }]),
      'half.docx': report.subarray(0, 500),
      'bad.docx': docx('<w:p>'),
      'none.docx': rawZip([{ name: '[Content_Types].xml', data: '<Types/>' }]),
      'bomb.docx': docx('', [{ name: 'x', method: 8, packed: deflateRawSync(Buffer.alloc(8e6)), size: 8e6 }]),
      'lie.docx': docx('', [{ name: 'x', method: 8, packed: deflateRawSync(Buffer.alloc(8e6)), size: 8 }]),
    })
    const load = (path: LuaValue): Promise<LuaValue> => file('load_docx_as_md', path)
    await expect(load('text.docx')).rejects.toThrow('text.docx is not a zip archive')
    await expect(load('zip.docx')).rejects.toThrow('zip.docx is a zip archive, but not a Word document')
    await expect(load('half.docx')).rejects.toThrow('half.docx is not a zip archive, or is truncated')
    await expect(load('bad.docx')).rejects.toThrow('bad.docx cannot be read as a Word document')
    await expect(load('none.docx')).rejects.toThrow('none.docx cannot be read as a Word document')
    await expect(load('bomb.docx')).rejects.toThrow('looks like a zip bomb')
    await expect(load('lie.docx')).rejects.toThrow('has more than the 8 bytes it declares')
    await expect(load('missing.docx')).rejects.toThrow('there is no file missing.docx')
    await expect(load(undefined)).rejects.toThrow('aip.file.load_docx_as_md: the path must be a string, but was nil')
  })

  it('raises an error that pcall catches', async () => {
    const { section, ...host } = docxHost({ 'r.docx': 'x' })
    const code = 'local ok, err = pcall(aip.file.load_docx_as_md, "r.docx")\nreturn { ok, tostring(err) }'
    expect(await runLua({ section, ...host }, code)).toEqual([false, expect.stringContaining('r.docx is not a zip')])
  })
})

describe('aip.file.save_docx_to_md', () => {
  it('saves next to the document, under a path, or where the options say', async () => {
    const { root, file } = docxHost({ 'docs/r.docx': report })
    expect(await file('save_docx_to_md', 'docs/r.docx')).toMatchObject({
      _type: 'FileInfo',
      path: 'docs/r.md',
      ext: 'md',
    })
    const text = await file('load_docx_as_md', 'docs/r.docx')
    expect(readFileSync(join(root, 'docs/r.md'), 'utf8')).toBe(text)
    const paths = [
      await file('save_docx_to_md', 'docs/r.docx', 'out/a.md'),
      await file('save_docx_to_md', 'docs/r.docx', { base_dir: 'out' }),
      await file('save_docx_to_md', 'docs/r.docx', { suffix: '_v2', slim: true }),
      await file('save_docx_to_md', 'docs/r.docx', { base_dir: 'out', file_name: 'x.txt' }),
    ].map((info) => (info as { readonly path: string }).path)
    expect(paths).toEqual(['out/a.md', 'out/r.md', 'docs/r_v2.md', 'out/x.txt'])
  })

  it('writes only where scripts may write', async () => {
    const { root, file } = docxHost({ 'r.docx': report })
    await expect(file('save_docx_to_md', 'r.docx', '../x.md')).rejects.toThrow('outside the workspace')
    await expect(file('save_docx_to_md', 'r.docx', { base_dir: '.git' })).rejects.toThrow('belongs to git')
    await expect(file('save_docx_to_md', 'r.docx', 5)).resolves.toMatchObject({ path: '5' })
    await expect(file('save_docx_to_md', 'none.docx')).rejects.toThrow('there is no file none.docx')
    expect(readdirSync(root)).toEqual(['5', 'r.docx'])
  })
})
