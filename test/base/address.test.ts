import { describe, expect, it } from 'vitest'
import { isPrivateAddress } from '../../src/base/address.ts'

describe('isPrivateAddress', () => {
  it('recognizes the addresses of this machine, private networks and links', () => {
    const all = [
      '127.0.0.1 127.9.9.9 0.0.0.0 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 224.0.0.1',
      '255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd12:3456::1 ff02::1',
      // IPv4 inside IPv6: mapped, translated, compatible, 6to4, Teredo
      '::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:a9fe:a9fe 64:ff9b::7f00:1 64:ff9b::10.0.0.1 ::ffff:0:127.0.0.1 ::127.0.0.1',
      '2002:7f00:1:: 2002:c0a8:101::1 2001:0:1::1',
      // what is not an address is refused, too
      'localhost 1.2.3',
    ].flatMap((line) => line.split(' '))
    expect(all.filter((address) => !isPrivateAddress(address))).toEqual([])
  })

  it('allows all others', () => {
    const all =
      '1.1.1.1 93.184.216.34 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1'
    expect(all.split(' ').filter(isPrivateAddress)).toEqual([])
  })

  it('recognizes every notation in a URL', () => {
    const urls = ['http://2130706433', 'http://0x7f.1', 'http://0177.0.0.1', 'http://127.1', 'http://[::ffff:7f00:1]']
    const hosts = urls.map((url) => new URL(url).hostname.replace(/^\[|\]$/g, ''))
    expect(hosts.map(isPrivateAddress)).toEqual([true, true, true, true, true])
  })
})
