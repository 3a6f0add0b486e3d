import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { runShipped } from './shipped.ts'

const project = {
  'src/token.ts': 'export function refreshToken() {}\n// the token is refreshed here\n',
  'src/user.ts': 'import { refreshToken } from "./token"\nexport const user = 1\n',
  'src/color.ts': 'export const red = "#f00"\n',
  'docs/auth.md': '# Authentication\n\nTokens are refreshed every hour.\n',
  'image.png': '\u0000\u0001',
}

describe('context-builder', () => {
  it('adds the files that are relevant to the request, most relevant first', async () => {
    expect(
      await runShipped('context-builder', {
        files: project,
        coder_prompt: 'Rewrite the token refresh.',
        agent_config: { max_files: 2 },
      }),
    ).toEqual({
      coder_params_patch: { context_globs: ['src/token.ts', 'src/user.ts'] },
      agent_result: { added: ['src/token.ts', 'src/user.ts'] },
    })
  })

  it('keeps the files in context_globs, and searches only the given globs', async () => {
    const input = {
      coder_prompt: 'How are tokens refreshed?',
      coder_params: { context_globs: ['src/color.ts'] },
      agent_config: { globs: ['docs/**/*.md'] },
    }
    expect(await runShipped('context-builder', { files: project, ...input })).toMatchObject({
      coder_params_patch: { context_globs: ['src/color.ts', 'docs/auth.md'] },
    })
  })

  it('finds files below base_dir, by paths relative to it', async () => {
    const input = { coder_prompt: 'the token', coder_params: { base_dir: 'src' }, agent_config: { max_files: 1 } }
    expect(await runShipped('context-builder', { files: project, ...input })).toMatchObject({
      agent_result: { added: ['token.ts'] },
    })
  })

  it('escapes a file name with brackets so that it matches only this file', async () => {
    const files = { 'app/[token]/page.ts': 'token', 'app/t/page.ts': '' }
    expect(await runShipped('context-builder', { files, coder_prompt: 'the token' })).toMatchObject({
      coder_params_patch: { context_globs: [String.raw`app/\[token\]/page.ts`] },
    })
  })

  it('excludes hidden files and prompt files, even the best matches', async () => {
    const asked = 'Rewrite the token refresh.'
    const files = {
      '.env': 'token token refresh',
      'ask.md': `+++\n+++\n${asked}\n`,
      'other.md': '+++\nsub_agents = []\n+++\ntoken refresh token\n',
      'src/token.ts': 'token',
    }
    const input = { files, coder_prompt: asked, coder_prompts: [asked] }
    expect(await runShipped('context-builder', input)).toMatchObject({ agent_result: { added: ['src/token.ts'] } })
  })

  it.each(['', 'the and for', 'zebra'])('changes nothing for %j', async (prompt) => {
    expect(
      await runShipped('context-builder', {
        files: project,
        coder_prompt: prompt,
      }),
    ).toBeNull()
  })
})

describe('prompt-refiner', () => {
  it('adds the named files, reports the missing ones, and appends the rules', async () => {
    const input = {
      coder_prompt: 'Compare `src/token.ts` with ./src/user.ts and src/gone.ts. e.g. v1.2',
      agent_config: { rules: ['Be brief.'] },
    }
    expect(await runShipped('prompt-refiner', { files: project, ...input })).toEqual({
      coder_params_patch: { context_globs: ['src/token.ts', 'src/user.ts'] },
      coder_prompts_append: ['Rules:\n- Be brief.\nThese paths are named above but do not exist: src/gone.ts.'],
      agent_result: { added: ['src/token.ts', 'src/user.ts'], missing: ['src/gone.ts'] },
    })
  })

  it('has default rules', async () => {
    expect(await runShipped('prompt-refiner', { files: project, coder_prompt: 'Hi' })).toMatchObject({
      coder_prompts_append: [expect.stringMatching(/^Rules:\n- .*line/)],
    })
  })
})

describe('reference-checker', () => {
  const answer = (content: string): JsonObject => ({ ai_response: { content } })

  it('confirms references that exist', async () => {
    expect(
      await runShipped('reference-checker', { files: project, ...answer('See src/token.ts:1 and src/token.ts:2-3.') }),
    ).toEqual({
      ai_response: { content: 'See src/token.ts:1 and src/token.ts:2-3.\n\nReferences: 2 checked, all exist.\n' },
      agent_result: { checked: 2, broken: {} },
    })
  })

  it('names those that do not exist', async () => {
    expect(
      await runShipped('reference-checker', { files: project, ...answer('See src/token.ts:99 and src/none.ts:1.') }),
    ).toMatchObject({
      ai_response: {
        content: expect.stringContaining(
          'References that do not exist: src/token.ts:99 (the file has 2 lines), src/none.ts:1 (no such file).',
        ),
      },
    })
  })

  it('fails the task in strict mode', async () => {
    const input = { ...answer('See src/none.ts:1.'), agent_config: { strict: true } }
    expect(await runShipped('reference-checker', { files: project, ...input })).toEqual({
      success: false,
      error_msg: 'the answer has references that do not exist: src/none.ts:1 (no such file)',
    })
  })

  it('does not change answers without references', async () => {
    expect(await runShipped('reference-checker', { files: project, ...answer('At 10:30 nothing happens.') })).toBeNull()
  })
})
