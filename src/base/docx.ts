import mammoth from 'mammoth'
import { BatonError, messageOf } from './error.ts'
import { checkSizes } from './archive.ts'
import { xmlFault } from './xml-form.ts'
import { openZip, readZipEntry } from './zip.ts'

/** Headings one level below the document's own, because its title is the first, as in AIPack; at most level 6. */
const styles: readonly string[] = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='Subtitle'] => p > strong:fresh",
  ...[1, 2, 3, 4, 5, 6].map((level) => `p[style-name='heading ${level}'] => h${Math.min(level + 1, 6)}:fresh`),
  'u => u',
]

/**
 * Converts a Word document to HTML: headings, lists, tables, links and emphasis, without pictures. Files it refers to
 * are not read. Its content is checked as an archive and as XML first, because the library unpacks without limits.
 * `name` is its name in messages. Import this file lazily.
 * @throws BatonError FILE_FAILED unless it is an intact Word document within the size limits
 */
export async function htmlFromDocx(bytes: Uint8Array, name: string): Promise<string> {
  const zip = openZip(bytes, { archive: name })
  checkSizes(zip.entries, zip)
  for (const entry of zip.entries) {
    const content = readZipEntry(zip, entry)
    const fault = /\.(?:xml|rels)$/i.test(entry.name) ? xmlFault(Buffer.from(content).toString('latin1')) : undefined
    if (fault !== undefined) throw docxFailed(name, `cannot be read as a Word document: ${entry.name} ${fault}`)
  }
  if (!zip.entries.some((entry) => entry.name === '[Content_Types].xml')) {
    throw docxFailed(name, 'is a zip archive, but not a Word document')
  }
  try {
    const { value } = await mammoth.convertToHtml(
      { buffer: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) },
      {
        styleMap: [...styles],
        includeEmbeddedStyleMap: false,
        externalFileAccess: false,
        convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
      },
    )
    return value
  } catch (error) {
    throw docxFailed(name, `cannot be read as a Word document: ${messageOf(error)}`, error)
  }
}

function docxFailed(name: string, problem: string, cause?: unknown): BatonError {
  return new BatonError('FILE_FAILED', `${name} ${problem}`, { hint: 'Only .docx files can be read.', cause })
}
