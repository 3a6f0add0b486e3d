import { describe, expect, it } from 'vitest'
import { codeFrame } from '../../src/base/code-frame.ts'
import { isBatonError } from '../../src/base/error.ts'
import { sha256 } from '../../src/base/hash.ts'
import { hashPrompt, parsePrompt, placeOf } from '../../src/prompt/document.ts'

const fence = '```'

/** The error as displayed. */
async function failure(text: string): Promise<string> {
  const error: unknown = await parsePrompt('p.md', text).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isBatonError(error)) return `no BatonError but ${String(error)}`
  const { code, message, hint, place } = error
  const frame = codeFrame(place?.text ?? '', { line: place?.line ?? 0, column: place?.column ?? 0 }, { context: 1 })
  return `${code} ${message}\n${frame}\n${hint}`
}

describe('front matter that is not in the first line', () => {
  const blocks = [
    ['TOML', '+++\nmodel = "m"\n+++\n'],
    ['YAML', '---\nmodel: m\n---\n'],
  ] as const

  it.each([
    ['a comment', '<!-- licence -->\n'],
    ['a comment of several lines, and empty lines', '\n<!--\nvim: tw=80\n+++\n-->\n\n<!-- b --> <!-- c -->\n\n'],
    ['a line for the system', '#!/usr/bin/env baton\n'],
    ['two byte order marks', '\uFEFF\uFEFF'],
    ['a byte order mark and a comment with other line ends', '\uFEFF<!-- c -->\r\n'],
  ])('is read below %s, with the line numbers of the file', async (_, above) => {
    for (const [, block] of blocks) {
      const document = await parsePrompt('p.md', `${above}${block}\nDo it.\n\n====\nsaid\n`)
      expect(document.meta.data).toEqual({ model: 'm' })
      const count = above.split('\n').length - 1
      expect(document).toMatchObject({ instruction: 'Do it.', instructionLine: count + 5, transcriptLine: count + 7 })
      expect(await placeOf(document, ['model'])).toMatchObject({ line: count + 2 })
      expect(hashPrompt(`${above}${block}\nDo it.\n\n====\nother\n`)).toBe(document.hash)
    }
  })

  it.each([
    ['a heading', '# Review\n'],
    ['a licence', 'Copyright 2026 Somebody\n\nAll rights reserved.\n\n'],
    ['a comment that is not closed', '<!-- licence\n'],
    ['a comment and text', '<!-- licence -->\nReview.\n\n'],
    ['a line that starts like one for the system', '#! baton\n'],
  ])('is an error below %s, where it would be ignored', async (_, above) => {
    for (const [language, block] of blocks) {
      const error = await parsePrompt('p.md', `${above}${block}Do it.\n`).catch((reason: unknown) => reason)
      expect(error, language).toMatchObject({
        code: 'PROMPT_SYNTAX',
        message: expect.stringContaining('not at the start of the file'),
        hint: expect.stringContaining('code fence'),
        place: { file: 'p.md', line: above.split('\n').length, column: 1 },
      })
    }
  })

  it('is an error if its marks are indented', async () => {
    expect(await failure('  +++\nbudget = { usd = 1 }\n  +++\nDo it.\n')).toContain('not at the start of the file')
  })

  it('that is not closed, or not valid, is an error below a comment too', async () => {
    expect(await failure('<!-- c -->\n+++\nmodel = "m"\nDo it.\n')).toContain('starts with +++ but is not closed')
    expect(await failure('<!-- c -->\n---\nmodel: m\n\nDo it.\n')).toContain('starts with --- but is not closed')
    expect(await failure('<!-- c -->\n+++\nmodel = \n+++\nDo it.\n')).toContain('> 3 | model =')
  })

  it.each([
    ['rules between paragraphs', 'One.\n\n---\n\nmodel of the world: none\n\n---\n\nTwo.'],
    ['a comment above a rule', '<!-- c -->\n---\nNote: a model.\n---\nTwo.'],
    ['a heading that is underlined', 'model\n---\n\nOne.'],
    ['a block without a reserved key', 'One.\n+++\nx = 1\n+++\nTwo.'],
    ['a block that cannot be parsed', 'One.\n+++\nmodel = \n+++\nTwo.'],
    ['a block in a fence', `One.\n${fence}\n+++\nmodel = "m"\n+++\n${fence}\nTwo.`],
    ['a block that is not closed', 'One.\n+++\nmodel = "m"\nTwo.'],
    ['an answer', 'One.\n\n====\n---\nmodel: m\n---'],
  ])('is not %s, which is text', async (_, text) => {
    const document = await parsePrompt('p.md', text)
    expect(document.meta.language).toBe('none')
    expect(document.instruction).toBe(text.split('\n\n====')[0])
  })

  it('is not a second block below front matter', async () => {
    const document = await parsePrompt('p.md', '+++\n+++\nWrite:\n\n---\nname: x\n---')
    expect(document.instruction).toBe('Write:\n\n---\nname: x\n---')
  })
})

describe('the three forms of front matter', () => {
  it('reads TOML between +++ lines', async () => {
    const document = await parsePrompt('p.md', '+++\nmodel = "m"\n+++\n\nDo it.\n\nNow.\n\n')
    expect(document.meta).toMatchObject({ data: { model: 'm' }, language: 'toml' })
    expect(document).toMatchObject({ instruction: 'Do it.\n\nNow.', instructionLine: 5 })
  })

  it('reads YAML between --- lines', async () => {
    const document = await parsePrompt('p.md', '---\nmodel: m\n---\nDo it.')
    expect(document.meta).toMatchObject({ data: { model: 'm' }, language: 'yaml' })
    expect(document).toMatchObject({ instruction: 'Do it.', instructionLine: 4 })
  })

  it.each(['toml', 'TOML'])('reads a fenced %s block that begins with #!meta anywhere', async (language) => {
    const text = `Before.\n\n${fence}${language}\n#!meta\nmodel = "m"\n${fence}\n\nAfter.\n`
    const document = await parsePrompt('p.md', text)
    expect(document.meta).toMatchObject({ data: { model: 'm' }, language: 'toml' })
    expect(document).toMatchObject({ instruction: 'Before.\n\n\nAfter.', instructionLine: 1 })
  })

  it.each(['yaml', 'yml'])('reads a fenced %s block that begins with //!meta', async (language) => {
    const document = await parsePrompt('p.md', `~~~~${language}\n//!meta (parameters)\nmodel: m\n~~~~\nGo.`)
    expect(document.meta).toMatchObject({ data: { model: 'm' }, language: 'yaml' })
    expect(document).toMatchObject({ instruction: 'Go.', instructionLine: 5 })
  })

  it('takes a file without front matter as an instruction alone', async () => {
    const document = await parsePrompt('p.md', `\n  Hello\n${fence}toml\nmodel = "m"\n${fence}\n`)
    expect(document.meta.data).toEqual({})
    expect(document.meta.language).toBe('none')
    expect(document.instruction).toBe(`  Hello\n${fence}toml\nmodel = "m"\n${fence}`)
    expect(document).toMatchObject({ instructionLine: 2 })
  })

  it('allows a byte order mark, leading empty lines, CRLF and blanks after the marks', async () => {
    const document = await parsePrompt('p.md', '\uFEFF\r\n \r\n+++ \r\nmodel = "m"\r\n+++\t\r\nA\r\nB\r\n')
    expect(document.meta.data).toStrictEqual({ model: 'm' })
    expect(document).toMatchObject({ instruction: 'A\nB', instructionLine: 6 })
  })

  it('reads empty front matter and an empty file', async () => {
    const empty = await parsePrompt('p.md', '+++\n+++\n')
    expect([empty.instruction, empty.meta.data]).toEqual(['', {}])
    expect(await parsePrompt('p.md', '')).toMatchObject({ instruction: '', meta: { language: 'none' } })
  })

  it('finds keys and values in the Markdown file', async () => {
    const text = `Text.\n${fence}toml\n#!meta\nmodel = "m"\n[lua]\n  timeout = "5s"\n${fence}\n`
    const document = await parsePrompt('p.md', text)
    expect(await placeOf(document, ['lua', 'timeout'])).toStrictEqual({
      file: 'p.md',
      text,
      line: 6,
      column: 3,
      endLine: 6,
      endColumn: 10,
    })
    expect(await placeOf(document, ['lua', 'timeout'], 'value')).toMatchObject({ line: 6, column: 13 })
  })
})

describe('errors in front matter', () => {
  it('report an unclosed +++', async () => {
    expect(await failure('+++\nmodel = "m"\n\nText')).toMatchInlineSnapshot(`
      "PROMPT_SYNTAX the front matter starts with +++ but is not closed
      > 1 | +++
          | ^
        2 | model = "m"
      End it with a line +++."
    `)
  })

  it('report an unclosed ---', async () => {
    expect(await failure('---\nmodel: m')).toMatch(/^PROMPT_SYNTAX the front matter starts with --- but is not closed/)
  })

  it('have the position of a TOML error in the Markdown file', async () => {
    expect(await failure('\n+++\nmodel = "m"\ntemperature = \n+++\n')).toMatchInlineSnapshot(`
      "PROMPT_SYNTAX the front matter is not valid TOML: invalid value
        3 | model = "m"
      > 4 | temperature =
          |               ^
        5 | +++
      Write a value after the =, or remove the key."
    `)
  })

  it('have the position of a YAML error in the Markdown file', async () => {
    expect(await failure(`Text\n\n${fence}yaml\n#!meta\nmodel: [m\n${fence}\n`)).toMatchInlineSnapshot(`
      "PROMPT_SYNTAX the front matter is not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]
        4 | #!meta
      > 5 | model: [m
          |          ^
        6 | \`\`\`
      Write one key: value on each line, indented by spaces."
    `)
  })

  it('name both places of two blocks', async () => {
    expect(await failure(`+++\n+++\nText\n${fence}toml\n#!meta\n${fence}\n`)).toMatchInlineSnapshot(`
      "PROMPT_SYNTAX the file has front matter twice: on line 1 and on line 4
        3 | Text
      > 4 | \`\`\`toml
          | ^
        5 | #!meta
      Put all keys into one block."
    `)
    const twice = `${fence}toml\n#!meta\n${fence}\n`
    expect(await failure(twice + twice)).toMatch(/front matter twice: on line 1 and on line 4\n/)
  })

  it('include #!meta in another language or without an end', async () => {
    expect(await failure(`${fence}json\n#!meta\n{}\n${fence}\n`)).toMatch(/the #!meta block has the language "json"/)
    expect(await failure(`${fence}\n#!meta\n${fence}\n`)).toMatch(/the #!meta block has no language/)
    expect(await failure(`a\n${fence}toml\n#!meta\nx = 1\n`)).toMatch(/the #!meta block is not closed\n.*\n> 2/)
  })

  it('include front matter that is far too long', async () => {
    expect(await failure(`+++\n${'#\n'.repeat(600_000)}+++\n`)).toMatch(/the front matter is longer than 1 MB/)
  })
})

describe('the transcript', () => {
  it.each([
    ['after an empty line', '+++\n+++\nDo it.\n\n====\n> answer', 'Do it.', 5],
    ['after nothing', '+++\n+++\n====\n> answer', '', 3],
    ['at the start of a file without front matter', '====\n> answer', '', 1],
    ['with CRLF', '+++\r\n+++\r\nDo it.\r\n\r\n====\r\n> answer', 'Do it.', 5],
    ['right below text in a #!meta file', `${fence}toml\n#!meta\n${fence}\nDo it.\n====\n> answer`, 'Do it.', 5],
  ])('begins at ==== %s', async (_, text, instruction, transcriptLine) => {
    expect(await parsePrompt('p.md', text)).toMatchObject({ instruction, transcriptLine })
  })

  it.each([
    ['a Setext heading', 'Title\n====\nText'],
    ['a longer line', 'Text\n\n=====\nmore'],
    ['an indented line', 'Text\n\n ====\nmore'],
    ['a line in a fence', `Text\n${fence}\n\n====\n${fence}`],
    ['a line in a tilde fence with backticks inside', `~~~\n${fence}\n\n====\n~~~`],
    ['a line in a fence of a list', `- a\n  ${fence}js\n\n====\n  ${fence}`],
    ['a Setext heading above a #!meta block', `Title\n====\n${fence}toml\n#!meta\n${fence}\nText`],
  ])('does not begin at %s', async (_, text) => {
    const document = await parsePrompt('p.md', text)
    expect(document.transcriptLine).toBeUndefined()
    expect(document.instruction.split('\n').at(-1)).toBe(text.split('\n').at(-1))
  })

  it('hides #!meta blocks of answers', async () => {
    const document = await parsePrompt('p.md', `Do it.\n\n====\n\n${fence}toml\n#!meta\nmodel = 1\n${fence}\n`)
    expect(document).toMatchObject({ instruction: 'Do it.', meta: { language: 'none' } })
  })

  it('does not change the hash, which covers only the text above it', async () => {
    const above = '+++\nmodel = "m"\n+++\nDo it.\n\n'
    const first = await parsePrompt('p.md', `${above}====\n> one`)
    const second = await parsePrompt('p.md', `${above}====\n> two\n\n====\nmore`)
    expect(first.hash).toBe(second.hash)
    expect(first.hash).toBe(sha256(above))
    expect((await parsePrompt('p.md', `${above}x\n\n====\n> one`)).hash).not.toBe(first.hash)
  })
})

describe('the hash of the relevant text', () => {
  it.each([
    ['Ask.\n'],
    ['Ask.\n\n====\nanswer\n'],
    ['+++\nmodel = "m"\n+++\nAsk.\n\n====\nanswer\n'],
    ['\uFEFF---\nmodel: m\n---\nAsk.\r\n\r\n====\r\nanswer\r\n'],
    ['```toml\n#!meta\nmodel = "m"\n```\nAsk.\n====\nanswer\n'],
    [''],
  ])('is that of the document: %j', async (text) => {
    expect(hashPrompt(text)).toBe((await parsePrompt('a.md', text)).hash)
  })

  it('changes with the text above the line but not with the text below', () => {
    expect(hashPrompt('Ask.\n\n====\none\n')).toBe(hashPrompt('Ask.\n\n====\ntwo\n'))
    expect(hashPrompt('Ask.\n\n====\none\n')).not.toBe(hashPrompt('Ask!\n\n====\none\n'))
  })

  it('covers the whole text if the front matter is not closed', () => {
    expect(hashPrompt('+++\nmodel = "m"\n\n====\none\n')).not.toBe(hashPrompt('+++\nmodel = "m"\n\n====\ntwo\n'))
  })
})
