import { Zip, ZipDeflate, ZipPassThrough } from 'fflate'

/** An entry to write. */
export type ZipInput =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string; readonly content: Uint8Array; readonly isExecutable: boolean }

/** The earliest time of the format. The same for all entries, so that equal folders produce equal archives. */
const noTime = new Date(1980, 0, 1)
const unix = 3

/**
 * A zip file with these entries in this order, files compressed with deflate. Paths are relative with `/`, and are not
 * checked. The same entries always produce the same bytes. Import this file lazily.
 */
export function writeZip(entries: Iterable<ZipInput>): Uint8Array {
  const chunks: Uint8Array[] = []
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error
    chunks.push(chunk)
  })
  for (const entry of entries) addEntry(zip, entry)
  zip.end()
  return Buffer.concat(chunks)
}

function addEntry(zip: Zip, entry: ZipInput): void {
  const isFile = entry.kind === 'file'
  const stream = isFile ? new ZipDeflate(entry.path) : new ZipPassThrough(`${entry.path}/`)
  const mode = isFile ? (entry.isExecutable ? 0o100755 : 0o100644) : 0o040755
  stream.os = unix
  // the shift is signed, the field is not
  stream.attrs = ((mode << 16) | (isFile ? 0 : 0x10)) >>> 0
  stream.mtime = noTime
  zip.add(stream)
  stream.push(isFile ? entry.content : new Uint8Array(), true)
}
