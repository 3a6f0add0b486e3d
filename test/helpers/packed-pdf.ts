import { deflateSync } from 'node:zlib'

interface PackedStream {
  /** Its encodings, as in a PDF. */
  readonly filter: string
  readonly content: Uint8Array
  /** It is a list of objects instead of the content of the page. */
  readonly isObjects?: true
}

/** Spaces, compressed twice: a thousandth of a thousandth of their number. */
export function packedTwice(bytes: number): Buffer {
  return deflateSync(deflateSync(Buffer.alloc(bytes, ' '), { level: 9 }), { level: 9 })
}

/** A PDF of one page. */
export function packedPdf({ filter, content, isObjects }: PackedStream): Uint8Array {
  const kind = isObjects === true ? '/Type/ObjStm/N 1/First 5' : ''
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Count 1/Kids[3 0 R]>>',
    `<</Type/Page/Parent 2 0 R${isObjects === true ? '' : '/Contents 4 0 R'}/MediaBox[0 0 9 9]>>`,
    `<</Length ${content.length}${kind}/Filter ${filter}>>stream\n${Buffer.from(content).toString('latin1')}\nendstream`,
  ]
  let text = '%PDF-1.5\n'
  const offsets = objects.map((object, index) => {
    const at = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return `${String(at).padStart(10, '0')} 00000 n \n`
  })
  const table = `xref\n0 5\n0000000000 65535 f \n${offsets.join('')}trailer<</Size 5/Root 1 0 R>>\n`
  return new Uint8Array(Buffer.from(`${text}${table}startxref\n${text.length}\n%%EOF`, 'latin1'))
}
