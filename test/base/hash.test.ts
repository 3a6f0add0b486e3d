import { describe, expect, it } from 'vitest'
import { canonicalHash, createSigner, sha256 } from '../../src/base/hash.ts'
import { canonicalJson, type Json } from '../../src/base/json.ts'

const long = 64 * 1024

describe('the hash of a value', () => {
  it.each<readonly [name: string, value: Json]>([
    ['plain values', [null, true, false, 0, -0, 1.5, 1e21, '', 'a"\\\n\u0001é😀', '\ud800 alone']],
    ['empty ones', { b: [], a: {}, c: [[], [{}]] }],
    ['keys in any order', { z: 1, a: { y: [1, { x: 2, b: 3 }], A: null }, '10': 1, '9': 2, '"': 'é' }],
    ['long texts', { text: 'x'.repeat(3 * long), other: ['y'.repeat(long), 'z'.repeat(long + 1)] }],
    ['long texts that are escaped', '"\n\\'.repeat(long)],
    ['pairs at the end of a piece', ['x'.repeat(long - 1) + '😀'.repeat(long), '😀'.repeat(long)]],
    ['halves of pairs at the end of a piece', `${'x'.repeat(long - 1)}\ud83d${'y'.repeat(long)}\ude00`],
    ['many small values', Array.from({ length: 20_000 }, (_, index) => ({ index, text: `t${index}` }))],
  ])('is that of its canonical text: %s', (_, value) => {
    expect(canonicalHash(value)).toBe(sha256(canonicalJson(value)))
  })
})

describe('hashes and signatures in earlier records', () => {
  it('are SHA-256 of the text in UTF-8, with unpaired surrogates as the replacement character', () => {
    expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    expect(sha256('é😀\ud800')).toBe(sha256(Buffer.from('é😀\ufffd')))
  })

  it('are HMAC-SHA-256 of all pieces', () => {
    const signer = createSigner(Buffer.from('Jefe')).update('what do ya want ').update(Buffer.from('for nothing?'))
    expect(signer.digest('hex')).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
  })
})
