import { createRandom, oneOf, type Random } from '../../helpers/random.ts'

/** The material from which inputs of a parser are built. */
export interface Material {
  /** Whole inputs that are valid, or nearly so. */
  readonly seeds: readonly string[]
  /** Words of its language. */
  readonly tokens: readonly string[]
}

/** What may occur in any text but is rarely expected. */
const odd = [
  '\u0000',
  '\u001b[2J',
  '\u0085',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\u{e0041}',
  '\ud800',
  '\udc00',
  '\u{1f600}',
  'e\u0301',
  '\r\n',
  '\r',
  '\n',
  '\t',
  ' ',
  '__proto__',
  'constructor',
  'toString',
  '-0',
  '1e999',
  '9007199254740993',
  '\\',
  '"',
  "'",
  '`',
]

/**
 * The input with a number; always the same for the same seed. One in 500 is long: a piece that is repeated or nested.
 */
export function inputAt({ seeds, tokens }: Material, seed: number, number: number): string {
  const random = createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b))
  random()
  const word = (): string => (random() < 0.85 ? oneOf(random, tokens) : oneOf(random, odd))
  const kind = random()
  if (kind < 0.002) return long(random, word)
  if (kind < 0.4) return Array.from({ length: 1 + Math.floor(random() * 24) }, word).join('')
  let text = oneOf(random, seeds)
  for (let times = 1 + Math.floor(random() * 6); times > 0; times -= 1) text = mutated(text, { random, word, seeds })
  return text
}

/** Up to about 20,000 characters. */
function long(random: Random, word: () => string): string {
  const times = Math.floor(2 ** (6 + random() * 7))
  const open = Array.from({ length: 1 + Math.floor(random() * 3) }, word).join('')
  const close = random() < 0.5 ? '' : word()
  return `${open.repeat(times)}${word()}${close.repeat(times)}`.slice(0, 20_000)
}

interface Mutation {
  readonly random: Random
  readonly word: () => string
  readonly seeds: readonly string[]
}

function mutated(text: string, { random, word, seeds }: Mutation): string {
  const at = Math.floor(random() * (text.length + 1))
  const end = Math.min(text.length, at + Math.floor(random() ** 3 * 40))
  switch (Math.floor(random() * 8)) {
    case 0:
      return text.slice(0, at) + word() + text.slice(at)
    case 1:
      return text.slice(0, at) + text.slice(end)
    case 2:
      return text.slice(0, end) + text.slice(at)
    case 3:
      return text.slice(0, at) + word() + text.slice(end)
    case 4: {
      const other = oneOf(random, seeds)
      return text.slice(0, at) + other.slice(Math.floor(random() * other.length))
    }
    case 5:
      return text.slice(0, at)
    case 6: {
      const code = (text.charCodeAt(at) || 0) ^ (1 << Math.floor(random() * 8))
      return text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)
    }
    default: {
      const lines = text.split('\n')
      const line = oneOf(random, lines)
      return lines.toSpliced(Math.floor(random() * lines.length), random() < 0.5 ? 0 : 1, line).join('\n')
    }
  }
}
