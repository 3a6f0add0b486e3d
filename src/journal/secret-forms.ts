/** A way a value is written inside something else. */
export type SecretForm = 'json' | 'url' | `base64.${0 | 1 | 2}` | `base64url.${0 | 1 | 2}`

export const secretForms: readonly SecretForm[] = [
  'json',
  'url',
  'base64.0',
  'base64.1',
  'base64.2',
  'base64url.0',
  'base64url.1',
  'base64url.2',
]

/** Shorter pieces of base64 occur in ordinary text by chance. */
const shortestPiece = 7

/**
 * A value as it is written in a form: in JSON text, URL-encoded, or in base64 after as many bytes as the form says
 * (modulo 3), reduced to the characters that depend only on the value. Undefined if nothing is left.
 */
export function inForm(value: string, form: SecretForm): string | undefined {
  if (form === 'json') return JSON.stringify(value).slice(1, -1)
  if (form === 'url') return urlEncoded(value)
  const [encoding, shift] = form.split('.') as ['base64' | 'base64url', string]
  const bytes = Buffer.concat([Buffer.alloc(Number(shift)), Buffer.from(value)])
  const first = Math.ceil((8 * Number(shift)) / 6)
  const end = Math.floor((8 * bytes.length) / 6)
  return end - first < shortestPiece ? undefined : bytes.toString(encoding).slice(first, end)
}

function urlEncoded(value: string): string | undefined {
  try {
    return encodeURIComponent(value)
  } catch {
    // half of a surrogate pair
    return undefined
  }
}

/** A value in all forms that differ from it and from each other. */
export function formsOf(value: string): ReadonlyMap<string, SecretForm> {
  const found = new Map<string, SecretForm>()
  for (const form of secretForms) {
    const text = inForm(value, form)
    if (text !== undefined && text !== value && !found.has(text)) found.set(text, form)
  }
  return found
}
