import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { runProgram } from '../../src/cli/program.ts'
import { tempTree } from '../helpers/temp.ts'

/** What a command line prints on stdout, or its error and hint. */
async function say(...args: readonly string[]): Promise<string> {
  const cwd = tempTree({ 'a.md': 'Hi\n' })
  let printed = ''
  const io = { cwd, env: {}, home: cwd, columns: () => 80, out: (text: string) => (printed += text) }
  try {
    await runProgram(args, io as unknown as CommandIo)
    return printed
  } catch (error) {
    if (!isBatonError(error)) throw error
    return `${error.message}\n${error.hint}`
  }
}

describe('help', () => {
  it('is also a command, for all commands and for one', async () => {
    expect(await say('help')).toBe(await say('--help'))
    expect(await say('help', 'check')).toBe(await say('check', '--help'))
  })
})

describe('a mistake in the command line', () => {
  it.each([
    [['a.md', '--max-csot', '1'], 'unknown flag --max-csot', 'Did you mean --max-cost? See baton --help.'],
    [['a.md', '--maxCost=1'], 'unknown flag --maxCost', 'Did you mean --max-cost? See baton --help.'],
    [['a.md', '--nope', '--dry_Run'], 'unknown flags --nope, --dry_Run', 'See baton --help.'],
    [['a.md', '-modle', 'x'], 'unknown flag -modle', 'Did you mean --model? See baton --help.'],
    [['a.md', '-Z'], 'unknown flag -Z', 'See baton --help.'],
    // an action may have the same name as another command
    [['mcp', 'list', '--chek'], 'unknown flag --chek', 'Did you mean --check? See baton mcp --help.'],
    [['chek', 'a.md'], 'unexpected argument a.md', 'Did you mean baton check? See baton --help.'],
    [
      ['claude', 'hello'],
      'unexpected argument hello',
      'Pass input text with -i, or a prompt without a file with -p. See baton --help.',
    ],
    [
      ['a.md', '-f', 'a.ts', 'b.ts', 'c.ts'],
      'unexpected arguments b.ts, c.ts',
      "-f takes one glob: quote it so that the shell leaves it alone, -f '*.ts', or repeat -f for each file. See baton --help.",
    ],
    [['run', 'a.md', '--watch', 'prompt'], 'unexpected argument prompt', 'Write --watch=prompt. See baton run --help.'],
    [
      ['a.md', '--var', 'name', '=', 'Bob'],
      'unexpected arguments =, Bob',
      'Write name=value after --var, without spaces. See baton --help.',
    ],
    [
      ['create', 'agent', 'x'],
      'unexpected arguments agent, x',
      'For aip create, use baton new, which writes an agent or a prompt file. See baton --help.',
    ],
    [['a.md', '--dry'], '--dry needs a value: req, res or changes', 'See baton --help.'],
    [['help', 'chek'], 'there is no command chek', 'Did you mean baton help check? See baton --help.'],
    [['help', 'a.md'], 'there is no command a.md', 'See baton --help.'],
    [
      ['a.md', '--dry', 'chnages'],
      '--dry must be req, res or changes, not "chnages"',
      'Did you mean changes? See baton --help.',
    ],
    [
      ['runs', 'shwo'],
      'action must be list, show, diff, export or rm, not "shwo"',
      'Did you mean show? See baton runs --help.',
    ],
    [['aprove', 'last', '--resaon=x'], 'unknown flag --resaon', 'Did you mean baton approve? See baton --help.'],
    [['check', 'a.md', '--format'], '--format needs a value: text, json, github or sarif', 'See baton check --help.'],
    [['a.md', '-v', '-q'], '--quiet and --verbose are mutually exclusive', 'See baton --help.'],
  ])('%j is reported once, as it was written', async (args, message, hint) => {
    expect(await say(...args)).toBe(`${message}\n${hint}`)
  })
})
