import { describe, expect, it } from 'vitest'
import { joinValues, parseQuickly } from '../../src/cli/program.ts'

function parsed(...args: readonly string[]): unknown {
  const call = parseQuickly(args)
  return call === undefined ? undefined : [call.command.name, call.words, { ...call.flags }]
}

describe('the quick parser', () => {
  it.each([
    [['a.md'], ['run', ['a.md'], {}]],
    [[], ['run', [], {}]],
    [['-'], ['run', ['-'], {}]],
    [
      ['run', '--prompt=- x', '--var', 'a=1', '--var=b=2', '--output', 'o.md'],
      ['run', [], { prompt: '- x', var: ['a=1', 'b=2'], output: 'o.md' }],
    ],
    [
      ['run', 'a.md', '-i', 'one', '--input', 'two', '-m', 'x'],
      ['run', ['a.md'], { input: ['one', 'two'], model: 'x' }],
    ],
    [
      ['-v', 'run.md', '-c', 'a=1', '-c=b'],
      ['run', ['run.md'], { verbose: true, config: ['a=1', '=b'] }],
    ],
    [
      ['check', 'a.md', 'b.md', '--json'],
      ['check', ['a.md', 'b.md'], { json: true }],
    ],
    [
      ['config', '--origin'],
      ['config', [], { origin: true }],
    ],
    [
      ['a.aip', '-s', '--dry', 'req', '-f', '*.ts'],
      ['run', ['a.aip'], { 'single-shot': true, dry: 'req', 'on-files': ['*.ts'] }],
    ],
  ])('parses %j', (args, expected) => {
    expect(parsed(...args)).toEqual(expected)
  })

  it.each([
    [['--help']],
    [['run', 'a.md', '--help']],
    [['run', 'a.md', 'b.md']],
    [['a.md', '--nope']],
    [['a.md', '-m']],
    [['-p', 'x', '--prompt', 'y']],
    [['-p', '- x']],
    [['a.md', '-m', 'x', '-m', 'y']],
    [['a.md', '-v', '-q']],
    [['a.md', '--dry', 'all']],
    [['check']],
  ])('leaves %j to yargs', (args) => {
    expect(parsed(...args)).toBeUndefined()
  })
})

describe('a value that begins with -', () => {
  it.each([
    [['-p', '---\nmodel: m\n---\nHi'], ['--prompt=---\nmodel: m\n---\nHi']],
    [
      ['run', '--prompt', '- one\n- two', '-m', 'x'],
      ['run', '--prompt=- one\n- two', '-m', 'x'],
    ],
    [
      ['a.md', '-i', '- item', '-i', '- other'],
      ['a.md', '--input=- item', '--input=- other'],
    ],
  ])('belongs to the flag before it: %j', (args, expected) => {
    expect(joinValues(args)).toEqual(expected)
  })

  it.each([
    [['-p', '-v']],
    [['-p', '-1']],
    [['-p', 'two words']],
    [['-v', '- x']],
    [['a.md', '- x']],
    [['-c', '--chdir=a b']],
    [['--', '-p', '- x']],
    [['-p']],
  ])('stays separate if it may be a flag, or follows none: %j', (args) => {
    expect(joinValues(args)).toEqual(args)
  })
})
