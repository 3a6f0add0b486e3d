/** Bytes 128 to 255 in the code page that zip names had before they were UTF-8. */
const codePage437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀' +
  'αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0'

/** Systems whose tools have written `\` between folders: DOS, OS/2, NTFS, VFAT. */
const backslashHosts: ReadonlySet<number> = new Set([0, 6, 10, 14])

export interface ZipNameOrigin {
  /** The system the entry was made on, as the zip format numbers them. */
  readonly host: number
  /** The entry says that its name is UTF-8. */
  readonly isUtf8: boolean
}

/**
 * The name of an entry as text. Names that do not say what they are written in are UTF-8 when they can be, as most tools
 * write them, else code page 437. A name from Windows or DOS that has `\` and no `/` has it between folders.
 * Undefined when a name says that it is UTF-8 and is not.
 */
export function decodeZipName(bytes: Uint8Array, { host, isUtf8 }: ZipNameOrigin): string | undefined {
  const name = utf8(bytes) ?? (isUtf8 ? undefined : oldName(bytes))
  if (name === undefined || name.includes('/') || !backslashHosts.has(host)) return name
  return name.replaceAll('\\', '/')
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function oldName(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : (codePage437[byte - 128] ?? ''))).join(
    '',
  )
}
