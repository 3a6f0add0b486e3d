import { describe, expect, it } from 'vitest'
import { historyMessages } from '../../../src/agent/history-messages.ts'
import { textOf } from '../../../src/event/message.ts'
import type { Prompt, PromptOutput } from '../../../src/event/prompt.ts'

const time = { start: '2026-01-01T00:00:00.000Z', end: '2026-01-01T00:00:01.000Z' }

function prompt(input: string, ...output: readonly PromptOutput[]): Prompt {
  return { id: 'p', userId: 'ada', mode: 'm', model: 'normal', visible: true, state: 'completed', input, output }
}

function said(text: string): PromptOutput {
  return { type: 'text', text, ...time }
}

function called(
  name: string,
  input: Extract<PromptOutput, { type: 'tool' }>['input'],
  result: Extract<PromptOutput, { type: 'tool' }>['result'],
): PromptOutput {
  return { type: 'tool', id: 'c', function: name, input, result, ...time }
}

/** Messages as `role: text`. */
function lines(...prompts: readonly Prompt[]): readonly string[] {
  return historyMessages(prompts).map((message) => `${message.role}: ${textOf(message)}`)
}

describe('history as messages', () => {
  it('are ordered by prompt: the prompt and its answers (R181, R182)', () => {
    expect(lines(prompt('Hi.', said('Hello.')), prompt('And?', said('So.')))).toEqual([
      'user: Hi.',
      'assistant: Hello.',
      'user: And?',
      'assistant: So.',
    ])
  })

  it('have a program as a message of the assistant, and its result as a message of the user (R182)', () => {
    const program = called('code.execute', { code: 'output(1 + 1)' }, { type: 'success', output: '2' })
    const broken = called('code.execute', { code: 'output(' }, { type: 'error', error: 'SyntaxError' })
    expect(lines(prompt('Count.', program, said('Two.'), broken))).toEqual([
      'user: Count.',
      'assistant: output(1 + 1)',
      'user: 2',
      'assistant: Two.',
      'assistant: output(',
      'user: error: SyntaxError',
    ])
  })

  it('have other tools as one line of the user, in any mode (R184)', () => {
    const read = called('read', { path: 'a.txt' }, { type: 'success', output: 'text' })
    const open = called('bash', 'rm', { type: 'pending' })
    expect(lines(prompt('Look.', read, open))).toEqual([
      'user: Look.',
      'user: read({"path":"a.txt"}) → text',
      'user: bash(rm) → not finished',
    ])
  })

  it('truncate the line of a tool to 2,000 characters', () => {
    const [, line = ''] = lines(prompt('Look.', called('read', {}, { type: 'success', output: 'x'.repeat(5000) })))
    expect(line).toMatch(/^user: read\(\{\}\) → x+… \(3011 more characters\)$/)
    expect(line.indexOf('…') - 'user: '.length).toBe(2000)
  })
})
