import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ToolRule } from '../../src/event/permission.ts'
import { createApprovals } from '../../src/journal/approvals.ts'
import { commandSubject } from '../../src/tool/command-line.ts'
import { toolVerdict } from '../../src/tool/tool-rules.ts'
import { hasBox } from '../helpers/box.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld } from './harness.ts'

// Lines that look like something these patterns allow, but are not. None of them may run without asking.

const patterns = ['git log*', 'npm test*', 'ls *']

const lines: Readonly<Record<string, string>> = {
  'a second command': 'git log; rm -r src',
  'a second command without blanks': 'ls a;rm -r src',
  and: 'npm test && rm -r src',
  or: 'git log none || rm -r src',
  'a pipe into a shell': 'git log --format=%b | sh',
  'a pipe of errors': 'git log |& sh',
  'the background': 'npm test & rm -r src',
  'a new line': 'git log\nrm -r src',
  'a new line behind a comment': 'ls a # only looks\nrm -r src',
  'a carriage return': 'ls a\r\nrm -r src',
  'a line that goes on': 'ls a \\\n; rm -r src',
  'a subshell': '(npm test; rm -r src)',
  'a group': '{ npm test; rm -r src; }',
  'a condition': 'if npm test; then rm -r src; fi',
  'a loop': 'while ls a; do rm -r src; done',
  'a loop over words': 'for x in src; do rm -r $x; done; ls a',
  'a case': 'case x in x) rm -r src;; esac; ls a',
  'a test': '[[ -n $(rm -r src) ]] && ls a',
  'a substitution': 'git log $(rm -r src)',
  'a substitution with backticks': 'git log `rm -r src`',
  'a substitution in quotes': 'ls "a $(rm -r src)"',
  'a substitution in a default': 'ls ${x:-$(rm -r src)}',
  'a substitution in arithmetic': 'ls $(( $(rm -r src) + 1 ))',
  'a process': 'ls <(rm -r src)',
  'a substitution in a here-document': 'git log --stdin <<EOF\n$(rm -r src)\nEOF',
  'a here-document for a shell': 'sh <<EOF\nrm -r src\nEOF\nls a',
  'a line behind a here-document': "git log --stdin <<'EOF'\nmain\nEOF\nrm -r src",
  'a file that is written': 'git log > src/a.txt',
  'a file that is added to': 'ls a >> src/a.txt',
  'a file that is forced': 'git log >| src/a.txt',
  'a file for errors': 'npm test 2> src/a.txt',
  'a file for both': 'npm test &> src/a.txt',
  'a connection': 'ls a > /dev/tcp/127.0.0.1/80',
  'a path of programs': 'PATH=. git log',
  'a library': 'LD_PRELOAD=./a.so ls a',
  'a pager': 'GIT_PAGER=./evil git log',
  'options of node': 'NODE_OPTIONS=--require=./a.js npm test',
  'a variable for what follows': 'export PATH=.; ls a',
  'settings in front of the subcommand': 'git -c core.pager=./evil log',
  'another repository': 'git --git-dir=evil log',
  'another program of that name': './git log',
  'a program by its path': '/tmp/evil/ls a',
  'a program whose name is both words': '"git log" a',
  'a variable as the program': 'X=rm; $X -r src',
  'the words of a variable': 'set -- rm -r src; "$@"; ls a',
  'a program that starts one': 'env rm -r src',
  'another user': 'sudo ls a',
  'words from a pipe': 'ls a | xargs rm -r',
  'a search that starts one': 'find src -exec rm {} +',
  'a line in a line': 'sh -c "ls a; rm -r src"',
  'a line that is put together': 'eval "git log; rm -r src"',
  'a file that is read in': '. ./evil.sh; ls a',
  'a function': 'ls() { rm -r src; }; ls a',
  'a function in other words': 'function npm { rm -r src; }; npm test',
  'an alias': 'alias ls="rm -r"\nls src',
  'a trap': "trap 'rm -r src' EXIT; ls a",
  time: 'time rm -r src; ls a',
  'a negation': '! rm -r src && ls a',
  'a coprocess': 'coproc rm -r src; ls a',
  command: 'command rm -r src; ls a',
  exec: 'exec rm -r src',
  'another folder': 'cd / && ls a',
  'a letter that looks like another': 'git lоg',
  'a blank that is none': 'git\u00a0log',
  'a NUL character': 'ls a\0; rm -r src',
  'quotes that do not end': 'ls "a; rm -r src',
  'a file of another program behind a pipe': 'git log | tee src/a.txt',
}

const rules: readonly ToolRule[] = [
  { tool: 'bash', effect: 'ask', origin: 'default' },
  ...patterns.map((pattern) => ({ tool: 'bash', pattern, effect: 'allow', origin: 'mine' }) as const),
]

function verdictOf(line: string): string {
  const action = { kind: 'tool', tool: 'bash', input: null, subject: commandSubject(line) } as const
  return toolVerdict([rules], action, '/work').kind
}

it('commands that match the meaning of a pattern are allowed', () => {
  const meant = [
    'git log -3',
    'npm test',
    'ls -l src',
    'git log | ls a',
    'npm test >/dev/null 2>&1; ls a',
    'LANG=C ls a',
  ]
  expect(meant.map(verdictOf)).toEqual(meant.map(() => 'allow'))
})

attack('a line that only looks like what a pattern allows is asked about', { core: lines }, (line) => {
  expect(verdictOf(line)).toBe('ask')
})

attack('a line that only looks like an accepted pattern is asked about', { core: lines }, (line) => {
  const grants = ['git log', 'npm test', 'ls'].map((words) => ({ range: 'commands', tool: 'bash', words }) as const)
  const { open } = createApprovals({ approver: 'deny', before: { places: [], grants } })
  const action = { kind: 'tool', tool: 'bash', input: null, subject: commandSubject(line) } as const
  expect(() => open(action, { at: [], place: '', since: undefined })).toThrow('needs approval')
})

describe.skipIf(!hasBox)('with the built command (needs bwrap and user namespaces)', () => {
  attack('none of them is run by the command', { core: { 'all in one answer': Object.values(lines) } }, async (all) => {
    const model = await startToolModel([
      callsTools(...all.map((command) => ['bash', { command }] as const)),
      { text: 'Done.' },
    ])
    const world = createWorld({
      work: {
        'ask.md': '+++\nmodel = "m"\nwrite_mode = true\ntools = ["bash"]\n+++\nLook.\n',
        'src/a.txt': 'one\n',
        'a.txt': '',
      },
      env: { BATON_GATEWAY_URL: model.url },
    })
    const allow = patterns.flatMap((pattern) => ['-c', `permission.bash.${pattern}=allow`])
    const end = await world.run(['ask.md', ...allow])
    expectHeld(world, end, [0])
    const results = model.results()
    expect(results.length).toBe(all.length)
    for (const [index, result] of results.entries()) expect(result, all[index]).toMatch(/^Error: permission denied/)
    expect(existsSync(join(world.work, 'src/a.txt'))).toBe(true)
  })
})
