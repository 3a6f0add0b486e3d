import { describe, expect, it } from 'vitest'
import { parseSource, withoutSecrets } from '../../src/pack/source.ts'

const around = { cwd: '/work', home: '/home/me' }

describe('sources of packs', () => {
  it.each([
    ['pro@coder', { kind: 'identity', identity: 'pro@coder' }],
    ['./pro@coder', { kind: 'path', path: '/work/pro@coder' }],
    ['packs/notes', { kind: 'path', path: '/work/packs/notes' }],
    ['~/x.aipack', { kind: 'path', path: '/home/me/x.aipack' }],
    ['/x/ünï code.aipack', { kind: 'path', path: '/x/ünï code.aipack' }],
    ['git+https://h.example/a/b', { kind: 'git', url: 'https://h.example/a/b' }],
    ['git+https://h.example/a/b@v1.2', { kind: 'git', url: 'https://h.example/a/b', ref: 'v1.2' }],
    [
      'https://h.example/a.git@feat/x#p/q',
      { kind: 'git', url: 'https://h.example/a.git', ref: 'feat/x', subdir: 'p/q' },
    ],
    ['https://me@h.example/a.git', { kind: 'git', url: 'https://me@h.example/a.git' }],
    ['git@h.example:a/b.git@main#p', { kind: 'git', url: 'git@h.example:a/b.git', ref: 'main', subdir: 'p' }],
    ['ssh://git@h.example/a#x\\y/', { kind: 'git', url: 'ssh://git@h.example/a', subdir: 'x/y' }],
    ['git+file:///srv/a.git', { kind: 'git', url: 'file:///srv/a.git' }],
  ])('parses %s', (text, source) => {
    expect(parseSource(text, around)).toEqual(source)
  })

  it('treats other http addresses as archives', () => {
    expect(parseSource('https://h.example/a@b.aipack?x=1', around)).toMatchObject({ kind: 'url' })
  })

  it.each([
    '',
    ' ',
    'a\0b',
    'a\nb',
    'ftp://h.example/a',
    'npm://x',
    'http://',
    'git+https://h.example/a#',
    'git+https://h.example/a#../b',
    'git+https://h.example/a#b/../../c',
    'git+https://h.example/a#/etc',
    'git+https://h.example/a#\\etc',
    'git+https://h.example/a#C:/x',
    'git+https://h.example/a#.git/hooks',
    'git+https://h.example/a#x/.GIT',
    'git+https://h.example/a@--upload-pack=x',
    'git+https://h.example/a@a..b',
    'git+https://h.example/a@a b',
    'git+https://h.example/a@',
    'git@h.example:a@$(x)',
  ])('refuses %j', (text) => {
    expect(() => parseSource(text, around)).toThrow(expect.objectContaining({ code: 'USAGE' }))
  })

  it('never shows a password', () => {
    expect(withoutSecrets('https://me:geheim@h.example/a and https://token@h.example')).toBe(
      'https://h.example/a and https://h.example',
    )
    expect(withoutSecrets('ssh://git:geheim@h.example/a ssh://git@h.example/a')).toBe(
      'ssh://git@h.example/a ssh://git@h.example/a',
    )
    expect(withoutSecrets("'https://a:b@c@h.example/x.git?token=geheim#sub' at https://h.example?k=geheim")).toBe(
      "'https://h.example/x.git#sub' at https://h.example",
    )
    // git would pass it to its own programs, whose arguments everybody can read, and servers do not get it
    expect(() => parseSource('git+https://h.example/a.git?token=geheim', around)).toThrow(
      /^"git\+https:\/\/h\.example\/a\.git" is not the source of a pack: git sends no query/,
    )
    expect(() => parseSource('htp://me:geheim@h.example/a', around)).toThrow('"htp://me@h.example/a" is not the source')
  })
})
