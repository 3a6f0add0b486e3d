import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { readAnswer } from '../../src/stage/answer.ts'

function failsWith(value: Json, message: string): () => void {
  return () => expect(() => readAnswer('a', value)).toThrow(expect.objectContaining({ code: 'AGENT_FAILED', message }))
}

describe('the result of a sub-agent (TV30)', () => {
  it.each([[undefined], [null], [{}], [[]], [{ success: true }]] as const)('changes nothing if it is %j', (value) => {
    expect(readAnswer('a', value as Json | undefined)).toEqual({ redo: false })
  })

  it(
    'is an error if a key is one edit away from a known one',
    failsWith({ coder_promt: 'x' }, 'Sub-agent [a] returned "coder_promt"; did you mean "coder_prompt"?'),
  )
  it('may contain further keys', () => {
    expect(readAnswer('a', { notes: 'x', coder_prompt: 'y', prompts: 'z' })).toMatchObject({ prompts: ['y'] })
  })
  it(
    'with success = false fails without a message',
    failsWith({ success: false }, 'Sub-agent [a] failed: Unknown error'),
  )
  it(
    'with only an error message fails',
    failsWith({ success: true, error_msg: 'no globs' }, 'Sub-agent [a] failed: no globs'),
  )
  it('with a null message fails', failsWith({ error_msg: null }, 'Sub-agent [a] failed: Unknown error'))
  it(
    'shows the details on a second line',
    failsWith({ error_msg: 'e', error_details: 'x' }, 'Sub-agent [a] failed: e\nDetails: x'),
  )
  it(
    'ignores params next to a failure',
    failsWith({ success: false, error_msg: 'e', coder_params: 3 }, 'Sub-agent [a] failed: e'),
  )

  it('refuses a string', failsWith('text', 'Sub-agent [a] returned a string, expected a table or nil'))
  it('refuses a number', failsWith(42, 'Sub-agent [a] returned a number, expected a table or nil'))
  it('refuses a boolean', failsWith(true, 'Sub-agent [a] returned the boolean true, expected a table or nil'))
  it('refuses a list', failsWith([1], 'Sub-agent [a] returned a list, expected a table or nil'))

  it(
    'refuses params that are not a table',
    failsWith({ coder_params: 'x' }, 'Sub-agent [a] returned "coder_params" as a string, expected a table'),
  )
  it(
    'refuses a prompt that is not a string',
    failsWith({ coder_prompt: 1 }, 'Sub-agent [a] returned "coder_prompt" as a number, expected a string'),
  )
  it(
    'refuses prompts that are not strings',
    failsWith(
      { coder_prompts: ['a', 1] },
      'Sub-agent [a] returned "coder_prompts" as a list, expected a list of strings',
    ),
  )
  it(
    'refuses success that is not a boolean',
    failsWith({ success: 'no' }, 'Sub-agent [a] returned success as a string, expected true or false'),
  )
})

describe('contradictions and unsupported keys', () => {
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

  it.each(['agent_on', 'emit_events'])('refers from %s to stage', (key) => {
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

it('explain what to do instead of returning file_changes', () => {
  expect(() => readAnswer('a', { file_changes: [] })).toThrow(
    expect.objectContaining({
      code: 'AGENT_FAILED',
      message: 'Sub-agent [a] returned "file_changes", but the changes of an answer are applied before post_task',
      hint: expect.stringContaining('aip.file'),
    }),
  )
})

describe('fields of a result', () => {
  it('an empty Lua table is an empty list of prompts', () => {
    expect(readAnswer('a', { coder_prompts: {} })).toEqual({ prompts: [], redo: false })
  })

  it('coder_prompt is the only segment', () => {
    expect(readAnswer('a', { coder_prompt: 'X' })).toEqual({ prompts: ['X'], redo: false })
  })

  it('one string or many are appended', () => {
    expect(readAnswer('a', { coder_prompts_append: 'X' }).append).toEqual(['X'])
    expect(readAnswer('a', { coder_prompts_append: ['X', 'Y'] }).append).toEqual(['X', 'Y'])
  })

  it('a changed answer is a string or a table with content', () => {
    expect(readAnswer('a', { ai_response: 'new' }).content).toBe('new')
    expect(readAnswer('a', { ai_response: { content: 'new' } }).content).toBe('new')
    expect(() => readAnswer('a', { ai_response: { content: 1 } })).toThrow('expected a table with a string "content"')
  })

  it('agent_result is kept unchanged, and coder_redo is read', () => {
    expect(readAnswer('a', { agent_result: { n: 1 }, coder_redo: true })).toEqual({ result: { n: 1 }, redo: true })
  })
})
