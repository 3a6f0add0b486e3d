import { expect, it } from 'vitest'
import { executedWords } from '../../src/config/executed-words.ts'

it.each([
  ['grep -q 8081 notes.txt', 'grep'],
  ['! grep -q "to do" \'notes.txt\'', 'grep'],
  ['test -f out.json && diff -q want.json out.json; [ -s a ]', 'test diff ['],
  ['cat notes.txt | grep -q 8081', 'cat grep'],
  ['grep -q x notes.txt && sh check.sh notes.txt', 'grep sh check.sh notes.txt'],
  ['./check notes.txt || node --require ./a.js b.js', './check notes.txt node --require ./a.js b.js'],
])('of %j only words for reading programs are excluded', (line, started) => {
  expect(executedWords(line).join(' ')).toBe(started)
})

it.each([
  'cat run.sh | sh',
  'cat run.sh |& sh',
  'sh -c "cat run.sh | sh"',
  './grep run.sh',
  "'gr'ep2 run.sh",
  'xargs run.sh',
  'time cat run.sh',
  'if cat run.sh',
])('%j may execute all words', (line) => {
  expect(executedWords(line).join(' ')).toMatch(/run\.sh/)
})

it.each([
  'cat `run.sh`',
  'cat $(sh run.sh)',
  'cat "$(sh run.sh)"',
  "test -v 'a[$(sh run.sh)]'",
  'cat < run.sh',
  'cat a > run.sh; sh *.sh',
  'cat <(sh run.sh)',
  'PATH=./bin grep run.sh',
  'PATH=./bin; grep run.sh',
  'export PATH=./bin; grep run.sh',
  'hash -p /bin/sh grep; grep run.sh',
  'grep() { sh "run.sh"; }; grep x',
  'alias cat=sh\ncat run.sh',
  'cat a # \\',
  'cat \\run.sh',
  "cat 'run.sh",
])('%j is kept whole, because it is not a list of plain commands', (line) => {
  expect(executedWords(line)).toEqual([line])
})
