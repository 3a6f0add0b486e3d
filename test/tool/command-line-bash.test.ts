import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ToolRule } from '../../src/event/permission.ts'
import { commandSubject } from '../../src/tool/command-line.ts'
import { toolVerdict } from '../../src/tool/tool-rules.ts'
import { tempTree } from '../helpers/temp.ts'
import { core } from '../helpers/series.ts'

const bash = spawnSync('bash', ['--version']).status === 0

/** Numbers that are the same in each run. */
function randomFrom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

const names = ['p0', 'p1', 'p2', 'p3']
type Random = (below: number) => number

/** A line that is valid until `mutated` changes it. */
function lineOf(random: Random, depth = 0): string {
  const pick = (...from: readonly string[]): string => from[random(from.length)] ?? ''
  const name = pick('p0', 'p0', 'p1', 'p2', `p"0"`, String.raw`p\1`, `'p1'`, `$'p\\x31'`, '$x')
  const args = pick(
    '',
    '',
    ' a',
    ` 'b;p1'`,
    ' "c $x"',
    ' *',
    ' >/dev/null',
    ' 2>&1',
    ' <<<p1',
    ' #p1',
    ' {a,b}',
    ' ~',
    ' \\\n p1',
  )
  if (depth > 3 || random(3) === 0) return name + args
  const [one, two] = [lineOf(random, depth + 1), lineOf(random, depth + 1)]
  const quoted = one.replaceAll("'", String.raw`'\''`)
  return pick(
    `${one}${pick(';', ' && ', '||', '|', '&', '\n', ' |& ', '&&\n')}${two}`,
    `${one}\n${two}`,
    `(${one})`,
    `{ ${one}\n}`,
    `if ${one}\nthen ${two}\nfi`,
    `for x in p1 b; do ${one}\ndone`,
    `for x do ${one}\ndone;${two}`,
    `until ${one}\ndo ${two}\ndone`,
    `! ${one}`,
    `time ${one}`,
    `${name} $(${one}\n)`,
    `${name} "$(${one}\n)"`,
    `${name} <(${one}\n)`,
    `${name} <<E\n$(${one}\n)\nE\n${two}`,
    `${name} <<'E'\n${one}\nE\n${two}`,
    `case a in a) ${one}\n;; esac`,
    `[[ a ]] && ${one}`,
    `${name} $((1))\n${one}`,
    `f() { ${one}\n}; ${pick('f', two)}`,
    `${pick('A=1', 'CI=1', 'x=p1', 'PATH=$PATH')} ${one}`,
    `x=p1;${one}`,
    `${pick('env', 'env A=1', 'command', 'exec', 'nohup', 'timeout 5', 'eval')} ${name}${args}`,
    `echo p1 | xargs ${name}`,
    `echo ${name} | ${pick('sh', 'xargs', 'bash -s')}`,
    `${pick('sh -c', 'bash -c', 'eval', 'bash -ec')} '${quoted}'`,
    `trap '${quoted}' EXIT`,
    `find . -maxdepth 0 -exec ${name} {} \\;`,
  )
}

const pieces = [
  ' ',
  '\n',
  ';',
  '|',
  '&',
  '(',
  ')',
  '`',
  "'",
  '"',
  '\\',
  '$',
  '#',
  '<',
  '{',
  '}',
  '!',
  '$(',
  '<<E\n',
  '&&',
  'p1',
  ' p1 ',
]

function mutated(line: string, random: Random): string {
  if (random(3) > 0) return line
  const at = random(line.length + 1)
  return line.slice(0, at) + (pieces[random(pieces.length)] ?? '') + line.slice(at + random(2))
}

const rules: readonly ToolRule[] = [
  { tool: 'bash', effect: 'ask', origin: 'default' },
  { tool: 'bash', pattern: 'p0*', effect: 'allow', origin: '1' },
  ...['sh *', 'bash *', 'env *', 'eval *', 'command *', 'exec *', 'xargs *'].map((pattern): ToolRule => ({
    tool: 'bash',
    pattern,
    effect: 'allow',
    origin: '2',
  })),
]
const denying: readonly ToolRule[] = [
  { tool: 'bash', effect: 'allow', origin: '1' },
  { tool: 'bash', pattern: 'p1*', effect: 'deny', origin: '2' },
]

function verdict(line: string, list: readonly ToolRule[]): string {
  return toolVerdict([list], { kind: 'tool', tool: 'bash', input: null, subject: commandSubject(line) }, '/w').kind
}

describe('what is allowed for a line', () => {
  it('is never allowed for more than its first command, whatever stands between', () => {
    const random = randomFrom(7)
    const between = [
      ';',
      '&&',
      '||',
      '|',
      '|&',
      '&',
      '\n',
      ' ;',
      '\t&&\n',
      ' $(',
      ' `',
      ' <(',
      ' >(',
      ';{ ',
      '&&(',
      '\nif ',
    ]
    const before = ['', 'A=1 ', '! ', 'time ', '(', '{ ', 'if ', 'for x do ', 'until ', '\\\n', 'CI=1 ']
    const args = [
      '',
      ' a',
      ` 'b c'`,
      ` "d"`,
      ' $x',
      ' *',
      String.raw` \;`,
      ` ';'`,
      ' 2>&1',
      ' >/dev/null',
      ' <<E\nx\nE\n',
      ' #',
    ]
    for (let round = 0; round < 2000; round += 1) {
      const pick = (from: readonly string[]): string => from[random(from.length)] ?? ''
      const line = `${pick(before)}npm test${pick(args)}${pick(between)}evil${pick(args)}${pick(['', ')', '`', '; }', ';fi', ';done'])}`
      // text after a # is a comment, up to the end of the line
      if (/ #[^\n]*evil/.test(line)) continue
      const allowed = toolVerdict(
        [[rules[0] as ToolRule, { tool: 'bash', pattern: 'npm test*', effect: 'allow', origin: '1' }]],
        { kind: 'tool', tool: 'bash', input: null, subject: commandSubject(line) },
        '/w',
      )
      expect(allowed.kind, line).not.toBe('allow')
    }
  })

  it.runIf(bash)('is all that bash runs of it, and what is denied is not run without asking', () => {
    const count = Number(process.env['BATON_FUZZ_LINES'] ?? core(30, 80))
    const random = randomFrom(Number(process.env['BATON_FUZZ_SEED'] ?? 11))
    const folder = tempTree({ 'bin/.keep': '', 'work/.keep': '' })
    const log = join(folder, 'log')
    for (const name of names) {
      writeFileSync(join(folder, 'bin', name), `#!/bin/sh\necho ${name} >> ${log}\n`)
      chmodSync(join(folder, 'bin', name), 0o755)
    }
    const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`, HOME: folder }
    let ran = 0
    for (let round = 0; ran < count && round < count * 10; round += 1) {
      const line = mutated(lineOf(random), random)
      const isAllowed = verdict(line, rules) === 'allow'
      const isStopped = verdict(line, denying) !== 'allow'
      // a line that neither list allows checks nothing below
      if (!isAllowed && isStopped) continue
      rmSync(log, { force: true })
      spawnSync('bash', ['-c', line], {
        cwd: join(folder, 'work'),
        env,
        input: '',
        timeout: 5000,
        killSignal: 'SIGKILL',
      })
      const done = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
      if (done.length === 0) continue
      ran += 1
      if (isAllowed) expect(new Set(done), line).toEqual(new Set(['p0']))
      if (!isStopped) expect(done, line).not.toContain('p1')
    }
    expect(ran).toBeGreaterThan(count / 3)
  })
})
