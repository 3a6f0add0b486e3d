import { expect, it } from 'vitest'
import { findEditor } from '../../src/base/editor.ts'

it.each([
  [{ TERM_PROGRAM: 'vscode', EDITOR: 'vim' }, ['code', '--'], 'window'],
  [{ TERM_PROGRAM: 'Zed', VISUAL: 'subl' }, ['zed'], 'window'],
  [{ TERM_PROGRAM: 'xterm', ZED_TERM: 'true', EDITOR: 'vim' }, ['zed'], 'window'],
  [{ ZED_TERM: '0', EDITOR: 'subl' }, ['subl'], 'window'],
  [{ TERM_PROGRAM: 'nvim', VISUAL: 'gedit' }, ['gedit'], 'window'],
  [{ TERM_PROGRAM: 'iTerm.app', VISUAL: 'subl -w', EDITOR: 'vim' }, ['subl', '-w'], 'window'],
  [{ VISUAL: 'code --wait' }, ['code', '--wait', '--'], 'window'],
  [{ VISUAL: '"/opt/My Editor/edit" -n', EDITOR: 'vim' }, ['/opt/My Editor/edit', '-n'], 'window'],
  [{ VISUAL: ' ', EDITOR: 'vim' }, ['vim'], 'terminal'],
  [{ VISUAL: '""', EDITOR: '/usr/bin/nano -w' }, ['/usr/bin/nano', '-w'], 'terminal'],
  [{ EDITOR: 'emacs' }, ['emacs'], 'terminal'],
  [{ EDITOR: 'emacs', DISPLAY: ':0' }, ['emacs'], 'window'],
  [{ EDITOR: 'emacs -nw', DISPLAY: ':0' }, ['emacs', '-nw'], 'terminal'],
  [{ EDITOR: 'emacsclient -n' }, ['emacsclient', '-n'], 'window'],
  [{ EDITOR: 'emacsclient' }, ['emacsclient'], 'terminal'],
])('parses the editor command %j', (env, words, place) => {
  const editor = findEditor(env)
  expect([editor?.command, ...(editor?.args ?? [])]).toEqual(words)
  expect(editor?.place).toBe(place)
})

it('returns the name of the program without its folder', () => {
  expect(findEditor({ EDITOR: '/usr/bin/vim -u NONE' })?.name).toBe('vim')
})

it('returns none if none is configured', () => {
  expect(findEditor({})).toBeUndefined()
  expect(findEditor({ TERM_PROGRAM: 'Apple_Terminal', VISUAL: '', EDITOR: '  ' })).toBeUndefined()
})
