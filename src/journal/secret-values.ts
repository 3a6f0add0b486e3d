import { decodeUri } from '../base/decode-uri.ts'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface MaskOptions {
  /** Variables of `[secrets]`; their values are masked whatever their length. */
  readonly names?: readonly string[]
  /** Variables of keys that config files name. */
  readonly keys?: readonly string[]
  /** Secrets that do not come from a variable, by the name they are masked with. */
  readonly values?: Readonly<Record<string, string>>
}

/** File paths are not secrets, whatever the name of their variable. */
const path = /^(?:~|\.{1,2}|[A-Za-z]:|\/(?:home|root|etc|usr|var|run|opt|tmp|mnt|srv|app|Users|private|secrets))[/\\]/
/** Shorter values are words like `none` or `test`, which are common in ordinary text. */
const shortest = 8
/** Longer placeholders for secrets in examples and local databases. */
const placeholder =
  /^(?:password|passw0rd|changeme|change_me|postgres(?:ql)?|undefined|disabled|required|your[-_].*|example.*|x{8,}|\*{8,})$/i

/**
 * The secrets of an environment by the name they are masked with: the values of `names`; from 8 characters on, those of
 * `keys` and of variables with a secret-like name; and secret parts of other values: `NAME#1` for the password of a URL
 * or a connection string. Whitespace around a value is not part of it: keys are sent without it.
 */
export function secretValues(
  environment: Environment,
  { names = [], keys = [], values = {} }: MaskOptions,
): ReadonlyMap<string, string> {
  const valueOf = (name: string): string => (environment[name] ?? '').trim()
  const guessed = Object.keys(environment).filter((name) => isSecretName(name) && !path.test(valueOf(name)))
  const entries = [...keys, ...guessed].map((name) => [name, valueOf(name)] as const)
  const within = Object.keys(environment).flatMap((name) =>
    secretParts(valueOf(name)).map((part, index) => [`${name}#${index + 1}`, part] as const),
  )
  const long = [...entries, ...within, ...Object.entries(values)].filter(
    ([, value]) => value.length >= shortest && !placeholder.test(value),
  )
  const wanted = names.map((name) => [name, valueOf(name)] as const).filter(([, value]) => value !== '')
  return new Map([...wanted, ...long])
}

const secretWords = ['api_key', 'apikey', 'key', 'passphrase', 'credential', 'credentials', 'pass']
const secretEnds = ['token', 'secret', 'password', 'passwd', '_pwd']

/**
 * Variables whose values are secrets, by their last word: keys, tokens, passwords, and everything called a secret.
 * Without a regular expression: each run checks every variable, and compiling a case-insensitive one takes longer.
 */
function isSecretName(name: string): boolean {
  const text = name.toLowerCase()
  return (
    secretWords.some((word) => text === word || text.endsWith(`_${word}`)) ||
    secretEnds.some((end) => text.endsWith(end)) ||
    text.includes('_token_') ||
    `_${text}_`.includes('_secret_')
  )
}

/**
 * The password of a URL, unless it equals the user name, and the values after words like `password=` and `AccountKey=`.
 */
function secretParts(value: string): readonly string[] {
  if (value.length > longestValue) return []
  const inUrls = value.includes('@') ? passwordsOfUrls(value) : []
  const named = value.includes('=') ? namedSecrets(value) : []
  return [...new Set([...inUrls, ...named])]
}

function passwordsOfUrls(value: string): readonly string[] {
  const urls = [...value.matchAll(/[a-z][\w+.-]*:\/\/([^\s/:@?#]*):([^\s/@]+)@/gi)]
  return urls.flatMap(([, user, password = '']) => (password === user ? [] : [password, decodeUri(password)]))
}

function namedSecrets(value: string): readonly string[] {
  const named = value.matchAll(
    /(?:^|[;&?,\s])(?:password|passwd|pwd|secret|token|api[_-]?key|accountkey|sharedaccesskey|sig)\s*=\s*["']?([^;&,\s"']+)/gi,
  )
  return Array.from(named, ([, found = '']) => found)
}

/** A longer variable contains a document, not an address. */
const longestValue = 16_384
