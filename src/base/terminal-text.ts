/**
 * What a terminal may obey, or what hides or reorders text on it: C0 (but line breaks and tabs) and C1, controls of the
 * direction of text, line separators, annotations, and tags, which are invisible.
 */
const unsafe = String.raw`[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]+`
const colours = String.raw`\u001b\[[\d;:]*m`
/** The codes that `Paint` writes (render/style.ts). */
const ownColour = /^\u001b\[(?:0|1|2|22|3[1-6]|39)m$/ // oxlint-disable-line no-control-regex

/** Made when it is needed: to read classes of Unicode takes a short run longer than all that it prints. */
function pattern(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join('|'), 'gu')
}

/** Blanks of no width, which make one name look like another. */
const unseen = /[\n\t]|[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]/gu

/**
 * Foreign text made safe for a terminal: colours are removed, and everything else that a terminal obeys or that changes
 * what is seen becomes visible (`␛[2J`); line breaks and tabs stay.
 */
export function harmless(text: string): string {
  return text.replace(pattern(colours, '\r\n', unsafe), (found) => {
    if (found === '\r\n') return '\n'
    return found.startsWith('\u001b[') ? '' : picture(found)
  })
}

/** The same for a name, or whatever else has to stay on its line: also line breaks, tabs and invisible blanks are seen. */
export function harmlessName(text: string): string {
  return harmless(text).replace(unseen, picture)
}

/**
 * For text of ours that is about to reach a terminal: the colours that we use stay, all else is as with `harmless`. So
 * nothing that a command forgot to clean can do harm.
 */
export function guarded(text: string): string {
  return text.replace(pattern(colours, '\r\n', unsafe), (found) => {
    if (found === '\r\n') return '\n'
    if (found.startsWith('\u001b[')) return ownColour.test(found) ? found : ''
    return picture(found)
  })
}

/** Text of one line with as many units as before, for what is counted by columns. Colours become visible too. */
export function visibleLine(line: string): string {
  return line.replace(pattern('\n', unsafe), (found) => picture(found).repeat(found.length))
}

function picture(found: string): string {
  const code = found.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/** A value as JSON of the same value that is safe for terminals: what JSON allows, and they obey, is escaped. */
export function safeJson(value: unknown, indent?: number): string {
  return escapeControls(JSON.stringify(value, null, indent))
}

/** The same for text that is JSON already. */
export function escapeControls(json: string): string {
  return json.replace(/[\u007f-\u009f\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu, (found) =>
    Array.from({ length: found.length }, (_, at) => escaped(found.charCodeAt(at))).join(''),
  )
}

function escaped(unit: number): string {
  return String.raw`\u${unit.toString(16).padStart(4, '0')}`
}
