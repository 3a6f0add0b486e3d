import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import { commandTable, defaultCommand } from '../../src/cli/command-table.ts'
import { globalFlagSpecs } from '../../src/cli/command.ts'
import { plainSpelling } from '../../src/cli/spellings.ts'
import { parseLine } from '../../src/cli/yargs.ts'

/** The command of a line, its words, and its flags that are set. */
function read(...args: readonly string[]): unknown {
  const call = parseLine(args, { columns: () => 80 })
  if (call.kind === 'text') return call.text.split('\n', 1)[0]
  const given = Object.entries(call.line.flags).filter(([, value]) => value !== undefined && value !== false)
  const set = given.filter(([, value]) => !Array.isArray(value) || value.length > 0)
  return [call.command.name, call.line.words, Object.fromEntries(set)]
}

function messageOf(...args: readonly string[]): string {
  try {
    return JSON.stringify(read(...args))
  } catch (error) {
    if (!isBatonError(error)) throw error
    return error.message
  }
}

describe('a command line', () => {
  it.each([
    [['a.md'], ['run', ['a.md'], {}]],
    [[], ['run', [], {}]],
    [[''], ['run', [''], {}]],
    [['-'], ['run', ['-'], {}]],
    [
      ['check', '-', 'b.md'],
      ['check', ['-', 'b.md'], {}],
    ],
    [['007'], ['run', ['007'], {}]],
    [
      ['-v', 'true'],
      ['run', ['true'], { verbose: true }],
    ],
    [
      ['check', 'a.md', 'b.md', '--json'],
      ['check', ['a.md', 'b.md'], { json: true }],
    ],
    [
      ['-v', 'check', 'a.md'],
      ['check', ['a.md'], { verbose: true }],
    ],
    [
      ['-v', 'run.md', '-v'],
      ['run', ['run.md'], { verbose: true }],
    ],
    [
      ['config', '--origin'],
      ['config', [], { origin: true }],
    ],
    [
      ['run', '--var', 'a=1', '--var=b=2', '--output', 'o.md'],
      ['run', [], { var: ['a=1', 'b=2'], output: 'o.md' }],
    ],
    [
      ['a.md', '-i', 'one', '--input', 'two', '-i', '-', '-m', 'x'],
      ['run', ['a.md'], { input: ['one', 'two', '-'], model: 'x' }],
    ],
    [
      ['a.aip', '-s', '--dry', 'req', '-f', '*.ts'],
      ['run', ['a.aip'], { 'single-shot': true, dry: 'req', 'on-files': ['*.ts'] }],
    ],
    // a value that is attached to a short flag, as it is
    [
      ['-Csub', '-vpx', '-c.d=1', '-c=b', '-ffile'],
      ['run', [], { chdir: 'sub', verbose: true, prompt: 'x', config: ['.d=1', '=b'], 'on-files': ['file'] }],
    ],
    [
      ['pack', 'folder', '-oout'],
      ['pack', ['folder'], { output: 'out' }],
    ],
    [
      ['a.md', '-wsy'],
      ['run', ['a.md'], { watch: true, 'single-shot': true, yes: true }],
    ],
    [
      ['a.md', '--input=', '--model=', '-i', ''],
      ['run', ['a.md'], { input: ['', ''], model: '' }],
    ],
    [
      ['a.md', '--input="quoted"', '-i', "'x'", '-p', '"y"'],
      ['run', ['a.md'], { input: ['"quoted"', "'x'"], prompt: '"y"' }],
    ],
    [
      ['-p', '---\nmodel: m\n---\nHi', '-i', '- item', '--max-cost', '1.50'],
      ['run', [], { prompt: '---\nmodel: m\n---\nHi', input: ['- item'], 'max-cost': '1.50' }],
    ],
    [
      ['--', '--help'],
      ['run', ['--help'], {}],
    ],
    [
      ['--', 'check'],
      ['run', ['check'], {}],
    ],
    [
      ['check', '-v', '--', '-a', '-'],
      ['check', ['-a', '-'], { verbose: true }],
    ],
    [
      ['a.md', '--watch=prompt'],
      ['run', ['a.md'], { watch: true, config: ['watch="prompt"'] }],
    ],
    [
      ['a.md', '--json=true', '--watch=false'],
      ['run', ['a.md'], { json: true }],
    ],
    [['help'], 'Usage: baton <command> [options]'],
    [['check', 'help'], 'baton check <files..>'],
    [['-v', 'check', '--help'], 'baton check <files..>'],
    [
      ['help', 'check'],
      ['help', ['check'], {}],
    ],
  ])('%j is read as it is meant', (args, expected) => {
    expect(read(...args)).toEqual(expected)
  })

  it.each([
    [['run', 'a.md', 'b.md'], 'unexpected argument b.md'],
    [['--', 'a.md', '-b'], 'unknown flag -b'],
    [['-p', '-v'], '-p needs a value'],
    [['-p', '--', 'x'], '-p needs a value'],
    [['-p', 'x', '--prompt', 'y'], '--prompt is given more than once'],
    [['a.md', '- x'], 'unknown flag - x'],
    [['a.md', '-vq'], '--quiet and --verbose are mutually exclusive'],
    [['a.md', '--dry='], '--dry must be req, res or changes, not ""'],
    [['a.md', '-model'], 'unknown flag -model'],
    [['check'], 'missing argument: baton check <files..>'],
  ])('%j is refused', (args, message) => {
    expect(messageOf(...args)).toBe(message)
  })
})

it.each([
  [['-p', '-v']],
  [['-p', '-1']],
  [['-p']],
  [['-v', 'a.md', '--nope', '-Z', '--help']],
  [['--chdir=a b', '-modle']],
])('%j needs no other spelling', (args) => {
  const flags = { ...globalFlagSpecs, ...defaultCommand.flags }
  expect(plainSpelling(args, { flags, commands: commandTable })).toEqual(args)
})
