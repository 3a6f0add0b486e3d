/** A word (a name, keyword or number) or one mark of punctuation. Offsets count from 0. */
export interface RustToken {
  readonly text: string
  readonly start: number
  readonly end: number
}

/**
 * The words and marks of Rust source, without blanks, comments, strings, characters and lifetimes. A raw name such as
 * `r#fn` is one word. What is opened and never closed reaches to the end. Takes time in proportion to the length.
 */
export function rustTokens(code: string): readonly RustToken[] {
  const tokens: RustToken[] = []
  for (let at = 0; at < code.length;) {
    const skipped = skip(code, at)
    if (skipped !== undefined) {
      at = skipped
      continue
    }
    const end = wordEnd(code, at)
    const length = end > at ? end - at : 1
    tokens.push({ text: code.slice(at, at + length), start: at, end: at + length })
    at += length
  }
  return tokens
}

const blank = /\s/
const wideWordPart = /[\p{L}\p{N}\p{M}]/u

/** Where the blank, comment or literal that begins here ends; undefined when something else begins. */
function skip(code: string, at: number): number | undefined {
  const character = code.charAt(at)
  if (blank.test(character)) return at + 1
  if (character === '/') return commentEnd(code, at)
  if (character === '"') return stringEnd(code, at + 1)
  if (character === "'") return quoteEnd(code, at + 1)
  return character === 'b' || character === 'c' || character === 'r' ? prefixedEnd(code, at) : undefined
}

/** Strings and characters with a letter before them: `b"…"`, `c"…"`, `b'…'`, `r"…"`, `br#"…"#`. */
function prefixedEnd(code: string, at: number): number | undefined {
  const mark = code.charAt(at) === 'r' ? at : at + 1
  if (mark > at && (code.charAt(mark) === '"' || code.charAt(mark) === "'")) return mark
  if (code.charAt(mark) !== 'r') return undefined
  let quote = mark + 1
  while (code.charAt(quote) === '#') quote += 1
  if (code.charAt(quote) !== '"') return undefined
  return endOf(code, `"${'#'.repeat(quote - mark - 1)}`, quote + 1)
}

function commentEnd(code: string, at: number): number | undefined {
  if (code.startsWith('//', at)) {
    const newline = code.indexOf('\n', at)
    return newline === -1 ? code.length : newline
  }
  return code.startsWith('/*', at) ? blockCommentEnd(code, at + 2) : undefined
}

/** Block comments nest. */
function blockCommentEnd(code: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  for (let depth = 1; ;) {
    const found = mark.exec(code)
    if (found === null) return code.length
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
}

function stringEnd(code: string, from: number): number {
  const mark = /\\|"/g
  mark.lastIndex = from
  for (let found = mark.exec(code); found !== null; found = mark.exec(code)) {
    if (found[0] === '"') return mark.lastIndex
    mark.lastIndex += 1
  }
  return code.length
}

/** Behind a `'`: a character when another `'` closes it, else the name of a lifetime or label. */
function quoteEnd(code: string, from: number): number {
  if (code.charAt(from) === '\\') return endOf(code, "'", from + 2)
  const length = (code.codePointAt(from) ?? 0) > 0xffff ? 2 : 1
  return code.charAt(from + length) === "'" ? from + length + 1 : wordEnd(code, from)
}

function wordEnd(code: string, at: number): number {
  let end = code.startsWith('r#', at) && isWordPart(code.codePointAt(at + 2) ?? 0) ? at + 2 : at
  for (let point = code.codePointAt(end); point !== undefined && isWordPart(point); point = code.codePointAt(end)) {
    end += point > 0xffff ? 2 : 1
  }
  return end
}

function isWordPart(point: number): boolean {
  if (point > 0x7f) return wideWordPart.test(String.fromCodePoint(point))
  const isLetter = (point >= 0x61 && point <= 0x7a) || (point >= 0x41 && point <= 0x5a)
  return isLetter || point === 0x5f || (point >= 0x30 && point <= 0x39)
}

function endOf(code: string, mark: string, from: number): number {
  const found = code.indexOf(mark, from)
  return found === -1 ? code.length : found + mark.length
}
