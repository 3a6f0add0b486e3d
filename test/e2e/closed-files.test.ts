import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

// Files that may not be read, and everything that sends files to a model.

const files = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  '.env': 'KEYVALUE\n',
  'sub/server.pem': 'KEYVALUE\n',
  'secret/x.txt': 'KEYVALUE\n',
  'a.txt': 'plain words\n',
}

const config = '[permission.read]\n"secret/**" = "deny"\n"ask.txt" = "ask"\n'

async function world(more: Readonly<Record<string, string>>, settings = config) {
  const server = await startModelServer(() => ({ text: 'Done.' }))
  onTestFinished(() => server.close())
  const cwd = tempTree({ ...files, ...more })
  const home = tempTree({ 'config/config.toml': settings })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: home }
  const sent = (): string => JSON.stringify(server.requests.map(({ body }) => body))
  return { cwd, server, sent, run: (...args: readonly string[]) => baton(args, { cwd, env }) }
}

const prompt = (front: string): string => `+++\nmodel = "m"\n${front}\n+++\nGo.\n`

it('a wildcard excludes keys and what rules for `read` deny, also behind links, with one line that says so', async () => {
  const { cwd, sent, run } = await world({ 'ask.md': prompt('context_globs = ["**/*"]\nknowledge_globs = ["s*/**"]') })
  linkSync(join(cwd, 'secret/x.txt'), join(cwd, 'hard.txt'))
  symlinkSync('.env', join(cwd, 'soft.txt'))
  const { code, stderr } = await run('ask.md')
  expect(code).toBe(0)
  expect(sent()).toContain('plain words')
  expect(sent()).not.toContain('KEYVALUE')
  expect(stderr.match(/context_globs: left out of the prompt/g)).toHaveLength(1)
  expect(stderr).toMatch(/context_globs: .*: \.env, hard\.txt, secret\/x\.txt, soft\.txt, sub\/server\.pem/)
  expect(stderr).toMatch(/knowledge_globs: .*: secret\/x\.txt, sub\/server\.pem/)
})

it('a key file that an untrusted file names is asked about, and not sent if nobody can be asked', async () => {
  const { sent, server, run } = await world({ 'ask.md': prompt('context_globs = [".env"]') })
  const refused = await run('ask.md')
  expect([refused.code, server.requests.length]).toEqual([5, 0])
  expect(refused.stderr).toContain('.env holds keys, and ask.md, which names it in context_globs, is not trusted')
  const waiting = await run('ask.md', '--on-ask', 'suspend')
  expect([waiting.code, server.requests.length]).toEqual([5, 0])
  expect(await run('resume', '--last', '-y')).toMatchObject({ code: 0 })
  expect(sent()).toContain('KEYVALUE')
})

it.each([
  ['ask.md', '.env', { 'ask.md': prompt('context_globs = [".env"]') }],
  ['ask.md', '{.env,*.md}', { 'ask.md': prompt('context_globs = ["{.env,*.md}"]') }],
  ['baton.toml', '.env', { 'ask.md': prompt(''), 'baton.toml': 'context_globs = ["a.txt", ".env"]\n' }],
])('if %s names a key file by %s, trust shows that, and the file is sent from then on', async (file, glob, written) => {
  const { sent, run } = await world(written)
  const refused = await run('ask.md')
  expect(refused.code).toBe(5)
  expect(refused.stderr).toContain(`.env holds keys, and ${file}, which names it in context_globs, is not trusted`)
  expect(refused.stderr).toContain(`baton trust ${file}`)
  const trusted = await run('trust', file)
  expect(trusted).toMatchObject({ code: 0, stdout: `${file}: trusted with context_globs\n` })
  expect(trusted.stderr).toContain(`context_globs = ["${glob}"]`)
  expect(await run('ask.md')).toMatchObject({ code: 0 })
  expect(sent()).toContain('KEYVALUE')
})

it('trust shows what a file names wherever its paths start, also before it exists', async () => {
  const { cwd, sent, run } = await world({
    'ask.md': prompt('context_globs = [".env", "late/.env"]'),
    'baton.toml': 'base_dir = "app"\n',
    'app/.env': 'KEYVALUE\n',
  })
  expect((await run('trust', 'ask.md')).stderr).toContain('context_globs = [".env","late/.env"]')
  mkdirSync(join(cwd, 'app/late'))
  writeFileSync(join(cwd, 'app/late/.env'), 'LATEVALUE\n')
  expect(await run('ask.md')).toMatchObject({ code: 0 })
  expect(sent()).toMatch(/KEYVALUE.*LATEVALUE/)
})

it('a trusted file sends no key under a name that was not shown: a link, or a name in another folder', async () => {
  const { cwd, server, run } = await world({
    'link.md': prompt('context_globs = [".env", "notes.txt"]'),
    'folder.md': prompt('context_globs = [".env", "config"]'),
    '.kube/config': 'KEYVALUE\n',
  })
  for (const file of ['link.md', 'folder.md']) expect(await run('trust', file)).toMatchObject({ code: 0 })
  symlinkSync('.env', join(cwd, 'notes.txt'))
  const linked = await run('link.md')
  expect(linked.code).toBe(5)
  expect(linked.stderr).toContain('notes.txt holds keys, and link.md names it in context_globs: nobody can be asked')
  writeFileSync(join(cwd, 'baton.toml'), 'base_dir = ".kube"\n')
  const moved = await run('folder.md')
  expect(moved.code).toBe(5)
  expect(moved.stderr).toContain('.kube/config holds keys')
  expect(server.requests).toEqual([])
})

it('files named by the user are sent, unless a rule of the user denies it', async () => {
  const { sent, run } = await world({ 'ask.md': prompt('') })
  expect(await run('ask.md', '-f', '.env')).toMatchObject({ code: 0 })
  expect(sent()).toContain('KEYVALUE')
  const denied = await run('ask.md', '-f', 'secret/x.txt')
  expect(denied.code).toBe(6)
  expect(denied.stderr).toContain('may not be read: [permission] read."secret/**" = "deny"')
})

it('scripts and attachments cannot read what a rule for `read` denies or asks about', async () => {
  const script = `local out = {}
for _, path in ipairs({ "secret/x.txt", "hard.txt", "ask.txt" }) do
  local ok = pcall(aip.file.load, path)
  out[#out + 1] = path .. "=" .. tostring(ok) .. "," .. tostring(aip.path.exists(path))
end
for _, file in ipairs(aip.file.list("**/*.txt")) do out[#out + 1] = file.path end
print(table.concat(out, " "))
return "done"
`
  const agent = `# Data

\`\`\`lua
return aip.flow.data_response({ attachments = { file_source = "secret/x.txt" } })
\`\`\`

# Instruction

Go.
`
  const { cwd, sent, run } = await world({ 'look.lua': script, 'attach.aip': agent, 'ask.txt': 'KEYVALUE\n' })
  linkSync(join(cwd, 'secret/x.txt'), join(cwd, 'hard.txt'))
  const { stdout } = await run('look.lua')
  expect(stdout).toContain('secret/x.txt=false,false hard.txt=false,false ask.txt=false,false a.txt\n')
  await run('attach.aip', '-m', 'm')
  expect(sent()).toContain('It could not be read: secret/x.txt may not be read')
  expect(sent()).not.toContain('KEYVALUE')
})

it('the front matter of an untrusted file cannot open what is closed', async () => {
  const front = 'context_globs = ["**/*"]\n[permission.read]\n"secret/**" = "allow"\n".env" = "allow"'
  const { sent, run } = await world({ 'ask.md': prompt(front) })
  expect(await run('ask.md')).toMatchObject({ code: 0 })
  expect(sent()).not.toContain('KEYVALUE')
})

it('no other key of a file sends a file with keys', async () => {
  const plan = prompt('[iterate]\ncondition = "1"\nplan = ".env"')
  const role = prompt('[collab.roles.looker]\ndescription = "x"\ninstructions = "notes.md"')
  const { cwd, server, run } = await world({ 'plan.md': plan, 'role.md': role })
  symlinkSync('.env', join(cwd, 'notes.md'))
  const planned = await run('plan.md')
  expect(planned.code).toBe(6)
  expect(planned.stderr).toContain('"iterate.plan" names .env, which may not be read')
  const led = await run('role.md')
  expect(led.code).toBe(6)
  expect(led.stderr).toContain('holds keys')
  expect(server.requests).toEqual([])
})
