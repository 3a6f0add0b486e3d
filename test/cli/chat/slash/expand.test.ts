import { describe, expect, it } from 'vitest'
import { expandCommand } from '../../../../src/cli/chat/file-commands.ts'
import type { ChatCommand } from '../../../../src/config/chat-commands.ts'

function command(text: string, given: Partial<ChatCommand> = {}): ChatCommand {
  return {
    name: 'x',
    description: '',
    argumentHint: '',
    text,
    settings: {},
    from: 'workspace',
    file: '/w/commands/x.md',
    shown: 'commands/x.md',
    ...given,
  }
}

describe('the text of a command', () => {
  it.each([
    ['Look at $ARGUMENTS.', ' a  "b c" ', 'Look at a  "b c".'],
    ['$2, then $1.', `'one two' three`, 'three, then one two.'],
    ['First: $1, ninth: $9.', 'a', 'First: a, ninth: .'],
    ['$1', '$2 $ARGUMENTS', '$2'],
    ['$10 and $ARGUMENTSX', '', '$10 and $ARGUMENTSX'],
    [String.raw`It costs \$5: $ARGUMENTS`, 'all', 'It costs $5: all'],
    ['Run the tests.', 'of the cart', 'Run the tests.\n\nof the cart'],
    ['Run the tests.', '  ', 'Run the tests.'],
    ['Do: $ARGUMENTS', "what you don't like", "Do: what you don't like"],
  ])('%j with %j is %j', (text, rest, expected) => {
    expect(expandCommand(command(text), rest, []).text).toBe(expected)
  })

  it('cannot contain an unclosed quote', () => {
    expect(() => expandCommand(command('$1'), '"open', [])).toThrow(/^the quote " at column 1 is not closed/)
  })
})

describe('the tools of a command', () => {
  const tools = (names: readonly string[], from: ChatCommand['from'], chat: readonly string[]) =>
    expandCommand(command('x', { from, settings: { tools: names, model: 'm' } }), '', chat).settings

  it('of the user are those in its file', () => {
    expect(tools(['bash', 'read'], 'user', ['read'])).toEqual({ model: 'm', tools: ['bash', 'read'] })
  })

  it.each([
    [['bash', 'read'], ['read', 'grep'], ['read']],
    [['*'], ['read', 'grep'], ['read', 'grep']],
    [['github__get*', 'bash'], ['*'], ['github__get*', 'bash']],
    [['github__*'], ['github__get*', 'read'], ['github__get*']],
    [['bash'], ['read'], []],
  ])('%j of a folder are restricted to those of the chat: %j', (own, chat, expected) => {
    for (const from of ['workspace', 'pack'] as const) {
      expect(tools(own, from, chat)).toEqual({ model: 'm', tools: expected })
    }
  })

  it('are those of the chat if it names none', () => {
    expect(expandCommand(command('x'), '', ['read']).settings).toEqual({})
  })
})
