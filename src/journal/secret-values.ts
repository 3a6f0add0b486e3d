import { decodeUri } from '../base/decode-uri.ts'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface MaskOptions {
  /** Variables of `[secrets]`; their values are masked whatever their length. */
  readonly names?: readonly string[]
  /** Variables of keys that config files name. */
  readonly keys?: readonly string[]
  /** Secrets that are in no variable of their own, by the name they are masked with. */
  readonly values?: Readonly<Record<string, string>>
}

/** Variables whose values are secrets, by their last word: keys, tokens, passwords; and whatever is called a secret. */
const secretName =
  /(?:^|_)(?:api_?key|key|passphrase|credentials?|pass)$|(?:token|secret|password|passwd)$|_pwd$|(?:^|_)secret(?:_|$)|_token_/i
/** Addresses of files are no secrets, whatever their variable is called. */
const path = /^(?:~|\.{1,2}|[A-Za-z]:|\/(?:home|root|etc|usr|var|run|opt|tmp|mnt|srv|app|Users|private|secrets))[/\\]/
/** Shorter values are words like `none` or `test`, which ordinary text is full of. */
const shortest = 8
/** Longer ones that stand for a secret in examples and local databases. */
const placeholder =
  /^(?:password|passw0rd|changeme|change_me|postgres(?:ql)?|undefined|disabled|required|your[-_].*|example.*|x{8,}|\*{8,})$/i

/**
 * The secrets of an environment by the name they are masked with: the values of `names`; of `keys` and of variables whose
 * name says so, from 8 characters on; and what is secret within other values: `NAME#1` for the password of a URL or
 * a connection string. Blanks and line breaks around a value are no part of it: keys are sent without them.
 */
export function secretValues(
  environment: Environment,
  { names = [], keys = [], values = {} }: MaskOptions,
): ReadonlyMap<string, string> {
  const valueOf = (name: string): string => (environment[name] ?? '').trim()
  const guessed = Object.keys(environment).filter((name) => secretName.test(name) && !path.test(valueOf(name)))
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

/** The password of a URL, unless it is the name of the user; and what follows words like `password=` and `AccountKey=`. */
function secretParts(value: string): readonly string[] {
  if (value.length > longestValue) return []
  const urls = [...value.matchAll(/[a-z][\w+.-]*:\/\/([^\s/:@?#]*):([^\s/@]+)@/gi)]
  const inUrls = urls.flatMap(([, user, password = '']) => (password === user ? [] : [password, decodeUri(password)]))
  const named = value.matchAll(
    /(?:^|[;&?,\s])(?:password|passwd|pwd|secret|token|api[_-]?key|accountkey|sharedaccesskey|sig)\s*=\s*["']?([^;&,\s"']+)/gi,
  )
  return [...new Set([...inUrls, ...Array.from(named, ([, found = '']) => found)])]
}

/** A variable that is longer holds a document, not an address. */
const longestValue = 16_384
