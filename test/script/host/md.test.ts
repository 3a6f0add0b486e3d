import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { headingPattern, markdownSections, mdModule, splitFirstSection } from '../../../src/script/host/md.ts'
import { callFunction, hostSection } from './host-section.ts'

const { call, section } = hostSection('/')

function md(name: string, ...args: readonly LuaValue[]): readonly LuaValue[] {
  return call(mdModule, name, ...args)
}

async function meta(text: LuaValue): Promise<readonly LuaValue[]> {
  return callFunction({ module: mdModule, name: 'extract_meta' }, [text], section)
}

const blocks = 'Intro\n```lua\nprint("x")\n```\nmiddle\n```rust\nfn x() {}\n```\n````\n```\ninner\n```\n````\nend'

describe('aip.md.extract_blocks', () => {
  it('returns all blocks', () => {
    expect(md('extract_blocks', blocks)).toEqual([
      [
        { _type: 'MdBlock', lang: 'lua', content: 'print("x")\n' },
        { _type: 'MdBlock', lang: 'rust', content: 'fn x() {}\n' },
        { _type: 'MdBlock', lang: '', content: '```\ninner\n```\n' },
      ],
    ])
  })

  it('returns those of one language, and the text without them', () => {
    expect(md('extract_blocks', blocks, 'lua')[0]).toHaveLength(1)
    const [found, rest] = md('extract_blocks', blocks, { lang: 'lua', extrude: 'content' })
    expect(found).toHaveLength(1)
    expect(rest).toBe('Intro\nmiddle\n```rust\nfn x() {}\n```\n````\n```\ninner\n```\n````\nend\n')
    expect(md('extract_blocks', blocks, 'Lua')[0]).toEqual([])
    expect(md('extract_blocks', blocks, { extrude: 'content' })[1]).toBe('Intro\nmiddle\nend\n')
  })

  it('ignores an unclosed fence, and loses nothing', () => {
    expect(md('extract_blocks', 'a\n```lua\nx', { extrude: 'content' })).toEqual([[], 'a\n```lua\nx\n'])
    expect(md('extract_blocks', '')).toEqual([[]])
  })

  it('accepts any number of lines', () => {
    const text = `\`\`\`\n${'a\n'.repeat(500_000)}`
    expect(md('extract_blocks', text, { extrude: 'content' })).toEqual([[], text])
  })

  it('refuses wrong arguments', () => {
    expect(() => md('extract_blocks', undefined)).toThrow(
      'aip.md.extract_blocks: argument 1 must be a string, but was nil',
    )
    expect(() => md('extract_blocks', '', { extrude: 'all' })).toThrow('must be "content", but was "all"')
    expect(() => md('extract_blocks', '', 5)).toThrow('must be a language or a table, but were number')
  })
})

describe('aip.md.extract_meta', () => {
  it('merges the meta blocks, later ones override, and keeps other blocks in the text', async () => {
    const text = [
      'a',
      '```toml',
      '#!meta',
      'some = "stuff"',
      'n = 1',
      '```',
      'b',
      '```json',
      '//!meta',
      '{"n": 2, "list": [null]}',
      '```',
      '```toml',
      'other = 1',
      '```',
      '```yml',
      ' #!meta x',
      'y: {z: 3}',
      '```',
      'c',
      '',
    ].join('\n')
    expect(await meta(text)).toEqual([
      { some: 'stuff', n: 2, list: [null], y: { z: 3 } },
      'a\nb\n```toml\nother = 1\n```\nc',
    ])
  })

  it('returns an empty table without meta blocks, and nil for nil', async () => {
    expect(await meta('text\n```toml\nx = 1\n```')).toEqual([{}, 'text\n```toml\nx = 1\n```'])
    expect(await meta('```toml\n#!meta\nx = 1')).toEqual([{}, '```toml\n#!meta\nx = 1'])
    expect(await meta('')).toEqual([{}, ''])
    expect(await meta(undefined)).toEqual([undefined, undefined])
  })

  it.each([
    ['toml', 'x = = 1', /the meta block is not valid TOML.*\(line 4 of the text\)/],
    ['yaml', 'a: [', /the meta block is not valid YAML/],
    ['json', '{a: 1}', /the meta block is not valid JSON: expected a key but found "a: 1}" \(line 4 of the text\)/],
  ])('locates an error in a %s block', async (lang, body, message) => {
    await expect(meta(`one\n\`\`\`${lang}\n#!meta\n${body}\n\`\`\`\n`)).rejects.toThrow(message)
  })
})

describe('aip.md.extract_meta of a large text', () => {
  it('accepts any number of fences and lines', async () => {
    const fences = '```\n'.repeat(250_000)
    const lines = `\`\`\`\n${'a\n'.repeat(500_000)}`
    for (const text of [fences, lines]) expect((await meta(text))[1]).toBe(text.slice(0, -1))
  })
})

describe('aip.md.extract_refs', () => {
  it('distinguishes URLs, files and anchors, links and images', () => {
    const text =
      '[this link](https://example.com) and [docs](docs/page.md)\n![image](assets/photo.jpg) [go](#my-section)\n[x](//example.com) [](empty.md)'
    expect(md('extract_refs', text)).toEqual([
      [
        { _type: 'MdRef', target: 'https://example.com', text: 'this link', inline: false, kind: 'Url' },
        { _type: 'MdRef', target: 'docs/page.md', text: 'docs', inline: false, kind: 'File' },
        { _type: 'MdRef', target: 'assets/photo.jpg', text: 'image', inline: true, kind: 'File' },
        { _type: 'MdRef', target: '#my-section', text: 'go', inline: false, kind: 'Anchor' },
        { _type: 'MdRef', target: '//example.com', text: 'x', inline: false, kind: 'Url' },
        { _type: 'MdRef', target: 'empty.md', text: undefined, inline: false, kind: 'File' },
      ],
    ])
  })

  it('skips fences and inline code, and incomplete references', () => {
    const text = '```\n[a](b)\n```\n`[c](d)` [e](f) `x` [g](h)\n[no target]() [no] (gap) [open](x\n[[n](m)'
    const [refs] = md('extract_refs', text)
    expect(refs).toMatchObject([{ target: 'f' }, { target: 'h' }, { target: 'm' }])
    expect(md('extract_refs', undefined)).toEqual([[]])
    expect(md('extract_refs', '')).toEqual([[]])
  })

  it('is not slowed down by a line of brackets', () => {
    expect(md('extract_refs', '['.repeat(500_000))).toEqual([[]])
    expect(md('extract_refs', '[]'.repeat(200_000))).toEqual([[]])
  })
})

describe('aip.md.outer_block_content_or_raw', () => {
  it.each([
    ['```\n```\nText before.\nText after.', '\n'],
    ['Text\n```\nx\n```', 'Text\n```\nx\n```'],
    ['\n ```md\n# a\n```js\nx\n```\nb\n```\n', '# a\n```js\nx\n```\nb\n'],
    ['  plain ', '  plain '],
    ['```only', '```only'],
    ['', ''],
  ])('handles %j', (given, expected) => {
    expect(md('outer_block_content_or_raw', given)).toEqual([expected])
  })
})

const document =
  'Preface\n\n# Heading 1\nsome text\n## sub heading 1-a\ninner\n```md\n# not a heading\n```\n## sub heading 1-b  \nmore\n# Heading 2\n# Heading 3\nlast'

function sections(...headings: readonly string[]): unknown {
  const patterns = headings.map((heading) => headingPattern(heading) ?? { level: 9, name: '' })
  return markdownSections(document, patterns).map(({ heading, content }) => [heading?.name, content])
}

describe('markdown sections', () => {
  it('are one per heading without a filter, each with exactly its text', () => {
    const all = markdownSections(document)
    expect(all.map(({ heading }) => heading?.name)).toEqual([
      undefined,
      'Heading 1',
      'sub heading 1-a',
      'sub heading 1-b',
      'Heading 2',
      'Heading 3',
    ])
    expect(all.map(({ headingRaw, content }) => headingRaw + content).join('')).toBe(document)
    expect(markdownSections('')).toEqual([])
  })

  it('include their deeper headings with a filter', () => {
    expect(sections('# Heading 1')).toEqual([
      ['Heading 1', 'some text\n## sub heading 1-a\ninner\n```md\n# not a heading\n```\n## sub heading 1-b  \nmore\n'],
    ])
    expect(sections('## sub heading 1-a')).toEqual([['sub heading 1-a', 'inner\n```md\n# not a heading\n```\n']])
    expect(sections('')).toEqual([[undefined, 'Preface\n\n']])
    expect(sections('# heading 1', '### Heading 1')).toEqual([])
  })

  it('that directly follow each other are all found', () => {
    expect(sections('# Heading 2', '# Heading 3', '## sub heading 1-b')).toEqual([
      ['sub heading 1-b', 'more\n'],
      ['Heading 2', ''],
      ['Heading 3', 'last'],
    ])
  })

  it.each(['#x', ' # x', '####### x', '#', 'x'])('%j is not a heading', (line) => {
    expect(headingPattern(line)).toBeUndefined()
  })

  it('can be split after the first one so that the parts rebuild the text', () => {
    for (const text of [document, '# a\nb\n# c\n', '# a', 'plain\n', '', '# a\r\nb\r\n## c']) {
      const { first, after } = splitFirstSection(text)
      expect((first?.headingRaw ?? '') + (first?.content ?? '') + after).toBe(text)
    }
    expect(splitFirstSection('# a\nb\n# c\n')).toMatchObject({
      first: { heading: { name: 'a' }, content: 'b\n' },
      after: '# c\n',
    })
  })
})
