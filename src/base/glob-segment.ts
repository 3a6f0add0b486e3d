import { BatonError } from './error.ts'

/** One piece of a name with wildcards. */
export type WildToken =
  | { readonly kind: 'character'; readonly text: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'star' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] }

/** Reads one name of a glob. `glob` is the whole glob, for messages. */
export function parseWild(step: string, glob: string): WildToken[] {
  const characters = Array.from(step)
  const tokens: WildToken[] = []
  for (let index = 0; index < characters.length; index += 1) {
    const text = characters[index] ?? ''
    if (text === '\\' && index + 1 < characters.length) {
      index += 1
      tokens.push({ kind: 'character', text: characters[index] ?? '' })
    } else if (text === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' })
    } else if (text === '?') tokens.push({ kind: 'any' })
    else if (text === '[') {
      const end = classEnd(characters, index, glob)
      tokens.push(parseClass(characters.slice(index + 1, end)))
      index = end
    } else tokens.push({ kind: 'character', text })
  }
  return tokens
}

/** A `]` that comes first in the class is one of its characters. */
function classEnd(characters: readonly string[], open: number, glob: string): number {
  const negated = characters[open + 1] === '!' || characters[open + 1] === '^'
  const end = characters.indexOf(']', open + (negated ? 3 : 2))
  if (end !== -1) return end
  throw new BatonError('USAGE', `the glob "${glob}" has a [ without its ]`, {
    hint: 'Close it, or write \\[ for the character itself.',
  })
}

function parseClass(inner: readonly string[]): WildToken {
  const negated = inner[0] === '!' || inner[0] === '^'
  const members = negated ? inner.slice(1) : inner
  const ranges: (readonly [string, string])[] = []
  for (let index = 0; index < members.length; index += 1) {
    const first = members[index] ?? ''
    const last = members[index + 2]
    if (members[index + 1] === '-' && last !== undefined) {
      ranges.push([first, last])
      index += 2
    } else ranges.push([first, first])
  }
  return { kind: 'class', negated, ranges }
}

/** True when the whole name matches. Only the last star is ever tried again, so no pattern can make it slow. */
export function matchWild(tokens: readonly WildToken[], name: string): boolean {
  const last = tokens.at(-1)
  if (last?.kind === 'character' && !name.endsWith(last.text)) return false
  const characters = Array.from(name)
  let token = 0
  let at = 0
  let star = -1
  let resume = 0
  while (at < characters.length) {
    const current = tokens[token]
    if (current?.kind === 'star') {
      star = token
      resume = at
      token += 1
    } else if (current !== undefined && matchCharacter(current, characters[at] ?? '')) {
      token += 1
      at += 1
    } else if (star !== -1) {
      resume += 1
      at = resume
      token = star + 1
    } else return false
  }
  while (tokens[token]?.kind === 'star') token += 1
  return token === tokens.length
}

function matchCharacter(token: WildToken, character: string): boolean {
  switch (token.kind) {
    case 'character':
      return token.text === character
    case 'any':
      return true
    case 'class':
      return token.negated !== token.ranges.some(([first, last]) => inRange(character, first, last))
    case 'star':
      return false
  }
}

function inRange(character: string, first: string, last: string): boolean {
  const code = character.codePointAt(0) ?? 0
  return code >= (first.codePointAt(0) ?? 0) && code <= (last.codePointAt(0) ?? 0)
}
