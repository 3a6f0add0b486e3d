/**
 * Valid JSON, each value on a line of its own, indented by two spaces. Strings and numbers stay as they are written:
 * reading and writing them would change integers beyond 2^53.
 */
export function indentJson(text: string): string {
  const parts: string[] = []
  let depth = 0
  let last = ''
  for (const token of tokensOf(text)) {
    if (token === '}' || token === ']') {
      depth -= 1
      if (!isOpening(last)) parts.push(lineStart(depth))
    } else if (isOpening(last) || last === ',') parts.push(lineStart(depth))
    if (isOpening(token)) depth += 1
    parts.push(token === ':' ? ': ' : token)
    last = token
  }
  return parts.join('')
}

/** The offset behind the string that opens at `start`; the end of the text when it is not closed. */
export function jsonStringEnd(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return Math.min(index + 1, text.length)
}

function* tokensOf(text: string): Generator<string> {
  const plain = /[^\s{}[\],:"]+/y
  for (let index = 0; index < text.length;) {
    const character = text[index] ?? ''
    if (character === '"') {
      const end = jsonStringEnd(text, index)
      yield text.slice(index, end)
      index = end
    } else if (/[{}[\],:]/.test(character)) {
      yield character
      index += 1
    } else if (/\s/.test(character)) {
      index += 1
    } else {
      plain.lastIndex = index
      const word = plain.exec(text)?.[0] ?? character
      yield word
      index += word.length
    }
  }
}

function isOpening(token: string): boolean {
  return token === '{' || token === '['
}

function lineStart(depth: number): string {
  return `\n${'  '.repeat(depth)}`
}
