import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { snapshot } from '../helpers/baton.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'
import { createWorld, expectHeld, type Files, type World } from './harness.ts'

const prompt = `+++
model = "m"
write_mode = true
tools = ["write", "edit"]
context_globs = ["src/*"]
sub_agents = [{ name = "./agents/look.lua", stage = "post" }]
budget.unpriced = "allow"
+++
Change something.
`

const files: Files = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  '.git/config': '[core]\n',
  'ask.md': prompt,
  'agents/look.lua': 'return nil\n',
  'src/a.js': 'const a = 1\n',
  'package.json': '{ "scripts": {} }\n',
  'baton.toml': '',
  'large.txt': 'x'.repeat(11 * 1024 * 1024),
  'picture.bin': new Uint8Array([0xff, 0xfe, 0, 1]),
}

type Call = readonly [name: 'write' | 'edit', input: Json]

/** One call each, in one turn; then one valid call. */
async function called(calls: readonly Call[], prepare: (world: World) => void = () => {}) {
  const good: Call = ['edit', { path: 'src/a.js', old_text: 'a = 1', new_text: 'a = 2' }]
  const model = await startToolModel([callsTools(...calls), callsTools(good), { text: 'Done.' }])
  const world = createWorld({
    work: files,
    outside: { 'theirs.txt': 'theirs\n' },
    env: { BATON_GATEWAY_URL: model.url },
  })
  prepare(world)
  const before = snapshot(world.work)
  const end = await world.run(['ask.md', '--json'])
  const messages = model.requests.map(
    ({ body }) => (body?.messages ?? []) as readonly { role: string; content: string }[],
  )
  const results = (messages[1] ?? []).flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  return { world, end, results, before }
}

const write = (path: string, content = 'x\n'): Call => ['write', { path, content }]
const edit = (path: string, old_text = 'a', new_text = 'b'): Call => ['edit', { path, old_text, new_text }]

/** Calls that must have no effect, with what the model is told. */
const refused: readonly (readonly [Call, RegExp])[] = [
  [write('../outside/x.txt'), /leads out of/],
  [write('../../../../etc/cron.d/x'), /leads out of/],
  [write('/etc/passwd'), /leads out of/],
  [edit('/etc/passwd', 'root'), /leads out of/],
  [write('~/.bashrc'), /leads out of/],
  [edit('../outside/theirs.txt', 'theirs'), /leads out of/],
  [write('.git/config', '[core]\nfsmonitor = x\n'), /\.git/],
  [edit('.git/config', '[core]', '[alias]'), /\.git/],
  [write('.git/hooks/post-checkout'), /\.git/],
  [write('.GIT/config'), /git/i],
  [write('link/x.txt'), /outside the workspace|leads out/],
  [edit('theirs', 'theirs'), /outside the workspace|leads out/],
  [write('ask.md'), /protected/],
  [edit('ask.md', 'write_mode = true', 'write_mode = false'), /protected/],
  [edit('agents/look.lua', 'nil', 'os.execute("id")'), /protected/],
  [write('agents/lua/mod.lua'), /protected/],
  [write('other.aip', '# User\n\nHi.\n'), /protected/],
  [write('next.md', prompt), /would be a prompt file|protected/],
  [write('package.json', '{ "scripts": { "postinstall": "x" } }'), /protected/],
  [edit('package.json', '{}', '{ "postinstall": "x" }'), /protected/],
  [write('.env', 'NODE_OPTIONS=x\n'), /denied|\.env/],
  [write('sub/.env.local', 'KEY=x\n'), /denied|\.env/],
  [write('server.pem', 'x'), /pem/],
  [write('.envrc', 'x'), /denied|\.env/],
  [write('.github/workflows/x.yml'), /protected/],
  [write('baton.toml', '[providers]\n'), /protected/],
  [write('.baton/config.toml'), /protected/],
  [write('.mcp.json', '{}'), /protected/],
  [write('huge.txt', 'x'.repeat(12 * 1024 * 1024)), /a call writes at most 10mb/],
  [write('src'), /is a folder/],
  [edit('src', 'a'), /is a folder/],
  [write('.'), /is the base folder itself/],
  [write('src/a.js/b.js'), /a part of its path is a file/],
  [write('SRC/A.js', 'x'), /the same as/],
  [edit('large.txt', 'x'), /has 11mb/],
  [write('large.txt', 'x'), /has 11mb/],
  [edit('picture.bin', 'a'), /not UTF-8/],
  [write('picture.bin', 'a'), /not UTF-8/],
  [write('a\u0000b'), /null bytes/],
  [write('line\nbreak.txt'), /characters that are invisible/],
  [write('bell\u0007.txt'), /characters that are invisible/],
  [write('\u202Etxt.exe'), /characters that are invisible/],
  [write('nul.txt'), /device/],
  [write('x/'.repeat(100)), /folders deep|too long/i],
  [write('y'.repeat(300)), /too long|cannot be/i],
  [write('pipe', 'x'), /device or pipe/],
  [edit('pipe', 'x'), /device or pipe/],
  [edit('none.js', 'x'), /there is no file/],
  [['edit', { path: 'src/a.js', old_text: 'a' }], /new_text/],
  [['edit', { path: 'src/a.js', old_text: 'a', new_text: 'b', force: true }], /force/],
  [['write', { path: 7, content: 'a' }], /path/],
  [['write', '{"path": "src/a.js", "content"'], /Invalid JSON/],
]

it('calls that write to protected files are each refused with a reason, and the run continues', async () => {
  const { world, end, results, before } = await called(
    refused.map(([call]) => call),
    ({ work, outside }) => {
      symlinkSync(outside, join(work, 'link'))
      symlinkSync(join(outside, 'theirs.txt'), join(work, 'theirs'))
      execFileSync('mkfifo', [join(work, 'pipe')])
    },
  )
  const told = refused.map(([[name, input], reason], index) => ({
    call: [name, input],
    reason,
    result: results[index] ?? '',
  }))
  expect(told.filter(({ reason, result }) => !result.startsWith('Error: ') || !reason.test(result))).toEqual([])
  expectHeld(world, end)
  expect(end).toMatchObject({ code: 0, isHung: false })
  const after = snapshot(world.work)
  expect({ ...after, 'src/a.js': before['src/a.js'] }).toEqual(before)
  expect(readFileSync(join(world.work, 'src/a.js'), 'utf8')).toBe('const a = 2\n')
})
