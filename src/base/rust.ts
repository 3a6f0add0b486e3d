type Tokens = readonly RustToken[]

/**
 * Rust source in which `// ...` replaces the bodies of functions, and the content of modules marked `#[cfg(test)]`.
 * Functions are found everywhere, also in implementations, traits and macros; empty bodies are kept. Text after a brace
 * that is never closed is left unchanged.
 */
export function pruneToDeclarations(code: string): string {
  const tokens = rustTokens(code)
  const newline = code.charAt(code.indexOf('\n') - 1) === '\r' ? '\r\n' : '\n'
  const pieces: string[] = []
  let written = 0
  let indent = ''
  for (let at = 0; at < tokens.length;) {
    const { block, next } = step(tokens, at)
    at = next
    if (block === undefined) continue
    const before = code.slice(written, block.start)
    const line = before.lastIndexOf('\n') + 1
    if (written === 0 || line > 0) indent = blanksAt(before, line)
    pieces.push(before, emptied(code.slice(block.start, block.end), { indent, newline }))
    written = block.end
  }
  return pieces.join('') + code.slice(written)
}

/** The text between two braces. */
interface Block {
  readonly start: number
  readonly end: number
}

interface Step {
  readonly block?: Block
  /** The token to continue at. */
  readonly next: number
}

function step(tokens: Tokens, at: number): Step {
  if (is(tokens, at, '#')) return afterAttribute(tokens, at)
  const signature = is(tokens, at, 'fn') ? signatureStart(tokens, at + 1) : undefined
  if (signature === undefined) return { next: at + 1 }
  const end = signatureEnd(tokens, signature)
  return is(tokens, end, '{') ? blockAt(tokens, end) : { next: end }
}

function is(tokens: Tokens, at: number, text: string): boolean {
  return tokens[at]?.text === text
}

/**
 * The token after the name of a function, which may be a `$variable` of a macro; undefined after the `fn` of a type.
 */
function signatureStart(tokens: Tokens, at: number): number | undefined {
  const name = is(tokens, at, '$') ? at + 1 : at
  const isFunction =
    /^[\p{L}_]/u.test(tokens[name]?.text ?? '') && (is(tokens, name + 1, '(') || is(tokens, name + 1, '<'))
  return isFunction ? name + 1 : undefined
}

/**
 * The token that ends a signature: the `{` of the body, the `;` of a declaration, or a bracket that closes the code around
 * it. Braces inside brackets and generics are constant expressions and belong to the signature.
 */
function signatureEnd(tokens: Tokens, from: number): number {
  let brackets = 0
  let angles = 0
  for (let at = from; at < tokens.length; at += 1) {
    switch (tokens[at]?.text ?? '') {
      case '(':
      case '[':
        brackets += 1
        break
      case ')':
      case ']':
        if (brackets === 0) return at
        brackets -= 1
        break
      case '<':
        if (brackets === 0) angles += 1
        break
      case '>':
        if (brackets === 0 && !isArrow(tokens, at)) angles -= 1
        break
      case '{':
        if (brackets === 0 && angles <= 0) return at
        at = closing(tokens, at) ?? tokens.length
        break
      case '}':
        return at
      case ';':
        if (brackets === 0) return at
        break
      case '=':
        if (brackets === 0 && angles <= 0) return at
        break
    }
  }
  return tokens.length
}

/** Whether the `>` here is part of `->` or `=>`. */
function isArrow(tokens: Tokens, at: number): boolean {
  const before = tokens[at - 1]
  return before !== undefined && before.end === tokens[at]?.start && (before.text === '-' || before.text === '=')
}

function blockAt(tokens: Tokens, open: number): Step {
  const close = closing(tokens, open)
  const [first, last] = [tokens[open], tokens[close ?? -1]]
  if (close === undefined || first === undefined || last === undefined) return { next: tokens.length }
  return { block: { start: first.end, end: last.start }, next: close + 1 }
}

/** The position of the `}` that closes a `{`. */
function closing(tokens: Tokens, open: number): number | undefined {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    if (is(tokens, at, '{')) depth += 1
    if (is(tokens, at, '}')) depth -= 1
    if (depth === 0) return at
  }
  return undefined
}

/** A module after `#[cfg(test)]` or `#[cfg(all(test, …))]`, further attributes and `pub(…)` is one block. */
function afterAttribute(tokens: Tokens, at: number): Step {
  const condition = ['[', 'cfg', '('].every((text, index) => is(tokens, at + 1 + index, text)) ? at + 4 : undefined
  if (condition === undefined) return { next: at + 1 }
  const test = is(tokens, condition, 'all') ? condition + 2 : condition
  if (!is(tokens, test, 'test')) return { next: at + 1 }
  const item = itemStart(tokens, at)
  const open = item + 2
  return is(tokens, item, 'mod') && is(tokens, open, '{') ? blockAt(tokens, open) : { next: item }
}

/** The keyword of an item after its attributes and visibility. */
function itemStart(tokens: Tokens, from: number): number {
  let at = from
  while (is(tokens, at, '#') && is(tokens, at + 1, '[')) at = bracketEnd(tokens, at + 1)
  if (!is(tokens, at, 'pub')) return at
  return is(tokens, at + 1, '(') ? bracketEnd(tokens, at + 1) : at + 1
}

/** The token after the bracket that closes the `(` or `[` here. */
function bracketEnd(tokens: Tokens, open: number): number {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    if (is(tokens, at, '(') || is(tokens, at, '[')) depth += 1
    if (is(tokens, at, ')') || is(tokens, at, ']')) depth -= 1
    if (depth === 0) return at + 1
  }
  return tokens.length
}

interface Layout {
  /** Of the line with the opening brace. */
  readonly indent: string
  readonly newline: string
}

/** The replacement of the text between two braces: `// ...` on its own line, unless the text is blank. */
function emptied(inside: string, { indent, newline }: Layout): string {
  if (inside.trim() === '') return inside
  const lastLine = inside.lastIndexOf('\n') + 1
  const blanks = blanksAt(inside, lastLine)
  const own = lastLine > 0 && lastLine + blanks.length === inside.length ? blanks : indent
  return `${newline}${own}    // ...${newline}${own}`
}

/** The blanks and tabs from here on. */
function blanksAt(text: string, from: number): string {
  let end = from
  while (text.charAt(end) === ' ' || text.charAt(end) === '\t') end += 1
  return text.slice(from, end)
}

/** A word (a name, keyword or number) or one punctuation character. */
interface RustToken {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Blanks, line comments, strings, raw strings, and characters, lifetimes and labels. Unclosed ones reach to the end. */
const ignored =
  /\s+|\/\/[^\n]*|[bc]?"[^"\\]*(?:\\[^]?[^"\\]*)*(?:"|$)|[bc]?r(#*)"[^]*?(?:"\1|$)|[bc]?'(?:\\[^]?[^']*(?:'|$)|[^\\][\udc00-\udfff]?'|[\w\u0080-\uffff]*)/y

/** The words and punctuation of Rust source, without comments, strings, characters and lifetimes. Takes linear time. */
function rustTokens(code: string): Tokens {
  // a raw name such as `r#fn` is one word; compiled here because such a pattern takes a millisecond
  const word = /(?:r#(?=[\p{L}\p{N}\p{M}_]))?[\p{L}\p{N}\p{M}_]+/uy
  const tokens: RustToken[] = []
  for (let at = 0; at < code.length;) {
    const end = ignoredEnd(code, at)
    if (end > at) {
      at = end
      continue
    }
    word.lastIndex = at
    const text = word.exec(code)?.[0] ?? code.charAt(at)
    tokens.push({ text, start: at, end: at + text.length })
    at += text.length
  }
  return tokens
}

function ignoredEnd(code: string, at: number): number {
  if (code.startsWith('/*', at)) return blockCommentEnd(code, at + 2)
  ignored.lastIndex = at
  return ignored.test(code) ? ignored.lastIndex : at
}

/** Block comments nest. */
function blockCommentEnd(code: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  for (let depth = 1; depth > 0;) {
    const found = mark.exec(code)
    if (found === null) return code.length
    depth += found[0] === '/*' ? 1 : -1
  }
  return mark.lastIndex
}
