import { describe, expect, it } from 'vitest'
import { commandStart } from '../../../src/agent/command/ask.ts'
import type { CommandPreset } from '../../../src/event/agent.ts'
import { commandAgent, commandWorld, playing, stream } from '../../helpers/command-world.ts'

const asked = { model: undefined, session: undefined }

function argsOf(preset: CommandPreset, options: Partial<Parameters<typeof commandStart>[0]> = {}): readonly string[] {
  const agent = commandAgent([], { preset, command: preset, args: [] })
  return commandStart({ agent, prompt: 'Look.', mode: 'workspace-write', ...asked, ...options }).args
}

describe('the arguments of a known command-line agent', () => {
  it('select its print mode with events, and end with the prompt', () => {
    expect(argsOf('claude')).toEqual([
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--include-partial-messages',
      '--permission-mode',
      'acceptEdits',
      '--',
      'Look.',
    ])
    expect(argsOf('codex')).toEqual([
      'exec',
      '--json',
      '--skip-git-repo-check',
      '--sandbox',
      'workspace-write',
      '--',
      'Look.',
    ])
    expect(argsOf('gemini')).toEqual([
      '--output-format',
      'stream-json',
      '--approval-mode',
      'auto_edit',
      '--prompt=Look.',
    ])
    expect(argsOf('opencode')).toEqual(['run', '--format', 'json', '--agent', 'build', '--', 'Look.'])
  })

  it.each([
    ['claude', 'read-only', '--disallowedTools=Edit,Write,NotebookEdit,Bash'],
    ['claude', 'danger-full-access', 'bypassPermissions'],
    ['codex', 'read-only', 'read-only'],
    ['codex', 'danger-full-access', 'danger-full-access'],
    ['gemini', 'read-only', 'plan'],
    ['gemini', 'danger-full-access', 'yolo'],
    ['opencode', 'read-only', 'plan'],
    ['opencode', 'danger-full-access', '--auto'],
  ] as const)('pass %s for the sandbox mode %s', (preset, mode, flag) => {
    expect(argsOf(preset, { mode })).toContain(flag)
  })

  it.each([
    ['claude', ['--model', 'm'], ['--resume', 's1']],
    ['codex', ['--model', 'm'], ['resume', 's1']],
    ['gemini', ['--model', 'm'], ['--resume', 's1']],
    ['opencode', ['--model', 'm'], ['--session', 's1']],
  ] as const)('pass the model to %s, and the conversation to continue', (preset, model, session) => {
    const args = argsOf(preset, { model: 'm', session: 's1' }).join(' ')
    expect(args).toContain(model.join(' '))
    expect(args).toContain(session.join(' '))
  })

  it('omit a long prompt, and include the arguments of the user', () => {
    const agent = commandAgent([], { preset: 'codex', command: 'codex', args: ['--profile', 'fast'] })
    const { args, input } = commandStart({ agent, prompt: 'x'.repeat(2000), mode: 'read-only', ...asked })
    expect(args).toEqual([
      'exec',
      '--json',
      '--skip-git-repo-check',
      '--sandbox',
      'read-only',
      '--profile',
      'fast',
      '-',
    ])
    expect(input).toHaveLength(2000)
  })
})

describe('a recorded stream of', () => {
  it.each([
    ['claude', 'claude::claude-opus-4-8', { calls: 2, input: 400, output: 48, cached: 160 }, 0.00248],
    ['codex', 'codex', { calls: 1, input: 240, output: 48, cached: 160, reasoning: 8 }, null],
    ['gemini', 'gemini::gemini-2.5-flash', { calls: 1, input: 240, output: 48, cached: 160 }, 0.0001488],
    ['opencode', 'opencode', { calls: 2, input: 240, output: 48, cached: 160 }, null],
  ] as const)('%s contains the answer, the session, the tools and the cost', async (preset, model, usage, cost) => {
    const { ask, context } = commandWorld()
    const answer = await ask({ agent: commandAgent([], { preset, args: [], command: playing(stream(preset)) }) })
    expect(answer).toMatchObject({ text: 'The folder holds notes.txt.', spent: { model, usage } })
    if (cost === null) expect(answer.spent.costUsd).toBeNull()
    else expect(answer.spent.costUsd).toBeCloseTo(cost, 7)
    expect(answer.session?.id).toMatch(/^[\w-]{30,40}$/)
    expect(answer.calls).toHaveLength(1)
    const told = context.sent.filter(({ type }) => type.startsWith('item.') || type.startsWith('tool.'))
    expect(told.filter(({ type }) => type !== 'item.delta').map(({ type }) => type)).toEqual([
      'item.started',
      'item.completed',
      'tool.started',
      'tool.completed',
      'item.started',
      'item.completed',
    ])
    expect(told.flatMap((event) => (event.type === 'item.delta' ? [event.text] : [])).join('')).toBe(
      'I look at the folder.The folder holds notes.txt.',
    )
    expect(context.sent).toContainEqual(
      expect.objectContaining({ type: 'usage', model, cost_usd: answer.spent.costUsd }),
    )
  })

  it('codex that continues a session counts only the new tokens', async () => {
    const { ask } = commandWorld()
    const agent = commandAgent([], { preset: 'codex', args: [], command: playing(stream('codex-resume')) })
    const used = { calls: 1, input: 240, output: 48, cached: 160, reasoning: 8 }
    const { spent, session } = await ask({ agent, session: { id: 's1', used } })
    expect(spent.usage).toMatchObject({ input: 120, output: 24, cached: 80, reasoning: 4 })
    expect(session).toMatchObject({ used: { input: 360 } })
  })

  it('codex is priced if its model is named', async () => {
    const { ask } = commandWorld()
    const agent = commandAgent([], { preset: 'codex', args: [], command: playing(stream('codex')) })
    const { spent } = await ask({ agent, model: 'gpt-5-mini' })
    expect(spent.model).toBe('codex::gpt-5-mini')
    expect(spent.costUsd).toBeGreaterThan(0)
  })

  it.each(['codex::lab-*', 'openai::lab-1', 'lab-1'])('codex has the price that the user sets for %s', async (name) => {
    const { ask } = commandWorld({ ownPrices: { [name]: { input: 10, output: 100, cached: 1 } } })
    const agent = commandAgent([], { preset: 'codex', args: [], command: playing(stream('codex')) })
    const { spent } = await ask({ agent, model: 'lab-1' })
    // 80 new tokens, 160 that the host had cached, 48 of the answer
    expect(spent.costUsd).toBeCloseTo((80 * 10 + 160 * 1 + 48 * 100) / 1e6, 10)
  })

  it.each([
    ['claude', 'claude-login', 1, /requires a login: Not logged in/, /type \/login/],
    ['claude', 'claude-401', 1, /requires a login: Invalid API key/, /ANTHROPIC_API_KEY/],
    ['codex', 'codex-401', 1, /requires a login: unexpected status 401/, /codex login/],
    ['codex', 'codex-nokey', 1, /requires a login: Missing environment variable/, /codex login/],
    ['gemini', 'gemini-401', 145, /requires a login: .*authentication_error/, /GEMINI_API_KEY/],
    ['opencode', 'opencode-401', 1, /requires a login: invalid x-api-key/, /opencode auth login/],
  ] as const)('%s without a key (%s) explains how to log in', async (preset, name, code, message, hint) => {
    const { ask } = commandWorld()
    const agent = commandAgent([], { preset, args: [], command: playing(stream(name), code) })
    const error = await ask({ agent }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'KEY_MISSING',
      message: expect.stringMatching(message) as string,
      hint: expect.stringMatching(hint) as string,
    })
  })
})
