import { decodeHTMLStrict } from 'entities'

/** Decodes numeric references and the names of HTML once; both end with `;`. Unknown ones stay as they are. */
export function decodeHtmlEntities(text: string): string {
  return text.replaceAll(/&(?:#[xX]([0-9a-fA-F]{1,6})|#(\d{1,7})|[A-Za-z][A-Za-z0-9]*);/g, (all, hex, decimal) => {
    if (hex === undefined && decimal === undefined) return decodeHTMLStrict(all)
    // the decoder reads some numbers as characters of Windows, as browsers do
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    return isCharacter ? String.fromCodePoint(code) : all
  })
}
