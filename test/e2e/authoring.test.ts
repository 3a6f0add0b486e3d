import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { baton, type BatonResult, jsonLines, root, snapshot } from '../helpers/baton.ts'
import { hasBox } from '../helpers/box.ts'
import { tempTree } from '../helpers/temp.ts'

it('names for completion do not wait for pipes, and omit names that are special in a shell', async () => {
  const cwd = tempTree({
    '.git/HEAD': '',
    '.baton/packs/ns/p/main.aip': '',
    'agents/fine.aip': '',
    'agents/x$(id).aip': '',
    'agents/two words.aip': '',
  })
  spawnSync('mkfifo', ['.baton/packs/ns/p/pack.toml', 'agents/pipe.aip'], { cwd })
  const { code, stdout } = await baton(['list', '--names'], { cwd })
  expect(code).toBe(0)
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(['agents/fine.aip', 'ns@p']))
  expect(stdout).not.toMatch(/[$() ]/)
})

describe('a new project', () => {
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'README.md': '# Tokens\n\nA token lives an hour.\n' })
  const made: { [name: string]: BatonResult } = {}

  beforeAll(async () => {
    for (const [kind, name] of [
      ['pack', 'demo@short'],
      ['agent', 'lint'],
      ['agent', 'agents/plain.lua'],
      ['prompt', 'ask'],
    ] as const) {
      made[name] = await baton(['new', kind, name], { cwd })
    }
    made['init'] = await baton(['init'], { cwd })
  })

  it('gets its files, with their paths on stdout and the next steps on stderr', () => {
    const paths = Object.values(made).flatMap(({ stdout }) => stdout.trim().split('\n'))
    expect(Object.keys(snapshot(cwd)).toSorted()).toEqual([...paths, '.git/HEAD', 'README.md'].toSorted())
    for (const { code, stderr } of Object.values(made)) {
      expect(code).toBe(0)
      expect(stderr).toMatch(/^next:$/m)
    }
    expect(made['init']?.stderr).toContain(`${cwd} is a workspace`)
  })

  it('passes its check', async () => {
    const files = ['ask.md', 'agents/lint.aip', 'agents/plain.lua', '.baton/packs/demo/short/example.md']
    const check = await baton(['check', 'demo@short', 'demo@short/check', ...files], { cwd })
    expect(check).toMatchObject({ code: 0, stderr: '' })
    expect(check.stdout).not.toMatch(/warning:|error:/)
  })

  it.each(['lua54', 'fengari'])('runs without a key, on %s', async (engine) => {
    const flags = ['-m', 'offline::extractive', '-c', `lua.engine=${engine}`]
    const example = await baton(['.baton/packs/demo/short/example.md', ...flags], { cwd })
    expect(example).toMatchObject({ code: 0, stderr: '' })
    expect(example.stdout).toMatch(/\n\nThe answer has \d+ words; the limit is 40\.\n$/)
  })

  it('runs each of its agents by itself', async () => {
    const runs = await Promise.all(
      ['demo@short', 'agents/lint', 'agents/plain'].map((name) => baton([name, '-i', 'two words'], { cwd })),
    )
    const rules = 'two words\n\nRules:\n- Cite the file and line for every statement.\n'
    expect(runs.map(({ stdout }) => stdout)).toEqual(['2 words\n', rules, rules])
  })

  it('has a prompt file that finds files by their words', async () => {
    const file = join(cwd, 'ask.md')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/What is this.*/, 'How long does a token live?'))
    const { code, stdout } = await baton(['ask.md', '-m', 'offline::extractive'], { cwd })
    expect(code).toBe(0)
    expect(stdout).toContain('A token lives an hour.')
    expect(stdout).not.toContain('### ask.md')
  })

  it('keeps existing files', async () => {
    const before = snapshot(cwd)
    const again = await Promise.all([
      baton(['new', 'pack', 'demo@short'], { cwd }),
      baton(['new', 'agent', 'lint'], { cwd }),
      baton(['new', 'prompt', 'ask.md', '--from', 'quickstart'], { cwd }),
      baton(['init'], { cwd }),
    ])
    for (const { code, stdout, stderr } of again) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^error: \S+ already exists\nhint: /)
    }
    expect(snapshot(cwd)).toEqual(before)
  })

  it('lists its agents with those of Baton', async () => {
    const { stdout } = await baton(['list', '--json'], { cwd })
    const names = jsonLines(stdout).map(({ name, source }) => `${String(source)} ${String(name)}`)
    expect(names).toEqual(expect.arrayContaining(['workspace agents/lint.aip', 'built-in context-builder']))
    expect(names).toEqual(expect.arrayContaining(['pack demo@short', 'pack demo@short/check', 'built-in quickstart']))
    const found = await baton(['list', 'COUNTS the words'], { cwd })
    expect(found.stdout).toBe(
      'pack demo@short 0.1.0 (.baton/packs/demo/short)\n' +
        '  demo@short/check  Counts the words of the answer and adds a note if there are too many.\n',
    )
  })

  it('lists the tools of models with the rights their calls need', async () => {
    const { stdout } = await baton(['list', 'tools'], { cwd })
    expect(stdout).toMatch(/^tools of models .*\n/)
    expect(stdout).toMatch(/^ {2}todo {2,}keeps a list of steps \(allow\)$/m)
    expect(stdout).toMatch(/^ {2}webfetch {2,}fetches a page \(ask\)$/m)
    const { stdout: json } = await baton(['list', 'webfetch', '--json'], { cwd })
    expect(jsonLines(json)).toEqual([
      { kind: 'tool', name: 'webfetch', description: 'fetches a page', permission: 'ask', writes: false },
    ])
    expect((await baton(['list', '--names'], { cwd })).stdout).not.toContain('webfetch')
    expect(stdout).toMatch(/^ {2}spawn_agent {2,}starts an agent of the team \(allow, with \[collab\]\)\n/m)
    expect(stdout).toMatch(/^ {2}task_claim {2,}claims an item to work on it \(allow, with \[delegate\]\)\n/m)
  })

  it('lists the commands of a chat, including those from files', async () => {
    const folder = tempTree({
      'commands/ship.md': '+++\ndescription = "ships it"\nargument_hint = "WHERE"\n+++\nShip to $1.\n',
      'commands/help.md': 'Do not help.\n',
    })
    const { stdout, stderr } = await baton(['list', 'commands'], { cwd: folder })
    expect(stdout).toMatch(/^chat commands \(\/NAME\)\n {2}help {2,}list the commands\n/)
    expect(stdout).toMatch(/\n {2}ship {2,}WHERE ships it \(commands\/ship\.md\)\n$/)
    expect(stderr).toMatch(/^warning: commands\/help\.md is not used: \/help is a built-in chat command\n/)
    const json = jsonLines((await baton(['list', 'commands', '--json', '-q'], { cwd: folder })).stdout)
    expect(json.at(-1)).toEqual({
      kind: 'command',
      name: 'ship',
      description: 'ships it',
      arguments: 'WHERE',
      source: 'workspace',
      file: join(folder, 'commands/ship.md'),
    })
    expect((await baton(['list', 'commands', '--names', '-q'], { cwd: folder })).stdout).toMatch(
      /^help\niter\n(.*\n)*ship\n$/,
    )
  })

  it('lists the modes, and the additions of plug-ins in the config', async () => {
    const plain = await baton(['list', 'modes'], { cwd })
    expect(plain).toMatchObject({ code: 0, stderr: '' })
    expect(plain.stdout).toMatch(/^modes .*\n {2}classic {2,}Classic \(text \+ tools\)\n/)
    const home = tempTree({
      'config/config.toml': 'plugins = ["./words.mjs", "./gone.mjs"]',
      'config/words.mjs': `export default { id: 'words', setup({ modes, tools }) {
        tools.register({ name: 'shout', description: 'Shouts.', parameters: { type: 'object' }, run: () => '' })
        modes.register({ id: 'twice', name: 'Asks twice', createExecutor: ({ services }) => services.executor(() => 'done') })
      } }`,
    })
    const env = { BATON_HOME: home }
    const { code, stdout, stderr } = await baton(['list', 'modes'], { cwd, env })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ {2}twice {2,}Asks twice \(plug-in words\)$/m)])
    expect(stderr).toMatch(/^warning: the plug-in \S+gone\.mjs cannot be used: it cannot be loaded/)
    const json = await baton(['list', 'modes', '--json'], { cwd, env })
    expect(jsonLines(json.stdout)).toEqual([
      expect.objectContaining({ kind: 'mode', name: 'classic', description: 'Classic (text + tools)' }),
      expect.objectContaining({ kind: 'mode', name: 'code', description: 'Code (JavaScript sandbox)' }),
      { kind: 'mode', name: 'twice', description: 'Asks twice', plugin: 'words' },
    ])
    expect((await baton(['list', 'tools'], { cwd, env })).stdout).toMatch(
      /^ {2}shout {2,}Shouts\. \(ask, plug-in words\)$/m,
    )
    expect((await baton(['list', 'modes', '--names'], { cwd, env })).stdout).toBe('classic\ncode\ntwice\n')
    expect((await baton(['list', 'tools', '--names'], { cwd, env })).stdout).toMatch(/^todo\n(.*\n)*shout\n$/m)
  })
})

it('a workspace in another folder is created with commands that lead there', async () => {
  const folder = tempTree({ '.git/HEAD': '' })
  const { stderr } = await baton(['init', 'sub/my dir'], { cwd: folder })
  expect(stderr).toMatch(/^next:\n {2}baton new prompt ask -C 'sub\/my dir'\n {2}baton list -C 'sub\/my dir'\n/m)
  const made = await baton(['new', 'prompt', 'ask', '-C', 'sub/my dir'], { cwd: folder })
  expect(made.code).toBe(0)
  expect(existsSync(join(folder, 'sub/my dir/ask.md'))).toBe(true)

  const inside = await baton(['init', '-C', 'other'], { cwd: tempTree({ 'other/x': '' }) })
  expect(inside.stderr).toContain('  baton list -C other\n')
})

it('a pipeline is copied unchanged except for its tests, and an unknown one is refused with all names', async () => {
  const cwd = tempTree()
  const copied = await baton(['new', 'prompt', 'mine', '--from', 'quickstart', '--json'], { cwd })
  expect(copied).toMatchObject({ code: 0, stdout: '{"created":"mine.md"}\n', stderr: '' })
  const original = readFileSync(join(root, 'pipelines/quickstart.md'), 'utf8')
  const tests = original.slice(original.indexOf('\n\n[[test]]'), original.lastIndexOf('\n+++\n'))
  expect(tests).toContain('cassette = ')
  expect(readFileSync(join(cwd, 'mine.md'), 'utf8')).toBe(original.replace(tests, ''))
  const unknown = await baton(['new', 'prompt', 'other', '--from', 'quickstrat'], { cwd })
  expect(unknown).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('hint: Did you mean quickstart? Pipelines: '),
  })
})

it.each([
  [['schema'], 'Front matter of a Baton prompt file'],
  [['schema', 'events'], 'One line of baton run --json'],
])('baton %j prints a JSON Schema', async (args, title) => {
  const { code, stdout } = await baton(args, { cwd: tempTree() })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ $schema: 'http://json-schema.org/draft-07/schema#', title })
})

describe('doctor', () => {
  it('exits 0 with a key and a local server, without showing secrets', async () => {
    const server = createServer((_, response) => response.end('{"data":[{"id":"small:8b"}]}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const env = { GEMINI_API_KEY: 'very-secret', OLLAMA_HOST: host, BATON_LOCAL_SERVERS: 'on' }
      const { code, stdout, stderr } = await baton(['doctor', '--json'], { cwd: tempTree(), env })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).not.toContain('very-secret')
      const checks = jsonLines(stdout).map(
        ({ check, status, message }) => `${String(status)} ${String(check)} ${String(message)}`,
      )
      expect(checks).toContain(`ok servers ollama on ${host} has small:8b`)
      expect(checks).toContain('ok keys GEMINI_API_KEY (values are not shown)')
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it('exits 0 on an empty machine, and 1 when something is broken', async () => {
    const nothing = await baton(['doctor'], { cwd: tempTree() })
    expect(nothing.code).toBe(0)
    expect(nothing.stdout).toMatch(hasBox ? /\n\n1 warning\n$/ : /\n\n2 warnings\n$/)
    const broken = await baton(['doctor', '-q'], { cwd: tempTree({ 'baton.toml': 'model = 3\n' }) })
    expect(broken).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^fail {2}config {5}baton\.toml:1: "model"/),
    })
  })
})

const setUp = {
  bash: { start: 'bash --norc --noprofile -i', load: 'source <(baton completion bash)' },
  zsh: { start: 'zsh -f -i', load: 'autoload -U compinit; compinit -u -D; source <(baton completion zsh)' },
  fish: { start: 'fish --no-config', load: 'baton completion fish | source' },
}
const shells = ['bash', 'zsh', 'fish'] as const
const missing = shells.filter((shell) => spawnSync(shell, ['-c', ':']).status !== 0)

describe('completion at a prompt', () => {
  it('is tested in bash at least', () => {
    expect(missing).not.toContain('bash')
    expect(spawnSync('script', ['--version']).status, 'script of util-linux is missing').toBe(0)
  })

  it.for(shells)('completes commands, agents and files in %s, and evaluates no name', async (shell, { skip }) => {
    skip(missing.includes(shell), `${shell} is not installed`)
    const cwd = tempTree({ '.baton/packs/demo/short/check.aip': '', '$(>ran) `>ran`.md': 'Hi\n' })
    const bin = tempTree()
    const command = `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/bin/baton.js')}' "$@"\n`
    writeFileSync(join(bin, 'baton'), command, { mode: 0o755 })
    const { start, load } = setUp[shell]
    const child = spawn('script', ['-qfec', start, '/dev/null'], {
      cwd,
      env: {
        PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
        HOME: tempTree(),
        TERM: 'xterm',
        NO_COLOR: '1',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let seen = ''
    const shown = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (seen.includes(text)) resolve()
        }
        child.stdout.on('data', look)
        child.on('close', () => reject(new Error(`${shell} ended before it showed "${text}":\n${seen}`)))
        look()
      })
    child.stdout.setEncoding('utf8').on('data', (text: string) => (seen += text))
    child.stdin.write(`${load}; echo rea''dy\n`)
    await shown('ready\r\n')
    child.stdin.write('baton chec\tdemo@short/ch\t\n')
    await shown('ok demo@short/check')
    child.stdin.write('baton check \\$\t\n')
    await shown('ok $(>ran) `>ran`.md')
    expect(existsSync(join(cwd, 'ran'))).toBe(false)
    child.stdin.end('exit\n')
    await new Promise((resolve) => child.on('close', resolve))
  })
})
