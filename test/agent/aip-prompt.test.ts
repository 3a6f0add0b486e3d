import { fileOf, messageOf, textIn } from '../helpers/messages.ts'
import { textMessage, textOf } from '../../src/event/message.ts'
import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { createFakeProvider, type FakeTurn } from '../helpers/fake-model.ts'
import { agentWorld, aip } from '../helpers/agents.ts'
import { tempTree } from '../helpers/temp.ts'
import { placeAt } from '../helpers/effects.ts'
import { withScope } from '../../src/event/context.ts'

function world(
  agent: string,
  turns: readonly FakeTurn[] = [{ text: ['an answer'] }],
  files: { readonly [path: string]: string } = {},
) {
  const provider = createFakeProvider([...turns])
  return { provider, ...agentWorld({ 'a.aip': agent, ...files }, { provider }) }
}

function asked({ provider }: ReturnType<typeof world>): readonly (readonly [string, string])[] {
  return (provider.requests[0]?.messages ?? []).map((message) => [message.role, textOf(message)])
}

describe('prompt sections', () => {
  it('become messages in file order, in the roles of their headings', async () => {
    const here = world(
      '# Mind Trick\n\nI am calm.\n\n# system\n\nBe {{data.how}}.\n\n# Inst\n\nSay {{input}} to {{before_all.who}}.\n' +
        aip({
          'Before All': 'return { who = "me" }',
          Data: 'return { how = "brief" }',
          Output: 'return ai_response.content',
        }),
    )
    expect((await here.run('a', ['hi'])).outputs).toEqual(['an answer'])
    expect(asked(here)).toEqual([
      ['assistant', '\nI am calm.\n\n'],
      ['system', '\nBe brief.\n\n'],
      ['user', '\nSay hi to me.\n'],
    ])
  })

  it('are not sent when they render to nothing', async () => {
    const here = world('# System\n\n{{#if data.x}}never{{/if}}\n\n# User\n\nHi\n')
    await here.run('a')
    expect(asked(here)).toEqual([['user', '\nHi\n']])
  })

  it('accept options with templates', async () => {
    const here = world(
      '# System `cache = {{data.cache}}`\n\nS\n\n# User `cache = false`\n\nU\n' +
        aip({ Data: 'return { cache = true }' }),
    )
    await here.run('a')
    expect(here.provider.requests[0]?.messages).toEqual([
      { ...textMessage('system', '\nS\n\n'), cache: true },
      textMessage('user', '\nU\n'),
    ])
  })

  it('fail at their heading if the template or the option is invalid', async () => {
    await expect(world('# Title\n\n# User\n\n{{#if x}}\n').run('a')).rejects.toMatchObject({
      code: 'PROMPT_SYNTAX',
      place: { line: 5 },
    })
    await expect(world('# Title\n\n# User `cache = maybe`\n\nHi\n').run('a')).rejects.toMatchObject({
      code: 'PROMPT_SYNTAX',
      place: { line: 3 },
    })
  })
})

describe('the answer', () => {
  it('is the output when there is no Output section', async () => {
    expect((await world('# User\n\nHi\n').run('a')).outputs).toEqual(['an answer'])
  })

  it('has the structure that packs read', async () => {
    const turn = {
      text: ['an ', 'answer'],
      reasoning: ['because'],
      usage: { calls: 1, input: 11, output: 3, cached: 5, reasoning: 1 },
    }
    const { outputs } = await world(
      '# Options\n\n```toml\nmodel = "m"\ntemperature = 0.5\n```\n\n# User\n\nHi\n' +
        aip({ Output: 'return ai_response' }),
      [turn],
    ).run('a')
    expect(outputs[0]).toMatchObject({
      content: 'an answer',
      reasoning_content: 'because',
      model_name: 'm',
      usage: {
        prompt_tokens: 11,
        completion_tokens: 3,
        prompt_tokens_details: { cached_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
      duration_sec: expect.any(Number) as number,
      info: expect.stringMatching(/^Duration: [\d.]+s \| .* \| Model: m \| Adapter: /) as string,
    })
  })

  it('has its content without surrounding white space', async () => {
    const text = [' \u0085 é日😀\r\nx', ' \n\u3000']
    const said = '# User\n\nHi\n'
    const { outputs } = await world(said + aip({ Output: 'return ai_response.content' }), [{ text }]).run('a')
    expect(outputs).toEqual(['é日😀\r\nx'])
  })

  it('has no content when it is empty', async () => {
    const { outputs } = await world('# User\n\nHi\n' + aip({ Output: 'return { ai_response.content == nil }' }), [
      { text: [] },
    ]).run('a')
    expect(outputs).toEqual([[true]])
  })

  it('comes from the model in the options, through aliases with an effort suffix', async () => {
    const here = world(
      '# Options\n\n```toml\nmodel = "small-high"\ntemperature = 0.25\n[model_aliases]\nsmall = "tiny-1"\n```\n\n# User\n\nHi\n',
    )
    await here.run('a')
    expect(here.provider.requests[0]).toMatchObject({
      model: 'tiny-1',
      reasoning_effort: 'high',
      temperature: 0.25,
    })
  })
})

describe('dry runs, which children inherit', () => {
  const agent =
    '# User\n\nHi\n' +
    aip({ Output: 'return ai_response == nil and "nothing" or ai_response.content', 'After All': 'return "after"' })

  it('req asks no model, and runs Output and After All', async () => {
    const here = world(agent)
    const dry = withScope(here.context, { dry: 'req', at: placeAt('main') })
    const result = await here.context.services.agents.run(
      {
        kind: 'script',
        agent: { kind: 'aip', name: 'a', file: join(here.folder, 'a.aip'), text: agent },
        inputs: null,
        options: {},
      },
      dry,
    )
    expect(result).toMatchObject({ outputs: ['nothing'], afterAll: 'after' })
    expect(here.provider.requests).toEqual([])
  })

  it('res asks the model, and skips Output', async () => {
    const here = world(agent)
    const dry = withScope(here.context, { dry: 'res', at: placeAt('main') })
    const result = await here.context.services.agents.run(
      {
        kind: 'script',
        agent: { kind: 'aip', name: 'a', file: join(here.folder, 'a.aip'), text: agent },
        inputs: null,
        options: {},
      },
      dry,
    )
    expect(result).toMatchObject({ outputs: [null], afterAll: 'after' })
    expect(here.provider.requests).toHaveLength(1)
  })
})

describe('attachments', () => {
  async function attach(
    value: string,
    files: { readonly [path: string]: string | Uint8Array },
  ): Promise<ReturnType<typeof world>> {
    const here = world('# User\n\nHi\n' + aip({ Data: `return aip.flow.data_response({ attachments = ${value} })` }))
    for (const [path, content] of Object.entries(files)) writeFileSync(join(here.folder, path), content)
    await here.run('a')
    return here
  }

  it('come first, one message each, images as binary parts and text in quotes', async () => {
    const here = await attach(
      '{ { file_source = "a.png", title = "A picture" }, { file_source = "b.txt", file_name = "notes" } }',
      { 'a.png': new Uint8Array([137, 80]), 'b.txt': 'some text' },
    )
    expect(here.provider.requests[0]?.messages).toEqual([
      messageOf('user', 'Attached file: a.png\nName: a.png\nTitle: A picture', fileOf('a.png', 'image/png', 'iVA=')),
      textMessage('user', 'Attached file: b.txt\nName: notes\n\nsome text'),
      textMessage('user', '\nHi\n'),
    ])
  })

  it('may be a single table, and the model is told of a missing one', async () => {
    const here = await attach('{ file_source = "none.pdf" }', {})
    expect(asked(here)[0]?.[1]).toContain('It could not be read: there is no file none.pdf')
  })

  it('may be outside the workspace, also in ~/', async () => {
    const outside = tempTree({ 'b.txt': 'from outside' })
    for (const source of [join(outside, 'b.txt'), `~/${relative(homedir(), outside)}/b.txt`]) {
      const here = await attach(`{ file_source = "${source}" }`, {})
      expect(asked(here)[0]).toEqual(['user', `Attached file: ${source}\nName: b.txt\n\nfrom outside`])
    }
  })

  it('may be empty', async () => {
    for (const none of ['{}', 'null', 'nil']) expect(asked(await attach(none, {}))).toHaveLength(1)
  })

  it.each([
    ['{ { path = "x" } }', 'must be tables with a file_source'],
    ['{ { file_source = "x" }, "y" }', 'must be tables with a file_source'],
    ['5', 'must be tables with a file_source'],
    ['true', 'must be tables with a file_source'],
    ['""', 'must be tables with a file_source'],
    ['{ file_source = 7 }', 'have a file_source that is the number 7, not text'],
    ['{ file_source = "x", title = {} }', 'have a title that is a table, not text'],
  ])('cannot be %s, which is an error at the return of Data', async (value, problem) => {
    await expect(attach(value, {})).rejects.toMatchObject({
      code: 'SCRIPT_FAILED',
      message: `attachments of aip.flow.data_response ${problem}`,
      place: { line: 7, column: 8 },
    })
  })
})

it('runs several inputs concurrently and keeps their order', async () => {
  const here = world('# Options\n\n```toml\ninput_concurrency = 3\n```\n\n# User\n\n{{input}}\n', [
    { text: ['1'] },
    { text: ['2'] },
    { text: ['3'] },
  ])
  const { outputs } = await here.run('a', ['x', 'y', 'z'] as Json[])
  expect([...outputs].toSorted()).toEqual(['1', '2', '3'])
  expect(here.provider.requests.map(({ messages }) => textIn(messages[0]))).toEqual(['\nx\n', '\ny\n', '\nz\n'])
})
