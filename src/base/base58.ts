const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Bytes as base 58 with Bitcoin's alphabet: each leading zero byte is a `1`. Meant for short values such as digests. */
export function base58(bytes: Uint8Array): string {
  const zeros = bytes.findIndex((byte) => byte !== 0)
  const leading = zeros === -1 ? bytes.length : zeros
  let rest = leading === bytes.length ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let digits = ''
  for (; rest > 0n; rest /= 58n) digits = alphabet.charAt(Number(rest % 58n)) + digits
  return '1'.repeat(leading) + digits
}
