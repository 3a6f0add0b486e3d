import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { parsePackRef } from '../../src/pack/pack-ref.ts'
import { parseSource } from '../../src/pack/source.ts'
import { compareToInstalled, isInstallable } from '../../src/pack/install.ts'
import { agentWorld, aip } from '../helpers/agents.ts'
import { luaResult } from './lua-calls.ts'

/** Whether the only message of an agent with this option after its heading is marked for the cache. */
async function cacheOf(option: string): Promise<boolean | undefined> {
  const provider = createFakeProvider([{ text: ['ok'] }])
  await agentWorld({ 'a.aip': `# User ${option}\n\nHi\n` }, { provider }).run('a')
  return provider.requests[0]?.messages[0]?.cache
}

describe('vectors of the format', () => {
  it.each([
    ['', undefined],
    ['``', undefined],
    ['`cache = true`', true],
    ['`{cache = true}`', true],
    ['`cache = true, concurrency = 123`', true],
    ['`cache = false`', undefined],
  ])('8: the part option %j marks the message as %s', async (option, expected) => {
    expect(await cacheOf(option)).toBe(expected)
  })

  it.each([
    ['`foo = true`', 'has no "cache"'],
    ['`cache = "yes"`', 'must set "cache" to true or false'],
  ])('9: the part option %s is an error at its heading', async (option, message) => {
    await expect(cacheOf(option)).rejects.toMatchObject({
      code: 'PROMPT_SYNTAX',
      message: `the option of this heading ${message}`,
      place: { line: 1, column: 9 },
    })
  })

  it('14: a reference without a namespace is valid here, all the others are invalid', () => {
    expect(parsePackRef('@name')).toEqual({ name: 'name', scope: 'pack' })
    for (const text of ['', '@', 'ns@', 'ns@/', 'ns@$base', '$base', '/']) {
      expect(() => parsePackRef(text), text).toThrow('is not a pack reference')
    }
  })

  it('17: Options are read, and omitted ones are nil', async () => {
    const { run } = agentWorld({
      'a.aip': aip({
        Options:
          'model = "gpt-5-mini"\ntemperature = 0.0\ninput_concurrency = 6\n[model_aliases]\nsmall = "gemini-2.5-flash"',
        Output: 'return { options = options, absent = options.allow_run_on_task_fail == nil }',
      }),
    })
    expect((await run('a')).outputs).toEqual([
      {
        options: {
          model: 'gpt-5-mini',
          resolved_model: 'gpt-5-mini',
          temperature: 0,
          input_concurrency: 6,
          model_aliases: { small: 'gemini-2.5-flash' },
        },
        absent: true,
      },
    ])
  })
})

describe('vectors of aip.flow', () => {
  it('19: before_all_response is a table with its kind and its data', async () => {
    expect(await luaResult('return { aip.flow.before_all_response(123) }')).toEqual([
      { _aipack_: { kind: 'BeforeAllResponse', data: 123 } },
    ])
  })

  it('20: skip contains the reason, if any', async () => {
    const code = 'return { aip.flow.skip("Not applicable"), aip.flow.skip()._aipack_ }'
    expect(await luaResult(code)).toEqual([
      { _aipack_: { kind: 'Skip', data: { reason: 'Not applicable' } } },
      expect.objectContaining({ kind: 'Skip' }),
    ])
    expect(await luaResult('local data = aip.flow.skip()._aipack_.data return data == nil or data.reason == nil')).toBe(
      true,
    )
  })

  it('21: redo_run is a table of kind Redo', async () => {
    expect(await luaResult('return aip.flow.redo_run()._aipack_.kind')).toBe('Redo')
  })
})

describe('vectors of installing', () => {
  it.each([
    ['1.0.0', '1.0.1', 'newer'],
    ['1.0.0', '1.0.0', 'same'],
    ['1.0.1', '1.0.0', 'older'],
    ['v1.0.0', '1.0.1', 'newer'],
    ['a', 'b', 'newer'],
  ])('89: over %s, %s is %s', (installed, version, order) => {
    expect(compareToInstalled(version, installed)).toBe(order)
  })

  it.each([
    ['0.1.0', true],
    ['0.1.1-alpha.1', true],
    ['v1.0.0-alpha.1', true],
    ['0.1.1-alpha', false],
    ['0.1.1-alpha.text', false],
    ['0.1.1-alpha.1.some', false],
  ])('90: %s may be installed: %s', (version, installable) => {
    expect(isInstallable(version)).toBe(installable)
  })

  const read = (text: string): unknown => parseSource(text, { cwd: '/work', home: '/home/me' })

  it.each([
    ['pro@coder', { kind: 'identity', identity: 'pro@coder' }],
    ['./path/p.aipack', { kind: 'path', path: '/work/path/p.aipack' }],
    ['git://h/t/p.git#a\\b', { kind: 'git', url: 'git://h/t/p.git', subdir: 'a/b' }],
  ])('91: %s is read', (text, source) => {
    expect(read(text)).toEqual(source)
  })

  it('91: an http address is an archive', () => {
    expect(read('https://h.example/dir/p.aipack')).toMatchObject({
      kind: 'url',
      url: expect.objectContaining({ href: 'https://h.example/dir/p.aipack' }),
    })
  })

  it.each(['#', '#/abs', '#n/../p'])('91: git://h/t/p.git%s is refused', (subdir) => {
    expect(() => read(`git://h/t/p.git${subdir}`)).toThrow('is not a folder in the repository')
  })
})
