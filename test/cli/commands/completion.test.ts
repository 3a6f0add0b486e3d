import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandTable } from '../../../src/cli/command-table.ts'
import { completionModel } from '../../../src/cli/commands/completion.ts'
import { bashCompletion } from '../../../src/cli/completion-bash.ts'
import { zshCompletion } from '../../../src/cli/completion-zsh.ts'
import { tempTree } from '../../helpers/temp.ts'

const model = completionModel(commandTable, ['coder', 'quickstart'])

describe('completion in bash', () => {
  const folder = tempTree({
    'ask.md': '',
    'a b.md': '',
    'agents/lint.aip': '',
    'notes.txt': '',
    '.hidden.md': '',
    'completion.bash': bashCompletion(model),
    'try.bash': `
source ./completion.bash
while IFS= read -r COMP_LINE; do
  COMP_POINT=\${#COMP_LINE} COMPREPLY=()
  _baton
  (IFS='|'; printf '%s\\n' "\${COMPREPLY[*]}")
done`,
  })
  // replaces the command: it only has to list agents and runs
  const names =
    'if [ "$1 $2 $3" = "list modes --names" ]; then printf "classic\\ntwice\\n"; elif [ "$1 $2" = "models --names" ]; then printf "sonnet\\nopus\\n"; elif [ "$1 $2" = "approve 20261121-9" ]; then printf "1\\n2\\n"; elif [ "$1" = runs ]; then printf "20261122-1\\n20261121-9\\n"; else printf "finder\\ndemo@short\\ndemo@short/check\\nzz\\$(>ran)\\nzz\\`>ran\\`\\n"; fi'
  writeFileSync(join(folder, 'baton'), `#!/bin/sh\n${names}\n`, { mode: 0o755 })

  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['baton ch', ['chat', 'check']],
    ['baton c', ['chat', 'check', 'config', 'completion']],
    ['baton f', ['finder']],
    ['baton check a', ['a b.md', 'agents', 'ask.md']],
    ['baton check ask.md ag', ['agents']],
    ['baton check agents/', ['agents/lint.aip']],
    ['baton check ./a', ['./a b.md', './agents', './ask.md']],
    ['baton check .h', ['.hidden.md']],
    // bash replaces the word that starts with the @
    ['baton check demo@sh', ['@short', '@short/check']],
    ['baton check zz', ['zz$(>ran)', 'zz`>ran`']],
    ['baton run --mod', ['--mode', '--model']],
    ['baton ask.md --max-c', ['--max-cost']],
    ['baton config --or', ['--origin']],
    ['baton check --or', []],
    ['baton --vers', ['--version']],
    ['baton run ask.md --dry ', ['changes', 'req', 'res']],
    ['baton ask.md --dry ', ['changes', 'req', 'res']],
    ['baton ask.md --dry=re', ['req', 'res']],
    ['baton run ask.md ', []],
    ['baton -m check conf', ['config']],
    ['baton new ', ['prompt', 'agent', 'pack']],
    ['baton new pack ', []],
    ['baton list to', ['tools', 'todo']],
    ['baton list mo', ['modes']],
    ['baton list com', ['commands']],
    ['baton ask.md --mode ', ['classic', 'twice']],
    ['baton models so', ['sonnet']],
    ['baton -m so', ['sonnet']],
    ['baton plan ask.md --mode=cl', ['classic']],
    ['baton config --permission web', ['webfetch']],
    ['baton help appr', ['approve']],
    ['baton new prompt x --from c', ['coder']],
    ['baton -C a', ['agents']],
    ['baton --env n', ['notes.txt']],
    ['baton schema ', ['prompt', 'config', 'events']],
    ['baton completion ', ['bash', 'zsh']],
    ['baton init a', ['agents']],
    ['baton resume ', ['last', '20261122-1', '20261121-9']],
    ['baton runs diff 20261121', ['20261121-9']],
    ['baton runs sh', ['show']],
    ['baton approve 20261121', ['20261121-9']],
    ['baton reject --reason x 20261121-9 ', ['1', '2']],
    ['baton resume last --from ', []],
    ['baton run --replay n', ['notes.txt']],
  ]

  const { stdout, stderr } = spawnSync('bash', ['--norc', '--noprofile', 'try.bash'], {
    cwd: folder,
    input: cases.map(([line]) => `${line}\n`).join(''),
    env: { PATH: `${folder}:${process.env['PATH']}`, HOME: folder },
    encoding: 'utf8',
  })
  const answers = stdout.split('\n')

  it('says nothing besides', () => {
    expect(stderr).toBe('')
    expect(answers.length).toBe(cases.length + 1)
  })

  it('runs nothing that a name contains', () => expect(existsSync(join(folder, 'ran'))).toBe(false))

  it.each(cases.map(([line, words], index) => ({ line, words, answer: answers[index] ?? '' })))(
    'of $line',
    ({ words, answer }) => {
      expect(
        answer
          .split('|')
          .filter((word) => word !== '')
          .toSorted(),
      ).toEqual(words.toSorted())
    },
  )
})

describe.each([
  ['bash', bashCompletion(model)],
  ['zsh', zshCompletion(model)],
])('the script for %s', (_, script) => {
  it('knows every command, and its flags that are not hidden', () => {
    for (const { name, flags } of commandTable) {
      expect(script).toMatch(new RegExp(`^ +${name}\\)`, 'm'))
      for (const [flag, { hidden }] of Object.entries(flags)) {
        if (hidden !== true) expect(script, `${name} --${flag}`).toContain(`--${flag}`)
      }
    }
    expect(script).not.toContain('single-shot')
  })
})

it('the script for zsh quotes what zsh would read otherwise', () => {
  const script = zshCompletion({
    withValue: ['--x'],
    commands: [
      {
        name: 'run',
        summary: "it's [one]",
        words: [],
        flags: [
          {
            spellings: ['--x', '-x'],
            describe: "a [b] it's",
            isList: true,
            values: { kind: 'words', words: ['p', 'q'] },
          },
        ],
      },
    ],
  })
  expect(script).toContain(String.raw`'*--x=[a \[b\] it'\''s]:value:(p q)' '*-x+[a \[b\] it'\''s]:value:(p q)'`)
  expect(script).toContain(String.raw`'run:it'\''s [one]'`)
})
