import { expect, it } from 'vitest'
import { requestWords } from '../../src/serve/request-words.ts'

const cases: readonly (readonly [string, string])[] = [
  ['Add --var language=…', 'Add vars.language'],
  ['Add --var language=… --var tone=…', 'Add vars.language, vars.tone'],
  ['--var tone must be one of "a", "b"', 'vars.tone must be one of "a", "b"'],
  ["Write --var 'names=one,two', or JSON.", 'Give vars.names as JSON.'],
  ['var.md has no variable "q" for --var', 'var.md has no variable "q"'],
  ['an input (-i) is given, but nothing in a.md reads it', 'inputs are given, but nothing in a.md reads it'],
  ['-i and -f cannot be combined', 'inputs and files cannot be combined'],
  ['--until is empty', 'until is empty'],
  ['--iter "x" is neither a count nor a duration', 'iter "x" is neither a count nor a duration'],
  ['Use for example --uncertain 1.2=redo, =done or =fail.', 'Use for example uncertain 1.2=redo, =done or =fail.'],
  ['Name a model with -m NAME, or with `model` in it.', 'Name a model with the field model, or with `model` in it.'],
  ['Resume it: baton resume 1 --iter 3, or not', 'Resume it: baton resume 1 --iter 3, or not'],
  ['the file a-i.md and x--iteration', 'the file a-i.md and x--iteration'],
]

it('errors name fields of a request, not flags of the command line', () => {
  for (const [text, expected] of cases) expect(requestWords(text)).toBe(expected)
})
