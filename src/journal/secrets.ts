/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Hides secret values in text and puts them back. */
export interface SecretMask {
  /** Each secret value becomes `«secret:NAME»`, also inside longer text. For records, error texts and rendering. */
  readonly mask: (text: string) => string
  /** As `mask`, for people: nothing but the values is replaced, so it cannot be undone. */
  readonly hide: (text: string) => string
  /** Undoes `mask`. A name the environment no longer has stays as it is written. */
  readonly unmask: (text: string) => string
}

/** A mask that also serves text of which more is to come. */
export interface LiveMask extends SecretMask {
  /** How many characters at the end of a text may be the beginning of a secret whose rest is still to come. */
  readonly begun: (text: string) => number
}

export interface MaskOptions {
  /** Variables of `[secrets]`; their values are masked whatever their length. */
  readonly names?: readonly string[]
  /** Variables of keys that config files name. */
  readonly keys?: readonly string[]
  /** Secrets that are in no variable of their own, by the name they are masked with. */
  readonly values?: Readonly<Record<string, string>>
}

/** Variables in which hosts and their own tools look for keys, and the gateway's. */
const keyVariables: readonly string[] = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'OPENROUTER_API_KEY',
  'GROQ_API_KEY',
  'XAI_API_KEY',
  'DEEPSEEK_API_KEY',
  'MISTRAL_API_KEY',
  'FIREWORKS_API_KEY',
  'TOGETHER_API_KEY',
  'BATON_GATEWAY_KEY',
]
const keyVariablePattern = /(?:_API_KEY|_TOKEN|_SECRET)$/i
/** Shorter values of key variables are placeholders like `none` or `test`, which ordinary text is full of. */
const shortestKey = 8
const opening = '«secret:'
/** Stands for the opening itself where text holds it; no environment variable can have this name. */
const literalName = '='

/**
 * A mask for the values of known key variables, of those in `keys` and of variables ending in `_API_KEY`, `_TOKEN` or
 * `_SECRET`, for `values` (all from 8 characters on), and for the variables in `names` (any length). Blanks and line
 * breaks around a value are no part of the secret: keys are sent without them.
 */
export function createMask(environment: Environment, options: MaskOptions = {}): LiveMask {
  const secrets = secretValues(environment, options)
  const nameOf = new Map([...secrets].map(([name, value]) => [value, name]).toReversed() as [string, string][])
  const values = [...nameOf.keys()].toSorted((left, right) => right.length - left.length)
  const pattern = new RegExp([...values, opening].map(escapePattern).join('|'), 'g')
  const shown = values.length === 0 ? undefined : new RegExp(values.map(escapePattern).join('|'), 'g')
  const written = new RegExp(`${opening}([^»]*)»`, 'g')
  return {
    mask: (text) => text.replace(pattern, (found) => `${opening}${nameOf.get(found) ?? literalName}»`),
    hide: (text) => (shown === undefined ? text : text.replace(shown, (found) => `${opening}${nameOf.get(found)}»`)),
    unmask: (text) =>
      text.replace(written, (found, name: string) => (name === literalName ? opening : (secrets.get(name) ?? found))),
    begun: beginningOf(values, shown),
  }
}

/**
 * Looks only where a secret could begin, and never further back than the longest one is long. Inside a secret that is
 * there as a whole none begins: it would be cut.
 */
function beginningOf(values: readonly string[], whole: RegExp | undefined): (text: string) => number {
  const longest = values[0]?.length ?? 0
  const firsts = new Set(values.map((value) => value.charAt(0)))
  return (text) => {
    for (let start = Math.max(0, text.length - longest + 1); start < text.length; start += 1) {
      if (!firsts.has(text.charAt(start))) continue
      const tail = text.slice(start)
      const isBegun = values.some((value) => value.length > tail.length && value.startsWith(tail))
      if (isBegun && !isInside(start, text, whole)) return tail.length
    }
    return 0
  }
}

function isInside(position: number, text: string, whole: RegExp | undefined): boolean {
  const found = whole === undefined ? [] : [...text.matchAll(whole)]
  return found.some(({ index, 0: { length } }) => index < position && position < index + length)
}

/** The names of the secrets in masked text; `mask` writes nothing else that looks like one. */
export function secretNames(masked: string): readonly string[] {
  const names = [...masked.matchAll(new RegExp(`${opening}([^»]*)»`, 'g'))].map(([, name = '']) => name)
  return [...new Set(names)].filter((name) => name !== literalName)
}

/** Hides nothing. */
export const noMask: SecretMask = createMask({})

function secretValues(
  environment: Environment,
  { names = [], keys = [], values = {} }: MaskOptions,
): ReadonlyMap<string, string> {
  const valueOf = (name: string): string => (environment[name] ?? '').trim()
  const guessed = Object.keys(environment).filter((name) => keyVariablePattern.test(name))
  const entries = [...keyVariables, ...keys, ...guessed].map((name) => [name, valueOf(name)] as const)
  const long = [...entries, ...Object.entries(values)].filter(([, value]) => value.length >= shortestKey)
  const wanted = names.map((name) => [name, valueOf(name)] as const).filter(([, value]) => value !== '')
  return new Map([...wanted, ...long])
}

/** The pattern that matches a text and nothing else. */
export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
