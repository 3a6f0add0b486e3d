/**
 * Twelve hex digits that no other process comes upon, for the names of files in folders of ours. Nothing is kept secret by
 * them; what must not be guessed takes `node:crypto`, which a short run does not load.
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
