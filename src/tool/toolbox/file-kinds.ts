/** The kind of a file that is not text, by its first bytes. */
export type FileKind =
  | { readonly kind: 'image' | 'document'; readonly mediaType: string }
  /** `what` completes "it is …". */
  | { readonly kind: 'binary'; readonly what: string }

/** Bytes at the start of a file that are enough to detect its kind. */
export const headBytes = 8 * 1024

const media: readonly (readonly [magic: RegExp, mediaType: string])[] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'], // oxlint-disable-line no-control-regex
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[^]{4}WEBP/, 'image/webp'],
  [/^%PDF-/, 'application/pdf'],
]

const binaries: readonly (readonly [magic: RegExp, what: string])[] = [
  [/^PK(?:\x03\x04|\x05\x06)/, 'a zip archive, or a document in one'], // oxlint-disable-line no-control-regex
  [/^\x1f\x8b/, 'compressed with gzip'], // oxlint-disable-line no-control-regex
  [/^(?:BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf)/, 'compressed'],
  [/^[^]{257}ustar/, 'a tar archive'],
  [/^(?:\x7fELF|MZ|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm)/, 'a program'], // oxlint-disable-line no-control-regex
  [/^SQLite format 3\0/, 'an SQLite database'], // oxlint-disable-line no-control-regex
  [/^(?:\xff\xfe|\xfe\xff)/, 'text in UTF-16'],
  [/^(?:ID3|OggS|fLaC|RIFF[^]{4}WAVE|\xff\xfb)/, 'sound'],
  [/^(?:[^]{4}ftyp|\x1aE\xdf\xa3|RIFF[^]{4}AVI )/, 'a video or an image'], // oxlint-disable-line no-control-regex
  [/^(?:BM[^]{4}\0\0\0\0|II\*\0|MM\0\*|\0\0\x01\0)/, 'an image of another kind'], // oxlint-disable-line no-control-regex
]

/** The kind of a file, by its first bytes; undefined for text, which has no NUL byte. */
export function fileKind(head: Uint8Array): FileKind | undefined {
  const beginning = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, headBytes)).toString('latin1')
  const [, mediaType] = media.find(([magic]) => magic.test(beginning)) ?? []
  if (mediaType !== undefined) return { kind: mediaType.startsWith('image/') ? 'image' : 'document', mediaType }
  if (!beginning.includes('\0') && !/^(?:\xff\xfe|\xfe\xff|\x1f\x8b)/.test(beginning)) return undefined // oxlint-disable-line no-control-regex
  const [, what = 'no text'] = binaries.find(([magic]) => magic.test(beginning)) ?? []
  return { kind: 'binary', what }
}
