import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const hello = {
  'hello.aip': '# Output\n\n```lua\nprint("hello", input, { a = 1 })\nreturn "out " .. tostring(input)\n```\n',
}

describe('baton', () => {
  it('prints its version on one line', async () => {
    const { stdout, code } = await baton(['--version'], { cwd: tempTree() })
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(code).toBe(0)
  })

  it.each([['--help'], ['run', '--help'], ['check', '--help'], ['config', '--help']])(
    'prints help on stdout: %s %s',
    async (...args) => {
      const { stdout, stderr, code } = await baton(
        args.filter((arg) => arg !== undefined),
        { cwd: tempTree() },
      )
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain('--json')
    },
  )

  it.each([
    [['run'], 'name a file to run'],
    [[], 'name a file to run'],
    [['run', 'a.md', '--nope'], 'unknown flag --nope'],
    [['a.md', '--modle', 'x'], 'hint: Did you mean --model? See baton --help.'],
    [['a.md', '--max-csot', '1'], 'error: unknown flag --max-csot\nhint: Did you mean --max-cost?'],
    [['resume', '--lats'], 'hint: Did you mean --last? See baton resume --help.'],
    [['aprove'], 'hint: Did you mean baton approve? Looked for '],
    [['--iter', '3', 'Do it now'], 'hint: If it is the prompt itself, give it with -p: baton -p "Do it now". '],
    [['plan', 'Do it. Now'], 'hint: If it is the prompt itself, give it with -p: baton -p "Do it. Now". '],
    [['a.md', '-m'], '-m needs a value'],
    [['a.md', '-v', '-q'], 'mutually exclusive'],
    [['a.md', '-m', ''], '-m is empty'],
    [['-'], 'standard input is empty'],
    [['-p', 'x', 'a.md'], '-p and a file cannot be combined'],
    [['a.md', '--output', 'no/out.md'], 'there is no folder'],
    [['a.md', '--output-schema', 'no.json'], '--output-schema: there is no file'],
    [['/dev/null'], '/dev/null'],
    [['a.md', '-m', 'a', '-m', 'b'], 'more than once'],
    [['a.md', '-c', 'modle=x'], 'modle'],
    [['a.md', '--dry', 'all'], '--dry must be req, res or changes, not "all"'],
  ])('refuses %j with exit 2, a hint, and nothing on stdout', async (args, message) => {
    const { code, stdout, stderr } = await baton(args, { cwd: tempTree({ 'a.md': 'Hi\n' }) })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr.match(/^error:/gm)).toHaveLength(1)
  })

  it('runs an agent: prints and string outputs on stdout', async () => {
    const { stdout, stderr, code } = await baton(['hello.aip', '-i', 'one', '-i', 'two'], { cwd: tempTree(hello) })
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(
      stdout
        .split('\n')
        .filter((line) => /out|one|two/.test(line))
        .toSorted(),
    ).toEqual(['one', 'out one', 'out two', 'two'])
    expect(stdout).toContain('a = 1')
  })

  it('shows prints of a prompt file on stderr with the name of the agent', async () => {
    const folder = tempTree({ 'ask.md': '+++\nsub_agents = ["p.lua"]\n+++\nHi\n', 'p.lua': 'print("seen")' })
    const { stdout, stderr } = await baton(['ask.md', '-m', 'offline::extractive'], { cwd: folder })
    expect(stderr).toBe('[p.lua] seen\n')
    expect(stdout).not.toContain('seen')
  })

  it('prints several answers under their labels', async () => {
    const { stdout } = await baton(['ask.md', '-m', 'offline::extractive', '-i', 'one', '-i', 'two words'], {
      cwd: tempTree({ 'ask.md': '+++\ntemplate = true\n+++\nHi {{input}}\n' }),
    })
    expect(stdout.match(/^==> .* <==$/gm)).toEqual(['==> one <==', '==> two words <=='])
  })

  it('ends with exit code 3 when no model is configured in non-interactive use', async () => {
    const { stdout, stderr, code } = await baton(['ask.md'], { cwd: tempTree({ 'ask.md': 'Hi\n' }) })
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(/^error: no model is configured: .*\nhint: .*-m.*OPENAI_API_KEY.*offline::extractive/)
  })

  it('skips a file without an instruction: exit 0 and a hint', async () => {
    const { stdout, stderr, code } = await baton(['ask.md'], { cwd: tempTree({ 'ask.md': '+++\nmodel = "m"\n+++\n' }) })
    expect({ stdout, code }).toEqual({ stdout: '', code: 0 })
    expect(stderr).toMatch(/^skipped: the instruction is empty\nhint: Edit .*ask\.md\.\n$/)
  })

  it('works in another folder with -C, and uses keys from --env without showing them', async () => {
    const server = await startModelServer([{ text: 'fine' }])
    const folder = tempTree({
      'sub/ask.md': 'Hi\n',
      '.env': 'BATON_GATEWAY_KEY=key-from-the-file\n',
    })
    const { stdout, stderr, code } = await baton(['ask.md', '-C', 'sub', '--env', '.env', '-m', 'any', '-v'], {
      cwd: folder,
      env: { BATON_GATEWAY_KEY: '', BATON_GATEWAY_URL: server.url },
    })
    await server.close()
    expect({ stdout, code }).toEqual({ stdout: 'fine\n', code: 0 })
    expect(server.requests[0]?.headers.authorization).toBe('Bearer key-from-the-file')
    expect(stderr).not.toContain('key-from-the-file')
  })

  it('hides the values of [secrets] in events', async () => {
    const folder = tempTree({
      'ask.md': '+++\nsecrets = ["PASS_PHRASE"]\nsub_agents = ["p.lua"]\n+++\nHi\n',
      'p.lua': 'print("opensesame")\nreturn { agent_result = "opensesame" }',
    })
    const { stdout, code } = await baton(['ask.md', '--json', '-m', 'offline::extractive'], {
      cwd: folder,
      env: { PASS_PHRASE: 'opensesame' },
    })
    expect(code).toBe(0)
    expect(stdout).toContain('«secret:PASS_PHRASE»')
    expect(stdout).not.toContain('opensesame')
  })

  it('prints an answer byte for byte to a pipe and to --output, and masks secrets everywhere else', async () => {
    const text = ' \n one opensesame\t\r\n\u001b[31mred\u001b[0m \u202e \n\n  end'
    const server = await startModelServer(() => ({ text, chunks: [text] }))
    const folder = tempTree({ '.git/HEAD': 'x', 'ask.md': '+++\nmodel = "m"\nsecrets = ["PASS_PHRASE"]\n+++\nHi\n' })
    const env = { PASS_PHRASE: 'opensesame', BATON_GATEWAY_URL: server.url }
    const piped = await baton(['ask.md'], { cwd: folder, env })
    const events = await baton(['ask.md', '--json', '--output', 'out.txt'], { cwd: folder, env })
    await server.close()
    // the last line of the output is terminated
    expect([piped.code, piped.stdout]).toEqual([0, `${text}\n`])
    expect([events.code, readFileSync(join(folder, 'out.txt'), 'utf8')]).toEqual([0, text])
    expect(events.stdout).toContain('«secret:PASS_PHRASE»')
    expect([events.stdout.includes('opensesame'), piped.stderr.includes('opensesame')]).toEqual([false, false])
  })

  it('resolves -f from the current folder, for agents and prompt files', async () => {
    const folder = tempTree({
      '.aipack/x': 'x',
      'src/a.txt': 'A',
      'b.txt': 'B',
      'ask.md': 'Hi\n',
      'show.lua': 'return input.path',
    })
    const cwd = join(folder, 'src')
    expect((await baton(['../show.lua', '-f', '*.txt'], { cwd })).stdout).toBe('src/a.txt\n')
    const { stdout } = await baton(['../ask.md', '-f', './a.txt', '--dry', 'req'], { cwd })
    expect(stdout).toContain('<file path="src/a.txt"')
  })

  it('contains in its last event what was finished before a failure', async () => {
    const folder = tempTree({
      'ask.md': '+++\ninput_concurrency = 1\nsub_agents = [{ name = "p.lua", stage = "pre_task" }]\n+++\nHi\n',
      'p.lua': 'if input.input == "b" then error("no b") end',
    })
    const { stdout } = await baton(['ask.md', '--json', '-m', 'offline::extractive', '-i', 'a', '-i', 'b'], {
      cwd: folder,
    })
    expect(jsonLines(stdout).at(-1)).toMatchObject({
      type: 'run.failed',
      outputs: [expect.stringContaining('No files')],
    })
  })

  it('reports that its state cannot be stored, and runs', async () => {
    const folder = tempTree({ 'a.lua': 'return 1' })
    const { code, stderr } = await baton(['a.lua'], { cwd: folder, env: { BATON_HOME: '/proc/baton' } })
    expect(code).toBe(0)
    expect(stderr).toContain('this run is not recorded and cannot be resumed')
  })

  it('continues when nobody reads its messages', () => {
    const folder = tempTree({ 'a.lua': 'return "fine"' })
    const command = `"${process.execPath}" "${join(root, 'dist/bin/baton.js')}" a.lua -v 2> >(exec 0<&-)`
    const { stdout } = spawnSync('bash', ['-c', command], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder, BATON_HOME: join(folder, 'home') },
    })
    expect(stdout).toBe('fine\n')
  })

  it('continues when tasks fail if the file allows it, and exits 1', async () => {
    const folder = tempTree({
      'ask.md': '+++\nallow_run_on_task_fail = true\nsub_agents = [{ name = "p.lua", stage = "pre_task" }]\n+++\nHi\n',
      'p.lua': 'if input.input == "b" then error("no b") end',
    })
    const { stdout, stderr, code } = await baton(['ask.md', '-m', 'offline::extractive', '-i', 'a', '-i', 'b'], {
      cwd: folder,
    })
    expect(code).toBe(1)
    expect(stdout).toContain('==> a <==')
    expect(stderr).toContain('failed b: Sub-agent [p.lua] failed: no b')
  })
})

describe('baton config', () => {
  it('prints every value and its origin', async () => {
    const folder = tempTree({ 'baton.toml': 'temperature = 0.5\n', 'ask.md': '+++\nmodel = "m"\n+++\nHi\n' })
    const { stdout, code } = await baton(['config', 'ask.md', '--origin', '-c', 'seed=7'], { cwd: folder })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^model = "m" +# .*ask\.md:2$/m)
    expect(stdout).toMatch(/^temperature = 0\.5 +# .*baton\.toml:1$/m)
    expect(stdout).toMatch(/^seed = 7 +# -c seed$/m)
    expect(stdout).toMatch(/^input_concurrency = 2 +# default$/m)
  })
})

describe('Ctrl-C', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s during an answer stops cleanly', async (signal, code) => {
    const server = await startModelServer([{ text: 'one two three', stallAfter: 2 }])
    let sent = false
    const run = await baton(['ask.md', '-m', 'any', '--json'], {
      cwd: tempTree({ 'ask.md': 'Hi\n' }),
      env: { BATON_GATEWAY_URL: server.url },
      onOutput: (stdout, kill) => {
        if (!sent && stdout.includes('item.delta')) kill(signal)
        sent ||= stdout.includes('item.delta')
      },
    })
    await server.close()
    expect(run.code).toBe(code)
    expect(run.stderr).toBe(signal === 'SIGINT' ? 'stopped\n' : `stopped by ${signal}\n`)
    expect(jsonLines(run.stdout).at(-1)).toMatchObject({ type: 'run.failed', stop_reason: 'cancelled' })
  })

  it('stops an endless script', async () => {
    const run = await baton(['loop.lua'], {
      cwd: tempTree({ 'loop.lua': 'print("started")\nwhile true do pcall(function() end) end' }),
      onOutput: (stdout, kill) => {
        if (stdout.includes('started')) kill('SIGINT')
      },
    })
    expect(run.code).toBe(130)
  })
})

describe('stdout', () => {
  /** Runs `baton` in a bash script. */
  function inShell(script: string, files: Readonly<Record<string, string>>): { stdout: string; stderr: string } {
    const folder = tempTree(files)
    const command = `baton() { "${process.execPath}" "${join(root, 'dist/bin/baton.js')}" "$@"; }; ${script}`
    return spawnSync('bash', ['-c', command], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder, BATON_HOME: join(folder, 'home'), NO_COLOR: '1' },
    })
  }

  it('stops quietly when its reader closes it', () => {
    const { stdout, stderr } = inShell('baton many.lua | head -1; echo "${PIPESTATUS[0]}"', {
      'many.lua': 'for i = 1, 100000 do print("line " .. i) end',
    })
    expect(stdout).toBe('line 1\n141\n')
    expect(stderr).toBe('')
  })

  it('causes exit code 141 too when the last output is not read, and is complete when it is read late', () => {
    const { stdout, stderr } = inShell(
      'baton one.lua | head -c 3; echo " ${PIPESTATUS[0]}"; baton one.lua | (sleep 0.3; wc -c)',
      { 'one.lua': 'print(string.rep("x", 300000))' },
    )
    expect(stdout.replaceAll(/ +/g, ' ')).toMatch(/^xxx 141\n ?300001\n$/)
    expect(stderr).toBe('')
  })

  it.each([
    ['a result', 'one.lua'],
    ['events', 'one.lua --json'],
    ['what checks find', 'check one.lua'],
    ['the version', '--version'],
  ])('is an error when it cannot be written: %s', (_what, args) => {
    const { stdout, stderr } = inShell(`baton ${args} 1<one.lua; echo $?`, { 'one.lua': 'print("one")' })
    expect(stderr).toBe(
      'error: stdout cannot be written: EBADF: bad file descriptor, write\n' +
        'hint: The result is incomplete. Check the disk or device that stdout leads to.\n',
    )
    expect(stdout).toBe('1\n')
  })

  it('is an error when only a part of it fits', () => {
    const script = 'trap "" XFSZ; (ulimit -f 1; baton schema >part.json; exit $?); echo $?; head -c 1 part.json'
    const { stdout, stderr } = inShell(script, {})
    expect(stderr).toContain('error: stdout cannot be written: EFBIG')
    expect(stdout).toBe('1\n{')
  })
})
