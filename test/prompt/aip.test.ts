import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import { parseAip, readTable } from '../../src/prompt/aip.ts'

// Vectors are those of docs/aipack.md "Vectors".
const fence = '```'

function lua(code: string): string {
  return `${fence}lua\n${code}\n${fence}\n`
}

function code(text: string | undefined): string | undefined {
  return text?.replace(/^\n+/, '')
}

describe('headings', () => {
  it('name the roles of prompt parts in any case (vector 1)', () => {
    const names = ['system', 'Inst', 'INSTRUCTION', 'User', 'Assistant', 'Jedi Trick', 'Mind Trick', 'Model']
    const { parts } = parseAip('a.aip', names.map((name) => `# ${name}\ntext\n`).join(''))
    expect(parts.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'user',
      'user',
      'assistant',
      'assistant',
      'assistant',
      'assistant',
    ])
  })

  it('need no space (vector 2)', () => {
    expect(code(parseAip('a.aip', `#Data\n${lua('return 1')}`).data?.text)).toBe('return 1\n')
  })

  it('are ignored inside fences (vector 3)', () => {
    const { parts } = parseAip('a.aip', `# User\n${fence}\n# not a section\n${fence}\n`)
    expect(parts).toEqual([{ role: 'user', line: 1, content: `${fence}\n# not a section\n${fence}\n` }])
  })

  it('end a part even if they are unknown, and hide the text below (vector 4)', () => {
    const { parts } = parseAip('a.aip', '# User\nkept\n# Whatever\ndropped\n#\ndropped\n')
    expect(parts.map(({ content }) => content)).toEqual(['kept\n'])
  })

  it('are content when they are deeper', () => {
    const [part] = parseAip('a.aip', '# User\n\n## Deeper\n').parts
    expect(part?.content).toBe('\n## Deeper\n')
  })

  it('of code allow no further words', () => {
    const document = parseAip('a.aip', `# Data \`x\`\n${lua('return 1')}# Constructor\n${lua('return 2')}`)
    expect(document).toEqual({ file: 'a.aip', parts: [] })
  })

  it('start parts that keep their order (vector 6)', () => {
    const { parts } = parseAip('a.aip', '# System\na\n# User\nb\n# System\nc\n')
    expect(parts.map(({ role, content, line }) => [role, content, line])).toEqual([
      ['system', 'a\n', 1],
      ['user', 'b\n', 3],
      ['system', 'c\n', 5],
    ])
  })

  it.each([
    ['# System `cache = true`', 'cache = true'],
    ['# System `{Cache = true}` and `more`', '{cache = true}'],
    ['# System ``', ''],
    ['# System', undefined],
    ['# System `open', undefined],
  ])('carry options: %s (vector 8)', (heading, optionText) => {
    expect(parseAip('a.aip', `${heading}\nx`).parts[0]).toMatchObject({ role: 'system' })
    expect(parseAip('a.aip', `${heading}\nx`).parts[0]?.optionText).toBe(optionText)
  })
})

describe('code', () => {
  it('may contain shorter fences (vector 5)', () => {
    const text = `# Data\n${fence}\`lua\nlocal s = [[\n${fence}\nx\n${fence}\n]]\n${fence}\`\n`
    expect(code(parseAip('a.aip', text).data?.text)).toBe(`local s = [[\n${fence}\nx\n${fence}\n]]\n`)
  })

  it('of repeated headings is one script with the line numbers of the file (vector 7)', () => {
    const text = `# Data\n${lua('local a = 1')}\n# Output\n${lua('return 0')}\n# Data\n${lua('return a')}`
    const { data, output } = parseAip('a.aip', text)
    const lines = text.split('\n')
    for (const block of [data, output]) {
      for (const [index, line] of (block?.text ?? '').split('\n').entries())
        if (line !== '') expect(line).toBe(lines[index])
    }
    expect(data?.line).toBe(3)
    expect(data?.text.split('\n').filter((line) => line !== '')).toEqual(['local a = 1', 'return a'])
  })

  it('comes only from the first fence of a heading', () => {
    const { data } = parseAip('a.aip', `# Data\nwords\n${fence}js\n1\n${fence}\n${lua('return 1')}${lua('return 2')}`)
    expect(code(data?.text)).toBe('return 1\n')
  })

  it('ends at any line of three backticks, because the format has no nesting', () => {
    const { data } = parseAip('a.aip', `# Data\n${fence}lua\nreturn 1\n${fence}json\n# Output\n${lua('return 2')}`)
    expect(code(data?.text)).toBe('return 1\n')
  })

  it.each([
    [`${fence}luau\nreturn 1\n${fence}\n`, 'return 1\n'],
    [`${fence}\`\`lua\nreturn 1\n${fence}\`\`\n`, undefined],
    [` ${fence}lua\nreturn 1\n ${fence}\n`, undefined],
    [`~~~lua\nreturn 1\n~~~\n`, undefined],
    [`${fence}lua\n${fence}\n`, undefined],
    [`${fence}lua\n\n${fence}\n`, ''],
    [`${fence}lua\r\nreturn 1\r\n${fence}\r\n`, 'return 1\n'],
  ])('of %j is %j', (text, expected) => {
    expect(code(parseAip('a.aip', `# Before All\n${text}`).beforeAll?.text)).toBe(expected)
  })

  it('of a file with a byte order mark keeps its lines', () => {
    expect(parseAip('a.aip', `\uFEFF# After All\n${lua('return 1')}`).afterAll).toEqual({
      text: '\n\nreturn 1\n',
      line: 3,
    })
  })

  it('extends to the end of the file if its fence is not closed', () => {
    expect(code(parseAip('a.aip', `# Data\n${fence}lua\nreturn 1\n# Output`).data?.text)).toBe('return 1\n# Output\n')
  })
})

describe('options', () => {
  const text = `# Options\n${fence}toml\nmodel = "gpt-5-mini"\ntemperature = 0.0\n${fence}\n\n# Options\n${fence}toml\ninput_concurrency = 6\nmodel_aliases = { small = "gemini-2.5-flash" }\n${fence}\n`

  it('are one TOML document (vector 17)', async () => {
    const { options } = parseAip('a.aip', text)
    expect(options && (await readTable('a.aip', text, options)).data).toStrictEqual({
      model: 'gpt-5-mini',
      temperature: 0,
      input_concurrency: 6,
      model_aliases: { small: 'gemini-2.5-flash' },
    })
  })

  it('with an error are reported at their line in the agent file', async () => {
    const twice = text.replace('input_concurrency', 'model')
    const { options } = parseAip('a.aip', twice)
    const error: unknown = await readTable('a.aip', twice, options ?? { text: '', line: 1 }).catch(
      (reason: unknown) => reason,
    )
    expect(isBatonError(error) && error).toMatchObject({
      code: 'PROMPT_SYNTAX',
      message: 'the Options section is not valid TOML: trying to redefine an already defined table or value',
      place: { file: 'a.aip', line: 9, column: 1 },
    })
  })
})

it('text before the first heading is ignored, and every text is a valid file', () => {
  expect(parseAip('a.aip', `intro\n${lua('return 1')}`)).toEqual({ file: 'a.aip', parts: [] })
  expect(parseAip('a.aip', '')).toEqual({ file: 'a.aip', parts: [] })
  expect(parseAip('a.aip', '# User').parts).toEqual([{ role: 'user', line: 1, content: '\n' }])
})
