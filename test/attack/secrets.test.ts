import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { jsonLines } from '../helpers/baton.ts'
import { writeTree } from '../helpers/temp.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld } from './harness.ts'

// A model, a script and an error repeat a secret in every form and split at every position: it reaches no event, record
// or message.

const password = 's3cr3t-"pw"/0+1'
const variables = {
  SERVICE_PASSWORD: password,
  DATABASE_URL: `postgres://app:${encodeURIComponent(password)}@db.example:5432/x`,
}

const forms: Readonly<Record<string, string>> = {
  'as it is': password,
  base64: Buffer.from(password).toString('base64'),
  'base64 behind one byte': Buffer.from(`:${password}`).toString('base64'),
  'base64 behind two bytes': Buffer.from(`u:${password}`).toString('base64'),
  'base64 for URLs': Buffer.from(`user:${password}`).toString('base64url'),
  'URL-encoded': encodeURIComponent(password),
  'in JSON': JSON.stringify({ password }),
  'in JSON with base64': JSON.stringify({ auth: Buffer.from(password).toString('base64') }),
}

/** Pieces of a form that reveal most of the secret. */
const traces = [
  password,
  encodeURIComponent(password),
  JSON.stringify(password).slice(1, -1),
  ...['', 'x', 'xy'].map((before) =>
    Buffer.from(before + password)
      .toString('base64url')
      .slice(3, -3),
  ),
].flatMap((text) => [text, text.replaceAll('-', '+').replaceAll('_', '/')])

let server: ModelServer
let told = ''
beforeAll(async () => {
  server = await startModelServer(() => {
    const third = Math.max(1, Math.floor(told.length / 3))
    return { chunks: ['It is ', told.slice(0, third), told.slice(third, 2 * third), told.slice(2 * third), ' .'] }
  })
})
afterAll(() => server.close())

attack('a secret reaches no event, record or message', { core: forms, every: 3 }, async (form) => {
  told = form
  const lua = JSON.stringify(form)
  const world = createWorld({
    work: {
      'ask.md': '+++\n[[sub_agents]]\nname = "say"\nstage = "pre"\n+++\nTell.\n',
      'fail.md': '+++\n[[sub_agents]]\nname = "boom"\nstage = "pre"\n+++\nTell.\n',
      'say.lua': `print(${lua})\nreturn { coder_params = { x = ${lua} } }\n`,
      'boom.lua': `error(${lua})\n`,
    },
    env: { ...variables, BATON_GATEWAY_URL: server.url },
  })
  const asked = await world.run(['ask.md', '-m', 'any', '--json'])
  expectHeld(world, asked, [0])
  const deltas = jsonLines(asked.stdout).filter(({ type }) => type === 'item.delta')
  expect(deltas.map(({ text }) => text).join('')).toMatch(/^It is .*«secret:(?:SERVICE_PASSWORD|DATABASE_URL).*\.$/)
  const failed = await world.run(['fail.md', '-m', 'any'])
  expectHeld(world, failed, [1])
  const shown = await world.run(['runs', 'show', 'last', '--all'])
  const exported = await world.run(['runs', 'export', 'last'])
  const everything = [asked, failed, shown, exported].map(({ stdout, stderr }) => stdout + stderr).join('\n')
  const stored = filesBelow(world.state)
  for (const trace of traces) {
    expect(everything).not.toContain(trace)
    expect(stored).not.toContain(trace)
  }
  // the answer itself belongs to the user
  const plain = await world.run(['ask.md', '-m', 'any'])
  expect(plain.stdout).toBe(`It is ${form} .\n`)
})

it('a resumed run has the same secrets in all their forms, byte for byte', async () => {
  const all = Object.values(forms).join('\n')
  told = all
  const world = createWorld({
    work: {
      'ask.md': '+++\nglobs = ["in.txt"]\n[[sub_agents]]\nname = "end"\nstage = "post"\n+++\nTell.\n',
      'in.txt': 'x',
      'end.lua': 'if not aip.path.exists("go") then error("not yet") end\naip.file.save("out.txt", coder_prompts[1])\n',
    },
    env: { ...variables, BATON_GATEWAY_URL: server.url },
  })
  const first = await world.run(['ask.md', '-m', 'any'])
  expect(first.code).toBe(1)
  const asked = server.requests.length
  const resumed = await world.run(['resume', 'last'])
  expect(resumed.code, resumed.stderr).toBe(1)
  expect(server.requests.length).toBe(asked)
  expect(resumed.stdout).toBe(`It is ${all} .\n`)
})

function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n')
}

it('a key that a command prints is not in any event, record or message, even if the server repeats it', async () => {
  const token = 'Tok3n-of-a-command/77'
  const world = createWorld({ work: { 'ask.md': 'Tell.\n', 'key.txt': token } })
  const keyed = `api_key_command = "cat ${join(world.work, 'key.txt')}"`
  writeTree(world.state, { 'config/config.toml': `[providers.own]\nbase_url = "${server.url}"\n${keyed}\n` })
  for (const form of [token, Buffer.from(token).toString('base64'), encodeURIComponent(token)]) {
    told = form
    const asked = await world.run(['ask.md', '-m', 'own::m', '--json'])
    expectHeld(world, asked, [0])
    const deltas = jsonLines(asked.stdout).filter(({ type }) => type === 'item.delta')
    expect(deltas.map(({ text }) => text).join('')).toMatch(
      /^It is «secret:providers\.own\.api_key_command(?::[\w.]+)?» *\.$/,
    )
    const shown = await world.run(['runs', 'show', 'last', '--all'])
    for (const text of [asked.stdout, asked.stderr, shown.stdout]) expect(text).not.toContain(form)
    expect(filesBelow(world.state)).not.toContain(form)
  }
})
