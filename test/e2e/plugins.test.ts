import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { baton, type BatonResult } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

const plugin = `import { appendFileSync } from 'node:fs'
export default {
  id: 'demo',
  setup({ modes, tools }) {
    tools.register({
      name: 'shout',
      description: 'Shouts.',
      parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      run({ text }, { workspace }) {
        appendFileSync(workspace + '/heard.txt', text + '\\n')
        if (text === 'fail') throw new Error('no voice')
        return text.toUpperCase()
      },
    })
    modes.register({
      id: 'echo',
      name: 'Echo',
      options: { type: 'object', properties: { times: { type: 'integer' } }, additionalProperties: false },
      createExecutor: ({ services, options, input }) =>
        services.executor(async ({ timeline }) => {
          for (let n = 0; n < (options.times ?? 1); n += 1) timeline.addText('echo ' + input.length)
          return 'done'
        }),
    })
  },
  prepare: ({ input, mode }) => mode === 'classic' ? 'Speak softly.' : undefined,
}
`

interface World {
  readonly model: ToolModel
  readonly folder: string
  /** The module of the plug-in. */
  readonly module: string
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
}

async function world(files: { readonly [path: string]: string }, options: Options = {}): Promise<World> {
  const { module = plugin, config = 'plugins = ["./demo.mjs"]', replies = [] } = options
  const model = await startToolModel(replies)
  const folder = tempTree(files)
  const home = tempTree({ 'config/config.toml': config, 'config/demo.mjs': module })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: home }
  return { model, folder, module: join(home, 'config/demo.mjs'), run: (...args) => baton(args, { cwd: folder, env }) }
}

interface Options {
  readonly module?: string
  readonly config?: string
  readonly replies?: readonly ModelReply[]
}

function prompt(...keys: readonly string[]): string {
  return `+++\nmodel = "m"\n${keys.join('\n')}\n+++\nDo it.\n`
}

const allowed = 'plugins = ["./demo.mjs"]\n[permission]\nshout = "allow"\n'

it('adds a mode with options, which are validated by its schema (R215)', async () => {
  const { model, run } = await world({
    'a.md': prompt('mode = "echo"', '[echo]', 'times = 2'),
    'b.md': prompt('mode = "echo"', '[echo]', 'time = 2'),
    'c.md': prompt('mode = "ecco"'),
    'd.aip':
      '# Options\n\n```toml\nmodel = "m"\nmode = "echo"\n```\n\n# User\n\nDo it.\n\n# Output\n\n```lua\nreturn ai_response.content\n```\n',
  })
  expect(await run('a.md')).toMatchObject({ code: 0, stdout: 'echo 2\n\necho 2\n', stderr: '' })
  expect(await run('d.aip')).toMatchObject({ code: 0, stdout: 'echo 1\n' })
  const wrong = await run('b.md')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('[echo] does not fit the mode "echo": $')])
  const unknown = await run('check', 'c.md', 'd.aip')
  expect([unknown.code, unknown.stdout]).toEqual([2, expect.stringContaining('hint: Did you mean "echo"?')])
  expect(unknown.stdout).not.toContain('d.aip:')
  expect(model.requests).toEqual([])
})

it('adds a tool, whose calls are allowed by its name, and reports its errors (R190)', async () => {
  const replies = [
    callsTools(['shout', { text: 'hey' }], ['shout', { text: 'fail' }], ['shout', {}]),
    { text: 'Done.' },
  ]
  const { model, run } = await world({ 'a.md': prompt('tools = ["shout"]') }, { config: allowed, replies })
  expect(await run('a.md')).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(model.offered()).toEqual(['shout'])
  expect(model.results()).toEqual([
    'HEY',
    'Error: Error in tool "shout": no voice.',
    expect.stringContaining('the arguments do not fit its schema'),
  ])
  // its text for the prompt appears before the last message, once
  const bodies = model.requests.map(({ body }) => JSON.stringify(body))
  expect(bodies.map((body) => body.split('Speak softly.').length - 1)).toEqual([1, 1])
  expect(bodies[0]?.indexOf('Speak softly.')).toBeLessThan(bodies[0]?.indexOf('Do it.') ?? 0)
})

it('adds a tool that agent files can name in their options, with suggestions for misspellings (R190)', async () => {
  const agent = (tool: string): string =>
    `# Options\n\n\`\`\`toml\nmodel = "m"\ntools = ["${tool}"]\n\`\`\`\n\n# User\n\nDo it.\n\n# Output\n\n\`\`\`lua\nreturn ai_response.content\n\`\`\`\n`
  const replies = [callsTools(['shout', { text: 'hey' }]), { text: 'Done.' }]
  const { model, run } = await world(
    {
      'a.aip': agent('shout'),
      'b.aip': agent('shuot'),
      'c.md': prompt('sub_agents = ["b.aip"]'),
      'd.md': prompt('tools = ["shout"]'),
    },
    { config: allowed, replies },
  )
  expect(await run('a.aip')).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(model.results()).toEqual(['HEY'])
  expect(await run('check', 'a.aip')).toMatchObject({ code: 0 })
  expect(await run('plan', 'a.aip')).toMatchObject({ code: 0, stdout: expect.stringMatching(/tools +shout\n/) })
  expect(await run('plan', 'd.md')).toMatchObject({ code: 0, stdout: expect.stringMatching(/tools +shout\n/) })
  for (const args of [['b.aip'], ['c.md'], ['check', 'b.aip'], ['plan', 'b.aip']]) {
    const { code, stdout, stderr } = await run(...args)
    expect([args, code, `${stdout}${stderr}`]).toEqual([args, 2, expect.stringContaining('b.aip:5')])
    expect(`${stdout}${stderr}`).toContain('unknown tool "shuot"')
    expect(`${stdout}${stderr}`).toContain('Did you mean "shout"?')
  }
  expect(model.requests).toHaveLength(2)
})

it('asks before a tool is called, and makes no call without an answer', async () => {
  const replies = [callsTools(['shout', { text: 'hey' }]), { text: 'Well.' }]
  const { model, run } = await world({ 'a.md': prompt('tools = ["shout"]') }, { replies })
  expect(await run('a.md')).toMatchObject({ stdout: 'Well.\n' })
  expect(model.results()).toEqual([expect.stringContaining('permission denied; to allow it set [permission] shout')])
})

it('is refused before anything is paid when it is unusable, or if a folder names it', async () => {
  const cases: readonly (readonly [string, string])[] = [
    ['export default { id: "x" }', 'has no function setup(services)'],
    ['export const a = 1', 'it has no default export { id, setup(services) }'],
    ['export default { id: "x", setup() { throw new Error("no luck") } }', 'its setup failed: no luck'],
    [
      'export default { id: "x", setup({ tools }) { tools.register({ name: "todo" }) } }',
      'a tool "todo" already exists',
    ],
    ['import "./gone.mjs"', 'it cannot be loaded: Cannot find module'],
  ]
  for (const [module, problem] of cases) {
    const { model, run } = await world({ 'a.md': prompt() }, { module })
    const { code, stderr } = await run('a.md')
    expect([code, stderr, model.requests.length]).toEqual([2, expect.stringContaining(problem), 0])
    expect(stderr).toContain(join('config', 'demo.mjs'))
  }
  const { run } = await world(
    { 'a.md': prompt(), 'baton.toml': 'plugins = ["./x.mjs"]', 'x.mjs': plugin },
    { config: '' },
  )
  const refused = await run('a.md')
  expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('"plugins" may not be set by baton.toml')])
  expect(await run('trust', 'baton.toml')).toMatchObject({ code: 0 })
  expect((await run('a.md', '--dry', 'req')).code).toBe(0)
})

it('has long outputs truncated, which read returns in parts (R190)', async () => {
  const text = Array.from({ length: 3000 }, (_, index) => `line ${index + 1} of what is said`).join('\n')
  const id = `output:${sha256(text.toUpperCase()).slice(0, 12)}`
  const replies = [callsTools(['shout', { text }]), callsTools(['read', { path: id, offset: 2999 }]), { text: 'Done.' }]
  const { model, run } = await world({ 'a.md': prompt('tools = ["shout", "read"]') }, { config: allowed, replies })
  expect(await run('a.md')).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(JSON.stringify(model.requests[1]?.body)).toContain(`to see them, read \\"${id}\\" from offset `)
  expect(model.results()).toEqual([
    'LINE 2999 OF WHAT IS SAID\nLINE 3000 OF WHAT IS SAID\n[lines 2999 to 3000 of 3000]',
  ])
})

it('is used in its current version by a resumed run, which says so', async () => {
  const replies = [callsTools(['shout', { text: 'hey' }]), { text: 'Done.' }, { text: 'Done.' }]
  const { model, module, run } = await world({ 'a.md': prompt('tools = ["shout"]') }, { replies })
  expect((await run('a.md', '--on-ask', 'suspend')).code).toBe(5)
  writeFileSync(module, plugin.replace('text.toUpperCase()', 'text + "!"'))
  const resumed = await run('approve')
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('Done.\n') })
  expect(resumed.stderr).toMatch(
    /warning a plug-in has changed since this run started, and its current version is used: .*demo\.mjs/,
  )
  expect(model.results()).toEqual(['hey!'])
})

it('adds a mode whose own loop calls tools; auto_approve applies only to programs of code mode', async () => {
  const module = plugin.replace(
    "id: 'echo',",
    `id: 'own',
      name: 'Own',
      createExecutor: ({ services }) =>
        services.executor(async (work) => {
          const { text } = await work.program({ function: 'own.work', input: {} }, ({ call }) => call('shout', { text: 'hi' }))
          work.say(text)
          return 'done'
        }),
    })
    modes.register({
      id: 'echo',`,
  )
  const files = { 'a.md': prompt('mode = "own"', 'tools = ["shout"]') }
  const asked = await world(files, { module })
  const refused = await asked.run('a.md', '-c', 'code.auto_approve=true')
  expect([refused.code, refused.stdout]).toEqual([0, expect.stringContaining('permission denied')])
  const { run } = await world(files, { module, config: allowed })
  expect(await run('a.md')).toMatchObject({ code: 0, stdout: 'HI\n' })
})
