/** A reference to an environment variable in a text: `${NAME}` or `${NAME:-fallback}`. */
export interface Reference {
  readonly name: string
  readonly fallback?: string
}

const reference = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g

/** The references of a text, in order. */
export function referencesIn(text: string): readonly Reference[] {
  return Array.from(text.matchAll(reference), ([, name = '', fallback]) => {
    return fallback === undefined ? { name } : { name, fallback }
  })
}

/**
 * The text with the values of its references; values are not searched for further references. An empty variable counts
 * as not set, as in shells. `missing` is called for one that is not set and has no fallback, and throws.
 */
export function withReferences(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  missing: (name: string) => never,
): string {
  return text.replaceAll(reference, (_, name: string, fallback: string | undefined) => {
    const value = env[name] ?? ''
    return value === '' ? (fallback ?? missing(name)) : value
  })
}
