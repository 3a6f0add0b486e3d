import { decodeHTMLStrict } from 'entities'

/** Decodes numeric references and HTML's named references once; both end with `;`. Unknown ones are left unchanged. */
export function decodeHtmlEntities(text: string): string {
  return text.replaceAll(/&(?:#[xX]([0-9a-fA-F]{1,6})|#(\d{1,7})|[A-Za-z][A-Za-z0-9]*);/g, (all, hex, decimal) => {
    if (hex === undefined && decimal === undefined) return decodeHTMLStrict(all)
    // the decoder maps some numbers to Windows characters, as browsers do
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    return isCharacter ? String.fromCodePoint(code) : all
  })
}
