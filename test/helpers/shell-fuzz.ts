import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ToolRule } from '../../src/event/permission.ts'
import { commandSubject } from '../../src/tool/command-line.ts'
import { toolVerdict } from '../../src/tool/tool-rules.ts'
import { lineOf, mutated, programFolder, programs, randomFrom } from './shell-lines.ts'
import { tempTree } from './temp.ts'

/** What may be run of a line without asking, according to rules that allow `p0` or deny `p1`; and what bash ran. */
export interface ShellFuzzReport {
  /** Lines that were judged. */
  readonly lines: number
  /** Lines that one of the lists allows, each of which was run. */
  readonly run: number
  /** Lines of them that started a program. */
  readonly effective: number
  /** The other ones: both lists ask about them or deny them. */
  readonly asked: number
  readonly wronglyAllowed: readonly string[]
  readonly missed: readonly string[]
}

/** Programs that start others, and what these need. */
const realPrograms = [
  'env',
  'xargs',
  'timeout',
  'nice',
  'nohup',
  'setsid',
  'stdbuf',
  'ionice',
  'find',
  'bash',
  'cat',
  'echo',
  'printf',
  'true',
]

const allowing: readonly ToolRule[] = [
  { tool: 'bash', effect: 'ask', origin: 'default' },
  ...[
    'p0',
    ...'sh bash dash env eval command builtin exec xargs timeout nice nohup setsid stdbuf ionice sudo find trap time'.split(
      ' ',
    ),
    ...'echo printf cat : true test [ [[ read export declare readonly typeset local unset set shopt alias wait break . source'.split(
      ' ',
    ),
    'A=1',
    'A=1 p0 *',
    'x=p0',
    'x=p1',
    'y=1',
  ].map((pattern): ToolRule => ({
    tool: 'bash',
    pattern: /[*=]/.test(pattern) ? pattern : `${pattern} *`,
    effect: 'allow',
    origin: '1',
  })),
]
const denying: readonly ToolRule[] = [
  { tool: 'bash', effect: 'allow', origin: '1' },
  { tool: 'bash', pattern: 'p1*', effect: 'deny', origin: '2' },
]

function isAllowed(line: string, list: readonly ToolRule[]): boolean {
  const action = { kind: 'tool', tool: 'bash', input: null, subject: commandSubject(line) } as const
  return toolVerdict([list], action, '/w').kind === 'allow'
}

/** Runs each line of /in, one after the other, and ends what it leaves. */
const driver = `
number=0
while IFS= read -r -d '' line <&9; do
  echo "= $number" >> /log/log
  number=$((number + 1))
  timeout -s KILL 5 /usr/bin/bash -c "$line" 2>&1 </dev/null | timeout -s KILL 5 cat >/dev/null
  kill -KILL -1
done 9</log/in
`

/** Creates lines, judges them, and runs those in a sandbox that one of two lists of rules allows, until `run` were. */
export function fuzzShell({ run, seed }: { readonly run: number; readonly seed: number }): ShellFuzzReport {
  const random = randomFrom(seed)
  const box = shellBox()
  const report = { lines: 0, run: 0, effective: 0, asked: 0 }
  const wronglyAllowed: string[] = []
  const missed: string[] = []
  while (report.run < run) {
    const batch: { line: string; allowed: boolean; passed: boolean }[] = []
    while (batch.length < Math.min(500, run - report.run)) {
      const line = mutated(lineOf(random), random)
      if (line.includes('\0')) continue
      report.lines += 1
      const one = { line, allowed: isAllowed(line, allowing), passed: isAllowed(line, denying) }
      if (one.allowed || one.passed) batch.push(one)
      else report.asked += 1
    }
    report.run += batch.length
    const ran = box(batch.map(({ line }) => line))
    for (const [index, { line, allowed, passed }] of batch.entries()) {
      const done = ran[index] ?? []
      if (done.length > 0) report.effective += 1
      const isWrong = (programsOfLine: readonly string[]): boolean =>
        (allowed && programsOfLine.some((name) => name !== 'p0')) || (passed && programsOfLine.includes('p1'))
      // a process of the line before may have been late
      if (!isWrong(done) || !isWrong(box([line])[0] ?? [])) continue
      if (allowed) wronglyAllowed.push(line)
      else missed.push(line)
    }
  }
  return { ...report, wronglyAllowed, missed }
}

export function canFuzzShell(): boolean {
  const isThere = (program: string): boolean => existsSync(join('/usr/bin', program))
  return (
    ['bash', 'dash', ...realPrograms].every(isThere) && spawnSync('bwrap', ['--ro-bind', '/', '/', 'true']).status === 0
  )
}

/** Runs lines in a sandbox without anything but the programs; returns which of them each line started. */
function shellBox(): (lines: readonly string[]) => readonly (readonly string[])[] {
  const folder = tempTree({ 's/.keep': '', 'log/.keep': '' })
  const stub = (name: string, text: string): void => {
    writeFileSync(join(folder, 's', name), `#!${programFolder}/.run\n${text}\n`)
    chmodSync(join(folder, 's', name), 0o755)
  }
  copyFileSync('/usr/bin/dash', join(folder, 's/.run'))
  chmodSync(join(folder, 's/.run'), 0o755)
  // a shell that reads it as its script, such as `bash p1`, has run no program
  for (const name of programs) stub(name, `[ /proc/$$/exe -ef ${programFolder}/.run ] && echo ${name} >> /log/log`)
  stub(
    'sudo',
    'while :; do case "$1" in -u) shift 2;; --) shift; break;; -*) shift;; *) break;; esac; done\nexec /usr/bin/env "$@"',
  )
  for (const name of realPrograms) symlinkSync(join('/usr/bin', name), join(folder, 's', name))
  for (const name of ['sh', 'dash']) symlinkSync('/usr/bin/dash', join(folder, 's', name))
  const log = join(folder, 'log/log')
  return (lines) => {
    rmSync(log, { force: true })
    writeFileSync(join(folder, 'log/in'), lines.map((line) => `${line}\0`).join(''))
    const system = ['/usr', '/lib', '/lib64', '/bin'].filter(existsSync).flatMap((place) => ['--ro-bind', place, place])
    const mounts = [...system, '--ro-bind', join(folder, 's'), programFolder, '--bind', join(folder, 'log'), '/log']
    const more = [
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--tmpfs',
      '/w',
      '--chdir',
      '/w',
      '--unshare-all',
      '--die-with-parent',
      '--new-session',
    ]
    const env = [
      '--clearenv',
      '--setenv',
      'PATH',
      programFolder,
      '--setenv',
      'HOME',
      '/w',
      '--setenv',
      'FUNCNEST',
      '20',
    ]
    spawnSync('bwrap', [...mounts, ...more, ...env, '/usr/bin/bash', '-c', driver], { stdio: 'ignore' })
    const ran: string[][] = []
    for (const text of existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []) {
      if (text.startsWith('= ')) ran.push([])
      else if (text !== '') ran.at(-1)?.push(text)
    }
    return ran
  }
}
