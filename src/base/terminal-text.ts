/**
 * Characters that a terminal may obey, or that hide or reorder text on it: C0 (except line breaks and tabs) and C1,
 * text direction controls, line separators, annotations, and tags, which are invisible.
 */
const unsafe = String.raw`[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]+`
const colors = String.raw`\u001b\[[\d;:]*m`
/** The codes that `Paint` writes (render/style.ts). */
const ownColor = /^\u001b\[(?:0|[1-4]|9|2[2-4]|29|3[1-6]|39)m$/ // oxlint-disable-line no-control-regex

/** Compiled when needed: reading Unicode classes takes a short run longer than everything it prints. */
function pattern(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join('|'), 'gu')
}

/** Text that every terminal shows as it is. */
const plain = /^[\n -~]*$/
const plainLine = /^[ -~]*$/

/**
 * Characters that show nothing, look like a space, or change how others look, so that a text is not what it seems: all
 * of Unicode's controls, formats (directions, tags), default ignorables (zero-width characters, variation selectors,
 * fillers), separators and spaces except U+0020, what has no shape of its own (private, unassigned, half a pair), and
 * two blank symbols. Source of a regular expression with the flag `v`.
 */
const unseenCharacters = String.raw`[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]--[\u0020]]`

/**
 * Makes foreign text safe for a terminal: colors are removed, and everything else that a terminal obeys or that changes
 * what is seen becomes visible (`␛[2J`); line breaks and tabs are kept.
 */
export function harmless(text: string): string {
  if (plain.test(text)) return text
  return text.replace(pattern(colors, '\r\n', unsafe), (found) => {
    if (found === '\r\n') return '\n'
    return found.startsWith('\u001b[') ? '' : picture(found)
  })
}

/**
 * For a name, a path or another line that a person judges: every character that cannot be seen becomes visible (`␛`,
 * `<U+200B>`), codes of colors, line breaks and tabs too.
 */
export function harmlessName(text: string): string {
  if (plainLine.test(text)) return text
  return text.replace(new RegExp(unseenCharacters, 'gv'), shape)
}

/** The same for text of several lines, in which line breaks and tabs may be. */
export function harmlessLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(harmlessName).join('\t'))
    .join('\n')
}

/** The same for a line that the user edits: emoji of several characters stay whole, and so do C0 controls. */
export function harmlessTyped(text: string): string {
  if (plainLine.test(text)) return text
  return text.replace(new RegExp(String.raw`(\p{RGI_Emoji})|${unseenCharacters}`, 'gv'), (found, emoji?: string) => {
    return emoji ?? (found < ' ' ? found : shape(found))
  })
}

/** A visible form of a character that cannot be seen. */
function shape(unseen: string): string {
  const code = unseen.codePointAt(0) ?? 0
  if (code < 0x20 || code === 0x7f) return picture(unseen)
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}

/**
 * For Baton's own text on its way to people: our colors are kept, everything else is treated as in `harmless`, so
 * that nothing a command forgot to sanitize can do harm.
 */
export function guarded(text: string): string {
  if (plain.test(text)) return text
  return text.replace(pattern(colors, '\r\n', unsafe), (found) => {
    if (found === '\r\n') return '\n'
    if (found.startsWith('\u001b[')) return ownColor.test(found) ? found : ''
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
