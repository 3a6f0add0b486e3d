const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Bytes in base 58 with Bitcoin's alphabet: each leading zero byte is a `1`. For short values such as digests. */
export function base58(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  const [zeros = ''] = /^(?:00)*/.exec(hex) ?? []
  let digits = ''
  for (let rest = BigInt(`0x0${hex}`); rest > 0n; rest /= 58n) digits = alphabet.charAt(Number(rest % 58n)) + digits
  return '1'.repeat(zeros.length / 2) + digits
}
