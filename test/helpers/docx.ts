import { type RawEntry, rawZip } from './raw-zip.ts'

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const word = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packages = 'http://schemas.openxmlformats.org/package/2006'

export interface DocxParts {
  /** Names of paragraph styles; paragraphs refer to them by index. */
  readonly styles: readonly string[]
  /** The target of the relationship `r2`. */
  readonly link: string
  /** Additional parts of the file. */
  readonly more?: readonly RawEntry[]
}

/** A Word document with this body. */
export function docxFile(body: string, { styles: styleNames, link, more = [] }: DocxParts): Buffer {
  const styles = styleNames.map(
    (name, index) => `<w:style w:type="paragraph" w:styleId="S${index}"><w:name w:val="${name}"/></w:style>`,
  )
  const part = (name: string, type: string): string =>
    `<Override PartName="/word/${name}.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.${type}+xml"/>`
  const parts: readonly RawEntry[] = [
    {
      name: '[Content_Types].xml',
      data: `${xml}<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${part('document', 'document.main')}${part('styles', 'styles')}</Types>`,
    },
    {
      name: '_rels/.rels',
      data: `${xml}<Relationships xmlns="${packages}/relationships"><Relationship Id="r1" Type="${office}/officeDocument" Target="word/document.xml"/></Relationships>`,
    },
    {
      name: 'word/_rels/document.xml.rels',
      data: `${xml}<Relationships xmlns="${packages}/relationships"><Relationship Id="r1" Type="${office}/styles" Target="styles.xml"/><Relationship Id="r2" Type="${office}/hyperlink" Target="${link}" TargetMode="External"/></Relationships>`,
    },
    { name: 'word/styles.xml', data: `${xml}<w:styles xmlns:w="${word}">${styles.join('')}</w:styles>` },
    {
      name: 'word/document.xml',
      method: 8,
      data: `${xml}<w:document xmlns:w="${word}" xmlns:r="${office}"><w:body>${body}</w:body></w:document>`,
    },
  ]
  return rawZip([...parts, ...more])
}

/** `style`: the index of its name in `styles`. */
export function paragraph(runs: string, style?: number): string {
  return `<w:p>${style === undefined ? '' : `<w:pPr><w:pStyle w:val="S${style}"/></w:pPr>`}${runs}</w:p>`
}

export function run(text: string, properties = ''): string {
  return `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`
}

export function row(...cells: readonly string[]): string {
  return `<w:tr>${cells.map((cell) => `<w:tc>${paragraph(run(cell))}</w:tc>`).join('')}</w:tr>`
}
