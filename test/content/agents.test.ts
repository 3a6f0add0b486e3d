import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { agentWorld } from '../helpers/agents.ts'

/** What a shipped agent returns for an input like that of the chain. */
async function runShipped(name: string, files: { readonly [path: string]: string }, input: JsonObject): Promise<Json> {
  const { run, folder } = agentWorld({})
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const base = { coder_params: { context_globs: [] }, coder_prompt: '', agent_config: { name } }
  const { outputs } = await run(name, [{ ...base, ...input }])
  return outputs[0] ?? null
}

const project = {
  'src/token.ts': 'export function refreshToken() {}\n// the token is refreshed here\n',
  'src/user.ts': 'import { refreshToken } from "./token"\nexport const user = 1\n',
  'src/color.ts': 'export const red = "#f00"\n',
  'docs/auth.md': '# Authentication\n\nTokens are refreshed every hour.\n',
  'image.png': '\u0000\u0001',
}

describe('context-builder', () => {
  it('adds the files that the request is about, best first', async () => {
    expect(
      await runShipped('context-builder', project, {
        coder_prompt: 'Rewrite the token refresh.',
        agent_config: { max_files: 2 },
      }),
    ).toEqual({
      coder_params_patch: { context_globs: ['src/token.ts', 'src/user.ts'] },
      agent_result: { added: ['src/token.ts', 'src/user.ts'] },
    })
  })

  it('keeps what is in context_globs and looks only where globs say', async () => {
    const input = {
      coder_prompt: 'How are tokens refreshed?',
      coder_params: { context_globs: ['src/color.ts'] },
      agent_config: { globs: ['docs/**/*.md'] },
    }
    expect(await runShipped('context-builder', project, input)).toMatchObject({
      coder_params_patch: { context_globs: ['src/color.ts', 'docs/auth.md'] },
    })
  })

  it('finds files below base_dir, by paths relative to it', async () => {
    const input = { coder_prompt: 'the token', coder_params: { base_dir: 'src' }, agent_config: { max_files: 1 } }
    expect(await runShipped('context-builder', project, input)).toMatchObject({ agent_result: { added: ['token.ts'] } })
  })

  it.each(['', 'the and for', 'zebra'])('changes nothing for %j', async (prompt) => {
    expect(await runShipped('context-builder', project, { coder_prompt: prompt })).toBeNull()
  })
})

describe('prompt-refiner', () => {
  it('adds files that are named, says which do not exist, and appends the rules', async () => {
    const input = {
      coder_prompt: 'Compare `src/token.ts` with ./src/user.ts and src/gone.ts. e.g. v1.2',
      agent_config: { rules: ['Be brief.'] },
    }
    expect(await runShipped('prompt-refiner', project, input)).toEqual({
      coder_params_patch: { context_globs: ['src/token.ts', 'src/user.ts'] },
      coder_prompts_append: ['Rules:\n- Be brief.\nThese paths are named above but do not exist: src/gone.ts.'],
      agent_result: { added: ['src/token.ts', 'src/user.ts'], missing: ['src/gone.ts'] },
    })
  })

  it('has rules of its own', async () => {
    expect(await runShipped('prompt-refiner', project, { coder_prompt: 'Hi' })).toMatchObject({
      coder_prompts_append: [expect.stringMatching(/^Rules:\n- .*line/)],
    })
  })
})

describe('reference-checker', () => {
  const answer = (content: string): JsonObject => ({ ai_response: { content } })

  it('confirms references that exist', async () => {
    expect(await runShipped('reference-checker', project, answer('See src/token.ts:1 and src/token.ts:2-3.'))).toEqual({
      ai_response: { content: 'See src/token.ts:1 and src/token.ts:2-3.\n\nReferences: 2 checked, all exist.\n' },
      agent_result: { checked: 2, broken: {} },
    })
  })

  it('names those that do not', async () => {
    expect(
      await runShipped('reference-checker', project, answer('See src/token.ts:99 and src/none.ts:1.')),
    ).toMatchObject({
      ai_response: {
        content: expect.stringContaining(
          'References that do not exist: src/token.ts:99 (the file has 2 lines), src/none.ts:1 (no such file).',
        ),
      },
    })
  })

  it('fails the task when it is strict', async () => {
    const input = { ...answer('See src/none.ts:1.'), agent_config: { strict: true } }
    expect(await runShipped('reference-checker', project, input)).toEqual({
      success: false,
      error_msg: 'the answer names what does not exist: src/none.ts:1 (no such file)',
    })
  })

  it('leaves answers without references alone', async () => {
    expect(await runShipped('reference-checker', project, answer('At 10:30 nothing happens.'))).toBeNull()
  })
})
