import { describe, expect, it } from 'vitest'
import type { AgentConfig, Stage, TextUse } from '../../src/config/agent-config.ts'
import { type ChainAnswer, checkAs, readTextAnswer, type TextAnswer, textAnswerOf } from '../../src/stage/answer.ts'
import { promptDone, promptSkipped } from '../helpers/results.ts'

function config(as?: TextUse): AgentConfig {
  const written = as === undefined ? {} : { as }
  return { name: 'x.md', enabled: true, stages: ['pre'], options: {}, entry: {}, index: 2, ...written }
}

function read(answer: TextAnswer | null, as?: TextUse, stage: Stage = 'pre'): Promise<ChainAnswer> {
  return readTextAnswer(config(as), stage, answer)
}

describe('as of an entry', () => {
  it.each([
    [undefined, { append: ['T'], redo: false }],
    ['append', { append: ['T'], redo: false }],
    ['replace', { prompts: ['T'], redo: false }],
    ['result', { result: 'T', redo: false }],
  ] as const)('%s', async (as, answer) => {
    expect(await read({ text: 'T' }, as)).toEqual(answer)
  })

  it('params parses the text as a table', async () => {
    expect(await read({ text: 'tone = "calm"' }, 'params')).toEqual({ params: { tone: 'calm' }, redo: false })
  })

  it('params names the agent whose text is not a table', async () => {
    await expect(read({ text: 'No.' }, 'params')).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      message: expect.stringMatching(/^Sub-agent \[x\.md\] returned no params: the answer is not valid TOML/),
    })
  })

  it.each(['post_task', 'post'] as const)('is always the result in %s', async (stage) => {
    for (const as of ['append', 'replace', 'params', undefined] as const) {
      expect(await read({ text: 'T' }, as, stage)).toEqual({ result: 'T', redo: false })
    }
  })

  it('uses the value of an answer that is described by a schema', async () => {
    const answer = { text: '{"n":1}', value: { n: 1 } }
    expect(await read(answer, 'result')).toEqual({ result: { n: 1 }, redo: false })
    expect(await read(answer, 'params')).toEqual({ params: { n: 1 }, redo: false })
    expect(await read(answer, 'append')).toEqual({ append: ['{"n":1}'], redo: false })
    await expect(read({ text: '[1]', value: [1] }, 'params')).rejects.toThrow('the answer is not a table')
  })
})

describe('no change', () => {
  it.each(['append', 'replace', 'result', 'params'] as const)(
    'is made by %s of an agent that skipped itself',
    async (as) => {
      expect(await read(null, as)).toEqual({ redo: false })
    },
  )

  it.each(['append', 'replace'] as const)('is made by %s of an empty answer', async (as) => {
    expect(await read({ text: ' \n' }, as)).toEqual({ redo: false })
  })

  it('is made by a skipped result', () => {
    expect(textAnswerOf(promptSkipped())).toBeNull()
    expect(textAnswerOf(promptDone('T', []))).toEqual({ text: 'T', value: [] })
    expect(textAnswerOf(promptDone('T'))).toEqual({ text: 'T' })
  })
})

describe('an agent with a result that is not text', () => {
  it.each(['aip', 'lua'] as const)('is refused with as = %s, naming the entry', (kind) => {
    expect(() => checkAs(config('append'), { kind, name: 'x', file: '/x', text: '' })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: 'sub_agents[2]: as = "append", but "x.md" does not answer with text',
      }),
    )
  })

  it('is accepted without as', () => {
    expect(() => checkAs(config(), { kind: 'lua', name: 'x', file: '/x', text: '' })).not.toThrow()
    expect(() => checkAs(config('params'), { kind: 'prompt', name: 'x', file: '/x', text: '' })).not.toThrow()
  })
})
