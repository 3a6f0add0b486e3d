import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Addresses of this machine, of its network, or of no host at all. */
const ranges: readonly (readonly [address: string, bits: number, family: 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  // between a provider and its customers
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  // link-local: the metadata service of cloud machines
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  // multicast, reserved and broadcast
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
  // Teredo obfuscates the address it leads to
  ['2001::', 32, 'ipv6'],
]

/** Prefixes that carry an IPv4 address, with the index of the 16-bit group at which it starts. */
const carriers: readonly (readonly [prefix: string, bits: number, group: number])[] = [
  ['::ffff:0:0', 96, 6],
  ['::ffff:0:0:0', 96, 6],
  ['::', 96, 6],
  ['64:ff9b::', 96, 6],
  ['64:ff9b:1::', 48, 6],
  ['2002::', 16, 1],
]

let known: BlockList | undefined

/**
 * Whether an IP address belongs to this machine, a private network or a link, or to no host, however it is written;
 * this includes IPv6 addresses that embed such an IPv4 address. Text that is not an address counts as local.
 */
export function isPrivateAddress(address: string): boolean {
  known ??= listOf(ranges)
  const plain = address.replace(/%.*$/s, '')
  if (isIPv4(plain)) return known.check(plain, 'ipv4')
  if (!isIPv6(plain)) return true
  return known.check(plain, 'ipv6') || carriedAddresses(plain).some((carried) => known?.check(carried, 'ipv4') === true)
}

function listOf(subnets: typeof ranges): BlockList {
  const list = new BlockList()
  for (const [address, bits, family] of subnets) list.addSubnet(address, bits, family)
  return list
}

function carriedAddresses(address: string): readonly string[] {
  const groups = groupsOf(address)
  return carriers.flatMap(([prefix, bits, group]) => {
    if (!listOf([[prefix, bits, 'ipv6']]).check(address, 'ipv6')) return []
    const [high = 0, low = 0] = groups.slice(group, group + 2)
    return [[high >> 8, high & 255, low >> 8, low & 255].join('.')]
  })
}

/** The eight groups of an IPv6 address. The URL parser writes no dotted parts and at most one `::`. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const numbers = (part: string): readonly number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const before = numbers(head)
  const after = numbers(tail ?? '')
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
}
