import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { createWorld, type World } from './harness.ts'

/** Names that a shell would run, names of flags, and files that never end when read. */
function hostile(world: World): void {
  const names = ['$({{m}})', '`{{m}}`', "a';{{m}};'", 'b"$({{m}})"', 'c\n{{m}}', 'd;{{m}}', '\u001b[2Jx', '--yes', '-y']
  mkdirSync(join(world.work, 'agents'))
  for (const name of names) {
    // a name contains no slash
    const plain = name.replace('{{m}}', 'touch $MARK')
    writeFileSync(join(world.work, 'agents', `${plain}.aip`), '')
    writeFileSync(join(world.work, `${plain}.md`), '+++\n+++\n')
    const pack = join(world.work, '.aipack/pack/custom/ns', plain)
    mkdirSync(pack, { recursive: true })
    writeFileSync(join(pack, 'main.aip'), '')
  }
  const pack = join(world.work, '.aipack/pack/custom/ns/odd')
  mkdirSync(pack, { recursive: true })
  for (const file of ['pack.toml', 'main.aip', 'a.md']) spawnSync('mkfifo', [join(pack, file)])
  for (const file of ['baton.toml', 'agents/pipe.aip']) spawnSync('mkfifo', [join(world.work, file)])
  mkdirSync(join(world.state, 'data'), { recursive: true })
  spawnSync('mkfifo', [join(world.state, 'data/trust.json')])
  symlinkSync('.', join(pack, 'loop'))
  symlinkSync('two', join(pack, 'one'))
  symlinkSync('one', join(pack, 'two'))
  symlinkSync('/dev/zero', join(pack, 'zero.md'))
  writeFileSync(join(pack, 'huge.md'), '')
  truncateSync(join(pack, 'huge.md'), 8 * 1024 ** 3)
  // completion must not run the program that was typed
  writeFileSync(join(world.work, 'baton'), '#!/bin/sh\ntouch "$MARK"\n')
  chmodSync(join(world.work, 'baton'), 0o755)
  mkdirSync(join(world.work, '../bin'))
  const own = `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/bin/baton.js')}' "$@"\n`
  writeFileSync(join(world.folder, 'bin/baton'), own, { mode: 0o755 })
}

const lines = [
  'baton ',
  'baton run ',
  'baton run $(',
  'baton check ns@',
  'baton check agents/',
  './baton run ',
  'baton run -',
]

function environment(world: World): Record<string, string> {
  return { MARK: world.marker, PATH: `${join(world.folder, 'bin')}:${process.env['PATH'] ?? ''}`, TERM: 'dumb' }
}

it('TAB in bash runs nothing from the current folder, and terminates', async () => {
  const world = createWorld()
  hostile(world)
  const before = world.changes().length
  const tries = lines.map((line) => `try '${line}'`).join('\n')
  const script = `source <(baton completion bash)
try() { COMP_LINE=$1 COMP_POINT=\${#1} COMPREPLY=(); _baton; printf '<%s>\\n' "\${COMPREPLY[@]}"; }
${tries}
echo finished`
  const end = await world.run(['--norc', '--noprofile', '-c', script], { program: 'bash', env: environment(world) })
  expect(world.changes()).toHaveLength(before)
  expect(end.isHung).toBe(false)
  expect(end.stdout).toContain('<reviewer>')
  expect(end.stdout).toContain('finished')
  expect(end.stdout).not.toContain('<-y>')
})

const hasZsh = spawnSync('zsh', ['--version']).status === 0

it.skipIf(!hasZsh)('TAB in zsh runs nothing from the current folder, and terminates (needs zsh)', async () => {
  const world = createWorld()
  hostile(world)
  const before = world.changes().length
  // each takes its time under a terminal
  const typed = process.env['BATON_ATTACK'] === 'whole' ? lines : ['baton run ', './baton run ']
  // the typed text is shown with its quotes, its output without: wait for the output, then for the line editor, which
  // announces with a paste mode that it reads: earlier keys are only echoed by the terminal and complete nothing
  const said = (word: string): string =>
    `zpty -w shell "echo ''${word}"\nzpty -r shell shown $'*[\\r\\n]${word}*2004h*'; print -r -- $shown`
  const keys = typed.map((line, index) => `zpty -n -w shell '${line}'$'\\t\\t\\x15'\n${said(`round${index}`)}`)
  const script = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D; source <(baton completion zsh)'
${said('ready')}
${keys.join('\n')}
${said('finished')}
zpty -d shell`
  const end = await world.run(['-f', '-c', script], { program: 'zsh', env: environment(world) })
  expect(world.changes(), end.stdout).toHaveLength(before)
  expect(end.isHung, end.stdout).toBe(false)
  expect(end.stdout).toContain('finished')
  expect(end.stdout).toContain('reviewer')
})

it('the command that completion calls terminates in such a folder', async () => {
  const world = createWorld()
  hostile(world)
  const made = world.changes()
  for (const args of [
    ['__complete', 'bash', '--', 'baton '],
    ['__complete', 'zsh', '--', 'baton check ns@'],
    ['__complete', 'fish', '--', 'baton resume '],
    // an older stub
    ['list', '--names'],
    ['runs', '--ids'],
  ]) {
    const end = await world.run(args)
    expect(end.isHung).toBe(false)
    expect(world.changes()).toEqual(made)
  }
})
