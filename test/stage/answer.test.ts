import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { readAnswer } from '../../src/stage/answer.ts'

function failsWith(value: Json, message: string): () => void {
  return () => expect(() => readAnswer('a', value)).toThrow(expect.objectContaining({ code: 'AGENT_FAILED', message }))
}

describe('what a sub-agent returns (TV30)', () => {
  it.each([[undefined], [null], [{}], [[]], [{ success: true }]] as const)('changes nothing by %j', (value) => {
    expect(readAnswer('a', value as Json | undefined)).toEqual({ redo: false })
  })

  it(
    'is an error when a key is one edit away from one that is read',
    failsWith({ coder_promt: 'x' }, 'Sub-agent [a] returned "coder_promt"; did you mean "coder_prompt"?'),
  )
  it('may hold further keys', () => {
    expect(readAnswer('a', { notes: 'x', coder_prompt: 'y', prompts: 'z' })).toMatchObject({ prompts: ['y'] })
  })
  it('fails without a message', failsWith({ success: false }, 'Sub-agent [a] failed: Unknown error'))
  it('fails by a message alone', failsWith({ success: true, error_msg: 'no globs' }, 'Sub-agent [a] failed: no globs'))
  it('fails by a null message', failsWith({ error_msg: null }, 'Sub-agent [a] failed: Unknown error'))
  it(
    'shows the details on a second line',
    failsWith({ error_msg: 'e', error_details: 'x' }, 'Sub-agent [a] failed: e\nDetails: x'),
  )
  it(
    'ignores params that come with a failure',
    failsWith({ success: false, error_msg: 'e', coder_params: 3 }, 'Sub-agent [a] failed: e'),
  )

  it('refuses a string', failsWith('text', 'Sub-agent [a] returned a string, expected a table or nil'))
  it('refuses a number', failsWith(42, 'Sub-agent [a] returned a number, expected a table or nil'))
  it('refuses a boolean', failsWith(true, 'Sub-agent [a] returned the boolean true, expected a table or nil'))
  it('refuses a list', failsWith([1], 'Sub-agent [a] returned a list, expected a table or nil'))

  it(
    'refuses params that are no table',
    failsWith({ coder_params: 'x' }, 'Sub-agent [a] returned "coder_params" as a string, expected a table'),
  )
  it(
    'refuses a prompt that is no string',
    failsWith({ coder_prompt: 1 }, 'Sub-agent [a] returned "coder_prompt" as a number, expected a string'),
  )
  it(
    'refuses prompts that are no strings',
    failsWith(
      { coder_prompts: ['a', 1] },
      'Sub-agent [a] returned "coder_prompts" as a list, expected a list of strings',
    ),
  )
  it(
    'refuses success that is no boolean',
    failsWith({ success: 'no' }, 'Sub-agent [a] returned success as a string, expected true or false'),
  )
})

describe('contradictions and what Baton does not have', () => {
  it.each([
    ['coder_params', 'coder_params_patch'],
    ['coder_prompts', 'coder_prompt'],
    ['coder_prompts', 'coder_prompts_append'],
    ['coder_prompt', 'coder_prompts_append'],
  ])('refuses %s together with %s', (left, right) => {
    expect(() => readAnswer('a', { [left]: {}, [right]: {} })).toThrow(
      `Sub-agent [a] returned both "${left}" and "${right}"`,
    )
  })

  it.each(['agent_on', 'emit_events'])('points from %s to stage', (key) => {
    try {
      readAnswer('a', { [key]: ['start'] })
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        message: `Sub-agent [a] returned "${key}", which Baton does not support`,
        hint: expect.stringMatching(/stage/),
      })
    }
  })
})

it('says what to do instead of returning file_changes', () => {
  expect(() => readAnswer('a', { file_changes: [] })).toThrow(
    expect.objectContaining({
      code: 'AGENT_FAILED',
      message: 'Sub-agent [a] returned "file_changes", but the changes of an answer are applied before post_task',
      hint: expect.stringContaining('aip.file'),
    }),
  )
})

describe('fields', () => {
  it('reads an empty Lua table as an empty list of prompts', () => {
    expect(readAnswer('a', { coder_prompts: {} })).toEqual({ prompts: [], redo: false })
  })

  it('takes coder_prompt as the only segment', () => {
    expect(readAnswer('a', { coder_prompt: 'X' })).toEqual({ prompts: ['X'], redo: false })
  })

  it('appends one string or many', () => {
    expect(readAnswer('a', { coder_prompts_append: 'X' }).append).toEqual(['X'])
    expect(readAnswer('a', { coder_prompts_append: ['X', 'Y'] }).append).toEqual(['X', 'Y'])
  })

  it('reads a changed answer as a string or as a table with content', () => {
    expect(readAnswer('a', { ai_response: 'new' }).content).toBe('new')
    expect(readAnswer('a', { ai_response: { content: 'new' } }).content).toBe('new')
    expect(() => readAnswer('a', { ai_response: { content: 1 } })).toThrow('expected a table with a string "content"')
  })

  it('keeps agent_result as it is and reads coder_redo', () => {
    expect(readAnswer('a', { agent_result: { n: 1 }, coder_redo: true })).toEqual({ result: { n: 1 }, redo: true })
  })
})
