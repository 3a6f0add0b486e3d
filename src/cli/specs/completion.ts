import type { CommandSpec } from './spec.ts'

const shells = ['bash', 'zsh'] as const

export const completionSpec: CommandSpec = {
  name: 'completion',
  summary: 'print a script that completes commands, flags and files',
  words: [{ name: 'shell', count: 'one', choices: shells, describe: 'the shell it is for' }],
  flags: {},
  async run({ words }, io) {
    const { completionCommand } = await import('../commands/completion.ts')
    return completionCommand(words[0] === 'zsh' ? 'zsh' : 'bash', io)
  },
}
