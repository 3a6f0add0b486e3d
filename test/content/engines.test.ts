import { expect, it, vi } from 'vitest'
import { core } from '../helpers/series.ts'
import { type Asked, prompt, shippedWorld } from './shipped.ts'

// these tests spawn the command
vi.setConfig({ testTimeout: 60_000 })

const entries = [
  '{ name = "git-diff", files = false }',
  '"context-builder"',
  '"prompt-refiner"',
  '{ name = "code-map", globs = ["src/**"] }',
  '{ name = "auto-context", globs = ["src/**"] }',
  '{ name = "reviewer", stage = "post_task", append = true }',
  '{ name = "reference-checker", stage = "post_task" }',
  '{ name = "test-runner", stage = "post_task", command = "echo tested", append = true, timeout = "1.5m" }',
  '{ name = "summarizer", stage = "post" }',
  '{ name = "commit-suggester", stage = "post" }',
]

function answer({ model, text }: Asked): string {
  if (model === 'main') return 'See src/token.ts:1.'
  if (text.includes('You choose')) return '["src/token.ts"]'
  return text.includes('You review') ? '[{"text": "Fine.", "line": 1, "file": "src/token.ts"}]' : 'Some words.'
}

const engines = ['engine=lua54', 'engine=fengari', 'isolated=true']

// the whole series has the thread as well
it('the built-in agents behave the same on both Lua engines and in a separate thread', async () => {
  const files = {
    'ask.md': prompt(entries),
    'src/token.ts': 'export const token = 1\n',
    '.gitignore': '.baton\n.cache\n',
  }
  const world = await shippedWorld(files, answer)
  world.git('init', '-q')
  const seen = []
  for (const setting of core(engines.slice(0, 2), engines)) {
    world.write({ '.cache/code-map.jsonl': '' })
    const { code, stdout, stderr } = await world.run(
      'ask.md',
      '-m',
      'main',
      '-i',
      'a',
      '-i',
      'b',
      '-c',
      `lua.${setting}`,
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('[commit-suggester] commit message:') })
    const asked = world.asked().map(({ model, text }) => `${model}: ${text}`)
    // its last line names the run
    seen.push({ stdout, stderr: stderr.replace(/^\d+ files? changed · .*\n/m, ''), asked: asked.toSorted() })
  }
  for (const one of seen.slice(1)) expect(one).toEqual(seen[0])
  expect(seen[0]?.asked).toHaveLength(8)
  expect(seen[0]?.stdout).toContain('References: 1 checked, all exist.\n\nTests: `echo tested` passed.')
})
