/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Hides secret values in text and puts them back (DESIGN 11). */
export interface SecretMask {
  /** Each secret value becomes `«secret:NAME»`, also inside longer text. For records, error texts and rendering. */
  readonly mask: (text: string) => string
  /** As `mask`, for people: nothing but the values is replaced, so it cannot be undone. */
  readonly hide: (text: string) => string
  /** Undoes `mask`. A name the environment no longer has stays as it is written. */
  readonly unmask: (text: string) => string
}

/** Key variables of spec/conventions.md 4.3 and 4.1, and the gateway's. */
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
 * `_SECRET` (all from 8 characters on), and of the variables in `names`, those of `[secrets]` (any length).
 */
export function createMask(
  environment: Environment,
  { names = [], keys = [] }: { readonly names?: readonly string[]; readonly keys?: readonly string[] } = {},
): SecretMask {
  const secrets = secretValues(environment, names, keys)
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
  }
}

/** Hides nothing. */
export const noMask: SecretMask = createMask({})

function secretValues(
  environment: Environment,
  names: readonly string[],
  keys: readonly string[],
): ReadonlyMap<string, string> {
  const guessed = Object.keys(environment).filter((name) => keyVariablePattern.test(name))
  const long = [...keyVariables, ...keys, ...guessed].filter((name) => (environment[name] ?? '').length >= shortestKey)
  const secrets = new Map<string, string>()
  for (const name of [...names, ...long]) {
    const value = environment[name]
    if (value !== undefined && value !== '') secrets.set(name, value)
  }
  return secrets
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
