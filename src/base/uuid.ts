import { UUID, uuidv4obj, uuidv7obj } from 'uuidv7'

export type UuidVersion = 4 | 7

/** A new UUID as its 16 bytes (RFC 9562). Those of version 7 sort in the order this process created them. */
export function newUuid(version: UuidVersion): Uint8Array {
  return Uint8Array.from((version === 4 ? uuidv4obj() : uuidv7obj()).bytes)
}

/** The 16 bytes as text: `8-4-4-4-12` hexadecimal digits. */
export function uuidText(bytes: Uint8Array): string {
  return UUID.ofInner(bytes).toString()
}

/**
 * The time in a UUID of version 1, 6 or 7, in whole milliseconds since 1970. Accepts the forms with and without hyphens,
 * in braces and with `urn:uuid:`; undefined for other versions and for text that is not a UUID.
 */
export function uuidTime(text: string): number | undefined {
  const uuid = parsed(text)
  if (uuid === undefined) return undefined
  const digits = uuid.toHex()
  switch (uuid.getVersion()) {
    case 1:
      return gregorianMs(digits.slice(13, 16) + digits.slice(8, 12) + digits.slice(0, 8))
    case 6:
      return gregorianMs(digits.slice(0, 12) + digits.slice(13, 16))
    case 7:
      return Number.parseInt(digits.slice(0, 12), 16)
    default:
      return undefined
  }
}

function parsed(text: string): UUID | undefined {
  try {
    return UUID.parse(text)
  } catch {
    return undefined
  }
}

/** Steps of 100 ns between 1582-10-15, the epoch of versions 1 and 6, and 1970. */
const gregorianStart = 0x01b21dd213814000n
const stepsPerMs = 10_000n

function gregorianMs(hexadecimal: string): number {
  const steps = BigInt(`0x${hexadecimal}`) - gregorianStart
  const rest = ((steps % stepsPerMs) + stepsPerMs) % stepsPerMs
  return Number((steps - rest) / stepsPerMs)
}
