/** A reference to a variable of the environment in a text: `${NAME}` or `${NAME:-what stands in for it}`. */
export interface Reference {
  readonly name: string
  readonly fallback?: string
}

const reference = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g

/** The references of a text, in their order. */
export function referencesIn(text: string): readonly Reference[] {
  return Array.from(text.matchAll(reference), ([, name = '', fallback]) => {
    return fallback === undefined ? { name } : { name, fallback }
  })
}

/**
 * The text with the values of its references, which are not looked through for references themselves. A variable that is empty counts as
 * not set, as in shells. `missing` is called for one that is not set and has no fallback, and throws.
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
