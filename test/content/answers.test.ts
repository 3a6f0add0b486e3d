import { textIn } from '../helpers/messages.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { type Asked, prompt, runShipped, shippedWorld } from './shipped.ts'

// these tests spawn the command
vi.setConfig({ testTimeout: 60_000 })

describe('reviewer', () => {
  const findings =
    '[{"severity": "error", "file": "a.ts", "line": 2, "text": "It is not a token."}, {"text": "Short."}]'
  const answer = ({ model }: Asked): string =>
    model === 'main'
      ? 'A token.\n<FILE_CHANGES>\n<FILE_NEW file_path="new.ts">\nconst token = 1\n</FILE_NEW>\n</FILE_CHANGES>'
      : findings

  it('adds what another model finds in the answer and in the changed files', async () => {
    const entry = '{ name = "reviewer", stage = "post_task", append = true, rules = ["Be strict."] }'
    const front = 'write_mode = true\ncontext_globs = ["*.ts", "!secret.ts"]'
    const world = await shippedWorld(
      { 'ask.md': prompt([entry], front), 'plain.md': prompt([], front), 'a.ts': 'a\n', 'secret.ts': 'hidden\n' },
      answer,
    )
    expect((await world.run('plain.md', '-m', 'main')).stdout).toBe('A token.\n')
    world.asked()
    const { stdout } = await world.run('ask.md', '-m', 'main')
    expect(stdout).toBe('A token.\n\n## Review\n\n- error a.ts:2: It is not a token.\n- note: Short.\n')
    const { text } = world.asked().find(({ model }) => model === 'small') ?? { text: '' }
    for (const part of [
      '- Be strict.',
      '<file path="new.ts">\nconst token = 1',
      '- New new.ts',
      '<answer>\nA token.',
    ]) {
      expect(text).toContain(part)
    }
    expect(text).not.toContain('hidden')
  })

  const input = { coder_stage: 'post_task', ai_response: { content: 'A token.' }, task: { label: 'ask.md' } }
  const review = (entry: object, text: string) =>
    runShipped('reviewer', { ...input, agent_config: entry, provider: createFakeProvider([{ text: [text] }]) })

  it('does not change the answer, and returns the findings as its result', async () => {
    expect(await review({}, findings)).toEqual({
      agent_result: {
        findings: [
          { severity: 'error', file: 'a.ts', line: 2, text: 'It is not a token.' },
          { severity: 'note', text: 'Short.' },
        ],
      },
    })
  })

  it('fails the task for errors if configured, and for nothing else', async () => {
    expect(await review({ fail: true }, findings)).toEqual({
      success: false,
      error_msg: 'the review found errors',
      error_details: 'error a.ts:2: It is not a token.',
    })
    expect(await review({ fail: true }, '[]')).toEqual({ agent_result: { findings: {} } })
  })

  it('treats findings that are not a list as one note', async () => {
    expect(await review({}, 'Fine by me.')).toEqual({
      agent_result: { findings: [{ severity: 'note', text: 'Fine by me.' }] },
    })
  })
})

describe('summarizer', () => {
  const answer = ({ model, text }: Asked): string => (model === 'main' ? 'An answer.' : `Summary of ${text.length > 0}`)

  it('joins the answers of all tasks in a file, and names the tasks without one', async () => {
    const entry = '{ name = "summarizer", stage = "post", file = "out/summary.md" }'
    const world = await shippedWorld({ 'ask.md': prompt([entry]), 'plain.md': prompt([]) }, answer)
    await world.run('plain.md', '-m', 'main', '-i', 'one', '-i', 'two')
    expect(existsSync(join(world.folder, 'out/summary.md'))).toBe(false)
    world.asked()

    const { stdout, stderr } = await world.run('ask.md', '-m', 'main', '-i', 'one', '-i', 'two')
    expect(stdout).toBe('==> one <==\nAn answer.\n\n==> two <==\nAn answer.\n')
    expect(stderr).toMatch(
      /^\[summarizer\] summary of 2 answers \(out\/summary\.md\):\nSummary of true\n1 file changed · .*\n$/,
    )
    expect(world.read('out/summary.md')).toBe('Summary of true\n')
    const { text } = world.asked().find(({ model }) => model === 'small') ?? { text: '' }
    expect(text).toContain('<answer label="one">\nAn answer.\n</answer>\n\n<answer label="two">')
  })

  it('uses the singular for one answer', async () => {
    const world = await shippedWorld({ 'ask.md': prompt(['{ name = "summarizer", stage = "post" }']) }, answer)
    const { stderr } = await world.run('ask.md', '-m', 'main')
    expect(stderr).toBe('[summarizer] summary of 1 answer:\nAn answer.\n')
  })

  const post = (coder_responses: readonly object[], entry: object = {}) => ({
    coder_stage: 'post',
    coder_responses,
    agent_config: entry,
  })

  it('summarizes what is too long for one call in parts', async () => {
    const provider = createFakeProvider((_, index) => ({ text: [`Part ${index}.`] }))
    const responses = Array.from({ length: 5 }, (_, index) => ({ label: `t${index}`, content: 'x'.repeat(450) }))
    const result = await runShipped('summarizer', { provider, ...post(responses, { max_kb: 1 }) })
    expect(result).toEqual({ agent_result: { summary: 'Part 3.', answers: 5, failed: {} } })
    const last = textIn(provider.requests[3]?.messages.at(-1))
    expect(last).toContain('<answer label="part 1">\nPart 0.\n</answer>')
    expect(last).toContain('<answer label="part 3">\nPart 2.\n</answer>')
  })

  it('copies a single answer unchanged, and names failed tasks', async () => {
    const responses = [
      { label: 'a', error: 'down' },
      { label: 'b', content: 'All of it.' },
    ]
    expect(await runShipped('summarizer', post(responses))).toEqual({
      agent_result: { summary: 'All of it.', answers: 1, failed: ['a'] },
    })
  })
})

describe('commit-suggester', () => {
  const answer = ({ model }: Asked): string => (model === 'main' ? 'Done.' : '```\nAdd a token\n```')

  it('prints a message for the differences, and asks no model if there are none', async () => {
    const entry = '{ name = "commit-suggester", stage = "post", style = "In French.", file = "message.txt" }'
    const world = await shippedWorld({ 'ask.md': prompt([entry]), 'plain.md': prompt([]), 'a.ts': 'a\n' }, answer)
    world.git('init', '-q')
    world.git('add', '.')
    world.git('commit', '-qm', 'start')
    expect((await world.run('ask.md', '-m', 'main')).stderr).toBe(
      '[commit-suggester] no commit message: no changes since the last commit\n',
    )
    expect(world.asked().map(({ model }) => model)).toEqual(['main'])

    world.write({ 'a.ts': 'b\n', 'new.ts': 'new\n' })
    expect((await world.run('plain.md', '-m', 'main')).stderr).toBe('')
    world.asked()
    expect((await world.run('ask.md', '-m', 'main')).stderr).toMatch(
      /^\[commit-suggester\] commit message:\nAdd a token\n1 file changed · .*\n$/,
    )
    const { text } = world.asked().find(({ model }) => model === 'small') ?? { text: '' }
    for (const part of ['-a\n+b\n', '+++ b/new.ts\n+new\n', 'In French.', 'Say what a token is.']) {
      expect(text).toContain(part)
    }
    expect(world.read('message.txt')).toBe('Add a token\n')
  })
})

it.each(['code-map', 'auto-context', 'reviewer', 'summarizer'])(
  '%s reports that no model is available',
  async (name) => {
    const offline = { ...createFakeProvider(() => ({ text: ['A quote.'] })), name: 'offline' }
    const responses = ['a', 'b'].map((label) => ({ label, content: 'Words.' }))
    const input = {
      files: { 'a.ts': 'a' },
      agent_config: ['code-map', 'auto-context'].includes(name) ? { globs: ['*.ts'] } : {},
      ai_response: { content: 'An answer.' },
      coder_responses: responses,
    }
    expect(await runShipped(name, { ...input, provider: offline })).toEqual({
      success: false,
      error_msg: expect.stringContaining('it needs a model, but none is available'),
    })
  },
)
