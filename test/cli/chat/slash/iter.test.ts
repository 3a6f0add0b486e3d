import { expect, it } from 'vitest'
import { readIter } from '../../../../src/cli/chat/actions.ts'

it.each([
  [
    '5 "Implement user authentication"',
    {
      isBackground: false,
      condition: '5',
      parsed: { kind: 'count', count: 5 },
      prompt: 'Implement user authentication',
    },
  ],
  [
    '2h "Keep improving code quality"',
    {
      isBackground: false,
      condition: '2h',
      parsed: { kind: 'duration', seconds: 7200 },
      prompt: 'Keep improving code quality',
    },
  ],
  [
    '--background 10 "Refactor authentication"',
    { isBackground: true, condition: '10', parsed: { kind: 'count', count: 10 }, prompt: 'Refactor authentication' },
  ],
  [
    '--with-chat --background 10m "Go on"',
    {
      isBackground: true,
      knowsChat: true,
      condition: '10m',
      parsed: { kind: 'duration', seconds: 600 },
      prompt: 'Go on',
    },
  ],
  [
    String.raw`5 'say \'hi\''`,
    { isBackground: false, condition: '5', parsed: { kind: 'count', count: 5 }, prompt: "say 'hi'" },
  ],
  [
    '5 fix   the "tests"',
    { isBackground: false, condition: '5', parsed: { kind: 'count', count: 5 }, prompt: 'fix   the "tests"' },
  ],
  ["5 don't stop", { isBackground: false, condition: '5', parsed: { kind: 'count', count: 5 }, prompt: "don't stop" }],
] as const)('parses %s (TV12, R86)', (rest, expected) => {
  expect(readIter(rest)).toEqual({ knowsChat: false, ...expected })
})

it.each([
  ['5', '/iter: the prompt is missing'],
  ['"x"', '/iter: "x" is neither a count nor a duration'],
  ['5 ""', '/iter: the prompt is empty'],
  ['', '/iter needs a condition and a prompt'],
  ['--background', '/iter needs a condition and a prompt'],
  ['--with-chat --with-chat 5 x', '/iter: "--with-chat" is neither a count nor a duration'],
  ['5 "open', 'the quote " at column 3 is not closed: "open'],
] as const)('refuses %s (TV12)', (rest, message) => {
  expect(() => readIter(rest)).toThrow(message)
})
