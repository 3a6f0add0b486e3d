const mark = '«secret»'

/** Shapes that are keys whoever owns them: `sk-…` and its relatives, and what follows `Bearer`. */
const keyShapes = [
  /\b(?:sk|pk|rk|gsk|xai|tgp|fw|csk|nvapi)[-_][\w.*-]{6,}/g,
  /\bAIza[\w.*-]{6,}/g,
  /(?<=\bBearer\s+)[\w.~+/*=-]{6,}/gi,
]

/** Characters that could steer a terminal or turn the direction of text. */
const unsafeCharacters = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu

/** Longest text of a server that is repeated in a message, in UTF-16 units. */
const maxLength = 300

/**
 * Text from outside made fit for a message: secrets and anything that looks like a key masked, control characters
 * removed, one line, at most 300 characters. Masks before it cuts, so that no half of a key remains.
 */
export function safeText(text: string, secrets: readonly string[]): string {
  const line = maskSecrets(text, secrets).replaceAll(unsafeCharacters, ' ').replaceAll(/\s+/g, ' ').trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).trimEnd()}…` : line
}

/** Replaces every secret, also when it is URL-encoded, escaped for JSON or repeated by its beginning only. */
function maskSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length > 3).toSorted((left, right) => right.length - left.length)
  const masked = known.reduce(maskOne, text)
  return keyShapes.reduce((result, shape) => result.replaceAll(shape, mark), masked)
}

function maskOne(text: string, secret: string): string {
  const forms = new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
  let result = text
  for (const form of forms) result = result.replaceAll(form, mark)
  if (secret.length < 16) return result
  const beginning = secret.slice(0, 8).replaceAll(/[^\w]/g, String.raw`\$&`)
  return result.replaceAll(new RegExp(String.raw`${beginning}[\w.*~+/=…-]*`, 'g'), mark)
}
