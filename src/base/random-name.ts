/**
 * Twelve hex digits that no other process gets, for names of files in our own folders. Not secret; names that must not
 * be guessable use `node:crypto`.
 */
export function randomName(): string {
  return randomDigits() + randomDigits()
}

/** Six hex digits: 24 random bits. */
export function randomDigits(): string {
  return Math.floor(Math.random() * 2 ** 24)
    .toString(16)
    .padStart(6, '0')
}
