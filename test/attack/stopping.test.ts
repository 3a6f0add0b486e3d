import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startModelServer } from '../helpers/model-server.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld } from './harness.ts'

const change = (path: string): string => `<FILE_NEW file_path="${path}">\nnew\n</FILE_NEW>\n`
const prompt = '+++\ntemplate = true\nwrite_mode = true\ninput_concurrency = 1\n+++\nMake a file.\n'

it('a second Ctrl-C during a model call ends with 130; nothing is half written, and nothing is paid twice', async () => {
  let isOpen = false
  const server = await startModelServer((_, index) => ({
    chunks: [change(`${index}.txt`), 'Done.'],
    ...(index === 0 || isOpen ? {} : { stallAfter: 1 }),
  }))
  onTestFinished(() => server.close())
  const env = { BATON_GATEWAY_URL: server.url }
  const world = createWorld({ work: { '.git/HEAD': '', 'ask.md': prompt }, env })
  const before = readdirSync(world.work)
  const end = await world.run(['ask.md', '-m', 'any', '-i', 'one', '-i', 'two'], {
    interruptTwiceWhen: () => server.requests.length === 2,
  })
  expectHeld(world, end, [130])
  expect(readdirSync(world.work).toSorted()).toEqual([...before, '0.txt'].toSorted())
  expect(readFileSync(join(world.work, 'ask.md'), 'utf8')).toBe(prompt)
  expect(readFileSync(join(world.work, '0.txt'), 'utf8')).toBe('new\n')
  isOpen = true
  const resumed = await world.run(['resume', '--last'])
  expectHeld(world, resumed, [0])
  // the first call, the one that was stopped, and its repetition
  expect(server.requests).toHaveLength(3)
  expect(readFileSync(join(world.work, '2.txt'), 'utf8')).toBe('new\n')
})

attack(
  'a HOME that is none keeps nobody from work, and nothing is written below it',
  { core: { unset: undefined, empty: '', relative: 'relative/home', 'the working folder': '.' } },
  async (HOME) => {
    const world = createWorld({
      work: { '.git/HEAD': '', 'w.lua': 'aip.file.save("made.txt", "x")\nreturn "saved"\n' },
    })
    const before = readdirSync(world.work)
    const end = await world.run(['w.lua'], { env: { HOME } })
    expectHeld(world, end, [0])
    expect([end.stdout, readFileSync(join(world.work, 'made.txt'), 'utf8')]).toEqual(['saved\n', 'x'])
    expect(readdirSync(world.work).toSorted()).toEqual([...before, 'made.txt'].toSorted())
    expect(existsSync(join(world.work, 'relative'))).toBe(false)
  },
)

const large = 'for i = 1, 2000 do aip.uuid.new() end'
const crowded = {
  'an agent': {
    'a.aip': `# Data\n\n\`\`\`lua\nif input == "large" then ${large} end\nreturn { input = input }\n\`\`\`\n\n# User\n\n{{input}}\n\n# Output\n\n\`\`\`lua\nreturn ai_response.content\n\`\`\`\n`,
  },
  'a prompt file': {
    'a.md': '+++\nsub_agents = [{ name = "a.lua", stage = "pre_task" }]\n+++\nSay paid.\n',
    'a.lua': `if input.input == "large" then ${large} end`,
  },
}

attack(
  'a call of a model ends and is paid once when another task finds no room in the record:',
  { core: crowded },
  async (work) => {
    const server = await startModelServer((_, index) => ({ text: 'paid', ...(index === 0 && { delayMs: 2000 }) }))
    onTestFinished(() => server.close())
    const world = createWorld({ work: { '.git/HEAD': '', ...work }, env: { BATON_GATEWAY_URL: server.url } })
    const inputs = ['-i', 'small', '-i', 'large', '-c', 'input_concurrency=2']
    const [file = ''] = Object.keys(work)
    const end = await world.run([file, '-m', 'any', ...inputs, '-c', 'runs.max_size=100kb'])
    expectHeld(world, end, [4])
    expect(end.stderr).toContain('the record of this run would exceed 100kb')
    const again = await world.run(['resume', '--last', '-c', 'runs.max_size=1gb'])
    expectHeld(world, again, [0])
    expect(again.stdout.match(/paid/g)).toHaveLength(2)
    expect(server.requests).toHaveLength(2)
  },
)
