import { textOf } from '../../src/event/message.ts'
import { describe, expect, it, vi } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { type Asked, prompt, runShipped, shippedWorld, type World } from './shipped.ts'

// these tests spawn the command
vi.setConfig({ testTimeout: 60_000 })

const project = {
  'src/token.ts': 'export const lifetime = 3600\n',
  'src/user.ts': 'export const user = 1\n',
  'src/empty.ts': '',
  '.env': 'SECRET=1\n',
}

/** Notes about files, the chosen file, and the answer of the main agent. */
function answer({ text }: Asked): string {
  const [, path] = /<file path="([^"]+)">/.exec(text) ?? []
  if (text.includes('You write the map of a project')) return `It is\n${path}.`
  if (text.includes('You choose the files')) return 'These:\n\n```json\n["./src/token.ts", "src/none.ts"]\n```'
  return 'An answer.'
}

function mainCall({ asked }: World): string {
  return asked().find(({ model }) => model === 'main')?.text ?? ''
}

describe('code-map', () => {
  it('puts notes on all files into the instruction, and asks only about files that changed', async () => {
    const world = await shippedWorld({ 'ask.md': prompt(['"code-map"']), 'plain.md': prompt([]), ...project }, answer)
    await world.run('plain.md', '-m', 'main')
    expect(mainCall(world)).not.toContain('src/token.ts')

    const first = await world.run('ask.md', '-m', 'main')
    expect(first).toMatchObject({ code: 0, stdout: 'An answer.\n' })
    const calls = world.asked()
    expect(calls.filter(({ model }) => model === 'small')).toHaveLength(5)
    expect(calls.some(({ text }) => text.includes('SECRET'))).toBe(false)
    expect(calls.at(-1)?.text).toContain('- src/token.ts: It is src/token.ts.\n- src/user.ts: It is src/user.ts.\n')

    world.write({ 'src/user.ts': 'export const user = 2\n' })
    await world.run('ask.md', '-m', 'main')
    const again = world.asked()
    expect(again.filter(({ model }) => model === 'small').map(({ text }) => /path="(.*)"/.exec(text)?.[1])).toEqual([
      'src/user.ts',
    ])
    expect(again.at(-1)?.text).toContain('- src/token.ts: It is src/token.ts.')
  })

  it('continues after a failed run, even if its last line is incomplete', async () => {
    const files = { 'ask.md': prompt(['{ name = "code-map", concurrency = 1 }']), ...project }
    let isDown = true
    const down = { status: 400, body: { error: { message: 'no more' } } }
    const world = await shippedWorld(files, (asked) =>
      isDown && asked.text.includes('path="src/user.ts"') ? down : answer(asked),
    )
    const failed = await world.run('ask.md', '-m', 'main')
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('Sub-agent [code-map] failed: ')
    expect(world.asked().map(({ text }) => /path="(.*)"/.exec(text)?.[1])).toEqual([
      'ask.md',
      'src/empty.ts',
      'src/token.ts',
      'src/user.ts',
    ])

    isDown = false
    world.write({ '.cache/code-map.jsonl': `${world.read('.cache/code-map.jsonl')}{"hash":"12` })
    expect((await world.run('ask.md', '-m', 'main')).code).toBe(0)
    expect(world.asked().map(({ model, text }) => (model === 'main' ? model : /path="(.*)"/.exec(text)?.[1]))).toEqual([
      'src/user.ts',
      'main',
    ])
  })

  it('refuses more files than max_files before it asks a model', async () => {
    const files = { 'a.ts': '1', 'b.ts': '2' }
    expect(await runShipped('code-map', { files, agent_config: { globs: ['*.ts'], max_files: 1 } })).toEqual({
      success: false,
      error_msg: 'its globs match 2 files, more than its option max_files = 1',
    })
  })

  it('asks once about identical files, and not about large ones', async () => {
    const provider = createFakeProvider([{ text: ['  Two\nwords. '] }])
    const files = { 'src/a.ts': 'same', 'src/b.ts': 'same', 'src/large.ts': 'x'.repeat(1001) }
    const config = { agent_config: { globs: ['src/*'], max_file_kb: 1 }, coder_params: { base_dir: 'src/..' } }
    expect(await runShipped('code-map', { files, provider, ...config })).toMatchObject({
      coder_prompts_append: '<code_map>\n- src/a.ts: Two words.\n- src/b.ts: Two words.\n- src/large.ts\n</code_map>',
      agent_result: { count: 3, asked: 1 },
    })
  })
})

describe('auto-context', () => {
  const chosen = { text: ['["src/token.ts"]'] }
  const files = { ...project, 'src/[id].ts': 'x' }
  const provider = (last = chosen) =>
    createFakeProvider((request) =>
      request.messages.some((message) => textOf(message).includes('You choose the files'))
        ? last
        : { text: ['A note.'] },
    )

  it('gives the model of the run only the selected files', async () => {
    const entry = '{ name = "auto-context", model = "chooser", map = { model = "mapper" } }'
    const world = await shippedWorld(
      {
        'ask.md': prompt([entry], 'context_globs = ["src/*.ts"]'),
        'plain.md': prompt([], 'context_globs = ["src/*.ts"]'),
        ...project,
      },
      answer,
    )
    await world.run('plain.md', '-m', 'main')
    expect(mainCall(world)).toContain('<file path="src/user.ts"')

    const { code, stderr } = await world.run('ask.md', '-m', 'main')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^\[auto-context\] left out, not in the map: src\/none\.ts\n1 file changed · .*\n$/,
      ),
    })
    const calls = world.asked()
    expect(calls.map(({ model }) => model)).toEqual(['mapper', 'mapper', 'mapper', 'chooser', 'main'])
    expect(calls.at(-1)?.text).toContain('<file path="src/token.ts"')
    expect(calls.at(-1)?.text).not.toContain('src/user.ts')
    expect(calls.at(-1)?.text).not.toContain('A note.')
  })

  it('adds the selected files to context_globs if it has globs to search', async () => {
    const input = { agent_config: { globs: ['src/*.ts'] }, coder_params: { context_globs: ['README.md'] } }
    expect(await runShipped('auto-context', { files, provider: provider(), ...input })).toEqual({
      coder_params_patch: { context_globs: ['README.md', 'src/token.ts'] },
      agent_result: { chosen: ['src/token.ts'] },
    })
  })

  it('selects at most max_files, and escapes each name so that it matches only this file', async () => {
    const last = { text: ['["src/[id].ts", "src/token.ts"]'] }
    const input = { agent_config: { globs: ['src/*'], max_files: 1 } }
    expect(await runShipped('auto-context', { files, provider: provider(last), ...input })).toEqual({
      coder_params_patch: { context_globs: [String.raw`src/\[id\].ts`] },
      agent_result: { chosen: ['src/[id].ts'] },
    })
  })

  it('selects no files when none are needed, and fails when the model returns no list', async () => {
    const input = { coder_params: { context_globs: ['src/*.ts'] } }
    expect(await runShipped('auto-context', { files, provider: provider({ text: ['[]'] }), ...input })).toHaveProperty(
      'coder_params_patch',
      { context_globs: {} },
    )
    expect(await runShipped('auto-context', { files, provider: provider({ text: ['All.'] }), ...input })).toEqual({
      success: false,
      error_msg: 'the model did not list files, but answered: All.',
    })
  })
})
