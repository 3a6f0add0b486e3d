import { expect } from 'vitest'
import { rawZip, type RawEntry } from '../helpers/raw-zip.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld } from './harness.ts'

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const word = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
const packages = 'http://schemas.openxmlformats.org/package/2006'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument'

/** A Word document; `target` is the part that it declares as its text. */
function docx(part: Partial<RawEntry>, target = 'word/document.xml'): Buffer {
  return rawZip([
    {
      name: '[Content_Types].xml',
      data: `${xml}<Types xmlns="${packages}/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    },
    {
      name: '_rels/.rels',
      data: `${xml}<Relationships xmlns="${packages}/relationships"><Relationship Id="r1" Type="${office}" Target="${target}"/></Relationships>`,
    },
    { name: 'word/document.xml', method: 8, ...part },
  ])
}

function document(body: string, before = ''): Buffer {
  return docx({ data: `${xml}${before}<w:document xmlns:w="${word}"><w:body>${body}</w:body></w:document>` })
}

const size = 1_000_000
const filled = (text: string): string => text.repeat(size / text.length)
const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`
const table = (rows: string): string => `<w:tbl>${rows}</w:tbl>`
const cells = '<w:tc><w:p/></w:tc>'.repeat(200)

/** Each letter expands to ten of the one before. */
const multiplied = Array.from(
  'bcdefghijklm',
  (letter, index) => `<!ENTITY ${letter} "${`&${'abcdefghijkl'[index]};`.repeat(10)}">`,
).join('')

/** With the error that the script gets, or the length of its text. */
const refused: Readonly<Record<string, readonly [() => Buffer, string]>> = {
  'texts that multiply': [
    () => document(paragraph('&m;'), `<!DOCTYPE d [<!ENTITY a "text">${multiplied}]>`),
    'word/document.xml has a document type',
  ],
  'comments without an end': [() => document(filled('<!--')), 'that is not closed'],
  'instructions without an end': [() => document(filled('<?x ')), 'that is not closed'],
  'tags without an end': [() => document(filled('<')), 'that is not closed'],
  'a value without an end': [() => document(`<w:p a="${filled('x')}`), 'that is not closed'],
  'tables in tables': [() => document(filled('<w:tbl><w:tr><w:tc>')), 'is nested deeper than 1000 levels'],
  'a part that says it is huge': [() => docx({ data: 'x', size: 300 * 2 ** 20 }), 'at most 256.0 MiB can be unpacked'],
  'a part that unpacks to a thousand times its size': [
    () => docx({ data: '<'.repeat(64 * 2 ** 20) }),
    'it looks like a zip bomb',
  ],
  'a part that is larger than it says': [() => docx({ data: filled('x'), size: 100 }), 'has more than the 100 bytes'],
  'a file of this machine as an entity': [
    () => document(paragraph('&x;'), '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>'),
    'word/document.xml has a document type',
  ],
  'a file of this machine as its text': [
    () => docx({ data: paragraph('x') }, '../../../../../../etc/hostname'),
    'cannot be read as a Word document',
  ],
}

attack('a hostile Word document is refused', { core: refused, every: 3 }, async ([made, told]) => {
  const { end } = await converted(made(), [])
  expect(end.code, end.stderr).toBe(0)
  expect(end.stdout).toContain(told)
})

const long: Readonly<Record<string, () => Buffer>> = {
  'a table of many cells': () => document(table(`<w:tr>${cells}</w:tr>`.repeat(size / 200 / 19))),
  'cells that continue each other': () =>
    document(table(filled('<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr>'))),
  'many paragraphs': () => document(filled(paragraph('x'))),
  'many formatted words': () => document(`<w:p>${filled('<w:r><w:rPr><w:b/><w:i/></w:rPr><w:t>x</w:t></w:r>')}</w:p>`),
  'many fields that are not closed': () =>
    document(`<w:p>${filled('<w:r><w:fldChar w:fldCharType="begin"/></w:r>')}</w:p>`),
}

attack(
  'a Word document that takes long is ended by the limit of the script',
  { core: long, every: 3 },
  async (made) => {
    const { end } = await converted(made(), ['-c', 'lua.timeout=200ms'])
    expect(end.code, end.stderr).toBe(4)
    expect(end.stderr).toContain('error: the script ran longer than 200 ms')
  },
)

async function converted(bytes: Buffer, args: readonly string[]) {
  const script = 'local ok, text = pcall(aip.file.load_docx_as_md, "a.docx"); return tostring(text)\n'
  const world = createWorld({ work: { 'a.docx': bytes, 'a.lua': script } })
  const end = await world.run(['a.lua', ...args])
  expectHeld(world, end)
  return { end }
}
