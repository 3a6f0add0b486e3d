/**
 * Characters that a terminal may obey, or that hide or reorder text on it: C0 (except line breaks and tabs) and C1,
 * text direction controls, line separators, annotations, and tags, which are invisible.
 */
const unsafe = String.raw`[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]+`
const colours = String.raw`\u001b\[[\d;:]*m`
/** The codes that `Paint` writes (render/style.ts). */
const ownColour = /^\u001b\[(?:0|1|2|22|3[1-6]|39)m$/ // oxlint-disable-line no-control-regex

/** Compiled when needed: reading Unicode classes takes a short run longer than everything it prints. */
function pattern(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join('|'), 'gu')
}

/** Text that every terminal shows as it is. */
const plain = /^[\n -~]*$/

/** Zero-width characters, which make one name look like another. */
const unseen = /[\n\t]|[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]/gu

/**
 * Makes foreign text safe for a terminal: colors are removed, and everything else that a terminal obeys or that changes
 * what is seen becomes visible (`␛[2J`); line breaks and tabs are kept.
 */
export function harmless(text: string): string {
  if (plain.test(text)) return text
  return text.replace(pattern(colours, '\r\n', unsafe), (found) => {
    if (found === '\r\n') return '\n'
    return found.startsWith('\u001b[') ? '' : picture(found)
  })
}

/** Like `harmless`, for a name or other one-line text: line breaks, tabs and invisible blanks become visible too. */
export function harmlessName(text: string): string {
  return harmless(text).replace(unseen, picture)
}

/**
 * Harmless text of several lines behind a heading of Baton's: the lines after the first are marked, unless they are
 * indented, so that none of them passes for a line of Baton or of another program.
 */
export function continued(text: string): string {
  return harmless(text).replaceAll(/\n(?! {2}|\n|$)/g, '\n  │ ')
}

/**
 * For Baton's own text on its way to people: our colors are kept, everything else is treated as in `harmless`, so
 * that nothing a command forgot to sanitize can do harm.
 */
export function guarded(text: string): string {
  if (plain.test(text)) return text
  return text.replace(pattern(colours, '\r\n', unsafe), (found) => {
    if (found === '\r\n') return '\n'
    if (found.startsWith('\u001b[')) return ownColour.test(found) ? found : ''
    return picture(found)
  })
}

/** One line of text with unchanged length in UTF-16 units, for code that counts columns. Colors become visible too. */
export function visibleLine(line: string): string {
  return line.replace(pattern('\n', unsafe), (found) => picture(found).repeat(found.length))
}

function picture(found: string): string {
  const code = found.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/** The value as JSON that is safe for terminals: characters that JSON allows but terminals obey are escaped. */
export function safeJson(value: unknown, indent?: number): string {
  return escapeControls(JSON.stringify(value, null, indent))
}

/** The same for text that is already JSON. */
export function escapeControls(json: string): string {
  return json.replace(/[\u007f-\u009f\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu, (found) =>
    Array.from({ length: found.length }, (_, at) => escaped(found.charCodeAt(at))).join(''),
  )
}

function escaped(unit: number): string {
  return String.raw`\u${unit.toString(16).padStart(4, '0')}`
}
