import { describe, expect, it } from 'vitest'
import { NotUnderstood, readShell, type ShellWord, type WrittenCommand } from '../../src/tool/command-reader.ts'

interface Read {
  readonly commands: readonly WrittenCommand[]
  readonly variables: readonly string[]
  readonly doubts: readonly string[]
}

function read(line: string): Read {
  const commands: WrittenCommand[] = []
  const variables: string[] = []
  const doubts: string[] = []
  readShell(line, {
    command: (command) => commands.push(command),
    variable: ({ text }) => variables.push(text),
    doubt: (what) => doubts.push(what),
  })
  return { commands, variables, doubts }
}

function words(line: string): readonly ShellWord[] {
  return read(line).commands.flatMap((command) => command.words)
}

describe('a parsed command line', () => {
  it('has words with their text, as written, and the place where the text becomes unknown', () => {
    expect(words(String.raw`'a b' c\ d "e$f" g* $h "$@"`)).toEqual([
      { text: 'a b', raw: "'a b'" },
      { text: 'c d', raw: String.raw`c\ d` },
      { text: 'e', raw: '"e$f"', openAt: 1 },
      { text: 'g*', raw: 'g*', openAt: 1 },
      { text: '', raw: '$h', openAt: 0, splits: true },
      { text: '', raw: '"$@"', openAt: 0, splits: true },
    ])
  })

  it('has assignments before the words of a command, and only words after them', () => {
    const [command] = read('A=1 B+=2 env C=3').commands
    expect(command?.assignments.map(({ text }) => text)).toEqual(['A=1', 'B+=2'])
    expect(command?.words.map(({ text }) => text)).toEqual(['env', 'C=3'])
  })

  it('reports a command when it ends, so that commands in substitutions come before the outer one', () => {
    const programs = (line: string): unknown => read(line).commands.map((one) => one.words[0]?.text)
    expect(programs('echo $(a; b `c`) && d | e')).toEqual(['a', 'c', 'b', 'echo', 'd', 'e'])
    expect(programs('if a; then ( b ); else { c; }; fi')).toEqual(['a', 'b', 'c'])
  })

  it('reports the variable of a loop, but its list is not a command', () => {
    const { commands, variables } = read('for f in a b; do cat x; done')
    expect(variables).toEqual(['f'])
    expect(commands.map((one) => one.words.map(({ text }) => text))).toEqual([['cat', 'x']])
  })

  it('has no commands in here-documents, except in the substitutions of expanded ones', () => {
    const programs = (line: string): unknown => read(line).commands.map((one) => one.words[0]?.text)
    expect(programs('cat <<E\nrm x\n$(a)\nE\nb')).toEqual(['cat', 'a', 'b'])
    expect(programs("cat <<'E'\nrm x\n$(a)\nE\nb")).toEqual(['cat', 'b'])
  })

  it.each([
    ['echo a > b', 'a redirect into a file'],
    ['cat < $a', 'a redirect from something unknown'],
    ['echo $(a)', 'a substitution'],
    ['f() { a; }', 'a function'],
    ['cat <<E\na', 'an unterminated here-document'],
    ['echo a\u200Bb', 'an invisible character'],
  ])('has a reason for doubt: %j has %s', (line, doubt) => {
    expect(read(line).doubts).toEqual([doubt])
  })

  it.each(['echo 2>&1', 'echo > /dev/null', 'a | b && c'])('has no doubt about %s', (line) => {
    expect(read(line).doubts).toEqual([])
  })

  it.each(["echo 'a", 'echo )', '(a', 'case a in b) c;; esac', 'echo $((1))', 'echo ${a:-b}', `${'('.repeat(60)}a`])(
    'is not parsed: %s',
    (line) => {
      expect(() => read(line)).toThrow(NotUnderstood)
    },
  )
})
