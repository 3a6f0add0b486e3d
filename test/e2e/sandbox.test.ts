import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import { hasBox } from '../helpers/box.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

const prompt = (keys = ''): string =>
  `+++\nmodel = "m"\nbudget.unpriced = "allow"\ntools = ["bash"]\n${keys}+++\nLook.\n`
const allowed = '[permission]\nbash = "allow"\n'
const line = (command: string) => callsTools(['bash', { command }])

async function world(files: Readonly<Record<string, string>>, replies: Parameters<typeof startToolModel>[0] = []) {
  const model = await startToolModel(replies)
  const folder = tempTree(files)
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree({ 'config/config.toml': allowed }) }
  return { model, folder, env }
}

describe('without a sandbox', () => {
  const agent = '# Options\n\n```toml\nmodel = "m"\ntools = ["bash"]\n```\n\n# User\n\nLook.\n'

  const steps = `+++
model = "m"
budget.unpriced = "allow"
[[workflow.step]]
id = "first"
instructions = "Look."
[[workflow.step]]
id = "second"
agent = "./plain.aip"
needs = ["first"]
options = { tools = ["bash"] }
+++
`

  it.each([
    ['a prompt file', 'ask.md', prompt(), []],
    ['an agent', 'look.aip', agent, []],
    ['a later step', 'steps.md', steps, []],
    ['scripts that are boxed', 'look.lua', 'return 1\n', ['-c', 'sandbox.scripts=true']],
  ])('%s ends with exit code 6, and nothing is paid', async (_, name, text, args) => {
    const { model, folder, env } = await world({ 'plain.aip': '# User\n\nLook.\n', [name]: text })
    const end = await baton([name.endsWith('.md') ? name : `./${name}`, ...args], {
      cwd: folder,
      env: { ...env, PATH: tempTree() },
    })
    expect(end, end.stderr).toMatchObject({ code: 6, stdout: '' })
    expect(end.stderr).toContain('there is no sandbox for "')
    expect(end.stderr).toContain('bwrap not found')
    expect(end.stderr).toContain('apt install bubblewrap')
    expect(model.requests).toHaveLength(0)
  })

  it('the error message of a failing bwrap is shown', async () => {
    const path = tempTree({ bwrap: '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n' })
    chmodSync(join(path, 'bwrap'), 0o755)
    const { folder, env } = await world({ 'ask.md': prompt() })
    const end = await baton(['ask.md'], { cwd: folder, env: { ...env, PATH: `${path}:/bin:/usr/bin` } })
    expect(end.code, end.stderr).toBe(6)
    expect(end.stderr).toContain('cannot create a sandbox: No permissions to create new namespace')
  })

  it('a model that gets all tools by a pattern gets none that runs programs, which the run reports once', async () => {
    const text = prompt('template = true\n').replace('["bash"]', '["*"]')
    const { model, folder, env } = await world({ 'ask.md': text }, [{ text: 'Done.' }, { text: 'Done.' }])
    const end = await baton(['ask.md', '-i', 'a', '-i', 'b'], { cwd: folder, env: { ...env, PATH: tempTree() } })
    expect(end.code, end.stderr).toBe(0)
    expect(end.stderr.match(/bash is not offered to models: there is no sandbox/g)).toHaveLength(1)
    expect(end.stderr).toContain('apt install bubblewrap')
    const offered = model.requests.map(({ body }) => JSON.stringify(body?.['tools'] ?? []))
    expect(offered.map((tools) => [tools.includes('"grep"'), tools.includes('bash')])).toEqual([
      [true, false],
      [true, false],
    ])
  })

  it('a file whose model gets no commands runs, and so does one without a sandbox', async () => {
    const { folder, env } = await world({ 'ask.md': prompt() }, [{ text: 'Done.' }, { text: 'Done.' }])
    const none = { cwd: folder, env: { ...env, PATH: tempTree() } }
    expect((await baton(['ask.md', '-c', 'permission.bash=deny'], none)).code).toBe(0)
    expect((await baton(['ask.md', '--sandbox', 'danger-full-access'], none)).code).toBe(0)
  })
})

describe.skipIf(!hasBox)('commands of models (need bwrap and user namespaces)', () => {
  it('write where answers may, and the run reports once what they may change', async () => {
    const replies = [line('echo x > made.txt; echo x > .git/made'), line('echo y > ask.md'), { text: 'Done.' }]
    const files = { '.git/HEAD': 'ref: refs/heads/main\n', 'ask.md': prompt('write_mode = true\n') }
    const { folder, env } = await world(files, replies)
    const end = await baton(['ask.md', '--json'], { cwd: folder, env })
    expect(end.code, end.stderr).toBe(0)
    const used = jsonLines(end.stdout).filter(({ type }) => type === 'sandbox.used')
    expect(used).toMatchObject([{ mode: 'workspace-write', network: [] }])
    expect(readdirSync(folder).toSorted()).toEqual(['.git', 'ask.md', 'made.txt'])
    expect(readdirSync(join(folder, '.git'))).toEqual(['HEAD'])
  })

  it('only read without write_mode, with or without a flag for it', async () => {
    const { folder, env } = await world({ 'ask.md': prompt() }, [line('echo x > made.txt'), { text: 'Done.' }])
    expect((await baton(['ask.md'], { cwd: folder, env })).code).toBe(0)
    expect(readdirSync(folder)).toEqual(['ask.md'])
  })

  it('of a script only read, if the user sandboxes scripts', async () => {
    const script = 'local r = aip.cmd.exec("sh", {"-c", "echo x > made.txt"})\nprint(r.exit ~= 0, r.stderr)\n'
    const { folder, env } = await world({ 'look.lua': script })
    const end = await baton(['./look.lua', '-c', 'sandbox.scripts=true', '-c', 'sandbox.mode="read-only"'], {
      cwd: folder,
      env,
    })
    expect(end.stdout, end.stderr).toMatch(/^true\n.*Read-only file system/)
    expect(existsSync(join(folder, 'made.txt'))).toBe(false)
  })

  it('leave nothing behind when Baton is killed', async () => {
    const seconds = `85${process.pid}`
    const { folder, env } = await world({ 'ask.md': prompt('write_mode = true\n') }, [
      line(`setsid sleep ${seconds} & sleep ${seconds}`),
    ])
    const temporary = tempTree()
    const args = [join(root, 'dist/bin/baton.js'), 'ask.md', '-c', 'sandbox.network=["example.com"]']
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...process.env, ...env, TMPDIR: temporary },
      stdio: 'ignore',
    })
    const running = (): string => execFileSync('ps', ['ax', '-o', 'args'], { encoding: 'utf8' })
    await expect
      .poll(() => running().match(new RegExp(`^sleep ${seconds}$`, 'gm')), { timeout: 20_000 })
      .toHaveLength(2)
    expect(readdirSync(folder)).toContain('baton.toml')
    const boxes = (): readonly string[] => readdirSync(temporary).filter((name) => name.startsWith('baton-box-'))
    expect(boxes()).toHaveLength(1)
    child.kill('SIGKILL')
    await expect.poll(() => running().includes(`sleep ${seconds}`), { timeout: 10_000 }).toBe(false)
    await expect.poll(() => readdirSync(folder), { timeout: 10_000 }).toEqual(['ask.md'])
    expect(boxes()).toEqual([])
  })
})
