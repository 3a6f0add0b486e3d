import { describe, expect, it } from 'vitest'
import { isPackPath, mayBePackName, packRefText, parsePackRef } from '../../src/pack/pack-ref.ts'

describe('pack references', () => {
  it.each([
    ['pro@coder/', { namespace: 'pro', name: 'coder', scope: 'pack' }],
    ['_ns@_name/_sub-path', { namespace: '_ns', name: '_name', scope: 'pack', subPath: '_sub-path' }],
    ['_ns@_name$workspace/_sub-path', { namespace: '_ns', name: '_name', scope: 'workspace', subPath: '_sub-path' }],
    ['pro@coder$base/', { namespace: 'pro', name: 'coder', scope: 'base' }],
    ['pro@coder/a/b@2x.png', { namespace: 'pro', name: 'coder', scope: 'pack', subPath: 'a/b@2x.png' }],
    ['@coder/sub', { name: 'coder', scope: 'pack', subPath: 'sub' }],
  ])('parses %s (vector 13)', (text, expected) => {
    expect(parsePackRef(text)).toStrictEqual(expected)
  })

  it.each(['', '@', 'ns@', 'ns@/', 'ns@$base', '$base', '/'])('refuses "%s" (vector 14)', (text) => {
    expect(() => parsePackRef(text)).toThrow(`"${text}" is not a pack reference`)
  })

  it.each([
    'pro@coder@',
    'pro@@coder',
    'pro@coder$invalid/x',
    'pro@coder$baseExtra/x',
    'pro@coder$/sub',
    'pro@coder$base/data$json',
    'pro@coder$base$workspace',
  ])('refuses %s (vector 15)', (text) => {
    expect(() => parsePackRef(text)).toThrow('is not a pack reference')
  })

  it.each([
    'n space@coder',
    'ns@co der',
    'n+s@coder',
    'n$s@coder',
    '1ns@coder',
    'ns@1coder',
    'ns@coder/sub/../path',
    'ns@coder/..',
    'ns@códer',
  ])('refuses %s (vector 16)', (text) => {
    expect(() => parsePackRef(text)).toThrow('is not a pack reference')
  })

  it.each(['pro@coder', 'pro@coder$base/x', '@coder', 'a@b$workspace'])('writes %s unchanged', (text) => {
    expect(packRefText(parsePackRef(text))).toBe(text)
  })
})

describe('the path of a pack reference', () => {
  it.each(['pro@coder', 'pro@coder/x.md', 'pro@coder$base/x', 'pro@coder$wrong'])('is a path: %s', (path) => {
    expect(isPackPath(path)).toBe(true)
  })

  it.each([
    'logo@2x.png',
    'img/logo@2x.png',
    'icon@large.png',
    './pro@coder',
    '/a@b/c',
    '.aipack/p@c',
    'a@b@c',
    '@a/b',
  ])('is not a path: %s', (path) => {
    expect(isPackPath(path)).toBe(false)
  })

  it('is an agent name with an @ before its first slash', () => {
    const names = ['pro@coder', '@coder', 'x@2.aip', './a@b', 'dir/a@b', '~/a@b', 'plain']
    expect(names.filter(mayBePackName)).toEqual(['pro@coder', '@coder', 'x@2.aip'])
  })
})
