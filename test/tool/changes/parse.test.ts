import { describe, expect, it } from 'vitest'
import { fileChangesInstruction } from '../../../src/tool/changes/instruction.ts'
import { parseChanges } from '../../../src/tool/changes/directive-reader.ts'

function inContainer(...lines: readonly string[]): string {
  return ['<FILE_CHANGES>', ...lines, '</FILE_CHANGES>', ''].join('\n')
}

function only(text: string): unknown {
  const { directives } = parseChanges(text)
  expect(directives).toHaveLength(1)
  return directives[0]
}

describe('parseChanges', () => {
  it('parses every directive, in order, with attributes in either quotes', () => {
    const { directives } = parseChanges(
      inContainer(
        '<FILE_NEW file_path="a.txt">',
        'one',
        '',
        'two',
        '</FILE_NEW>',
        "<FILE_PATCH file_path='b c.txt'>",
        '@@',
        '-x',
        '+y',
        '</FILE_PATCH>',
        '<FILE_APPEND file_path = "d.txt" >',
        '+',
        '</FILE_APPEND>',
        '<FILE_COPY from_path="e" to_path="f" />',
        '<FILE_RENAME to_path="h" from_path="g"/>',
        '<FILE_DELETE file_path="i" />',
      ),
    )
    expect(directives).toEqual([
      { kind: 'New', filePath: 'a.txt', content: 'one\n\ntwo\n' },
      { kind: 'Patch', filePath: 'b c.txt', content: '@@\n-x\n+y\n' },
      { kind: 'Append', filePath: 'd.txt', content: '+\n' },
      { kind: 'Copy', fromPath: 'e', filePath: 'f' },
      { kind: 'Rename', fromPath: 'g', filePath: 'h' },
      { kind: 'Delete', filePath: 'i' },
    ])
  })

  it('parses the bracket form, also with the later name of the container', () => {
    for (const name of ['FILE_CHANGES', 'UDIFFX_FILE_CHANGES']) {
      const text = [
        'Before.',
        `[[[${name}]]]`,
        '[[[FILE_NEW file_path="a.html"]]]',
        '<p>[[x]]</p>',
        '[[[/FILE_NEW]]]',
        '[[[FILE_DELETE file_path="b" /]]]',
        `[[[/${name}]]]`,
        'After.',
      ].join('\n')
      expect(parseChanges(text)).toEqual({
        directives: [
          { kind: 'New', filePath: 'a.html', content: '<p>[[x]]</p>\n' },
          { kind: 'Delete', filePath: 'b' },
        ],
        rest: 'Before.\n\nAfter.',
      })
    }
  })

  it('returns the text outside of all containers', () => {
    const text = `Hello.\n\n${inContainer('<FILE_DELETE file_path="a"/>')}\nMore.\n${inContainer('<FILE_DELETE file_path="b"/>')}Done.`
    expect(parseChanges(text)).toEqual({
      directives: [
        { kind: 'Delete', filePath: 'a' },
        { kind: 'Delete', filePath: 'b' },
      ],
      rest: 'Hello.\n\n\n\nMore.\n\nDone.',
    })
  })

  it('finds nothing in a text without container, and nothing in an empty one', () => {
    expect(parseChanges('')).toEqual({ directives: [], rest: '' })
    const prose =
      'The `<FILE_CHANGES>` block is missing.\n<FILE_CHANGES> is a tag.\n<FILE_NEW file_path="a">\nx\n</FILE_NEW>\n'
    expect(parseChanges(prose)).toEqual({ directives: [], rest: prose })
    expect(parseChanges('a\n<FILE_CHANGES>\n\n</FILE_CHANGES>\nb')).toEqual({ directives: [], rest: 'a\n\nb' })
  })

  it('removes a fence around the container with it, and keeps other fences', () => {
    const change = inContainer('<FILE_DELETE file_path="a"/>')
    expect(parseChanges(`Text\n\`\`\`xml\n${change}\`\`\`\nEnd`).rest).toBe('Text\n\nEnd')
    const between = `\`\`\`\nx\n\`\`\`\n${change}\`\`\`\ny\n\`\`\`\n`
    expect(parseChanges(between).rest).toBe('```\nx\n```\n\n```\ny\n```\n')
  })

  it('treats a quoted container as text', () => {
    const change = inContainer('<FILE_DELETE file_path="a"/>')
    const quoted = `Text\n\`\`\`md\n# How to\n${change}\`\`\`\nEnd`
    expect(parseChanges(quoted)).toEqual({ directives: [], rest: quoted })
    const repeated = inContainer('<FILE_PATCH file_path="a">', '@@', '-x', '+y', '</FILE_PATCH>')
    expect(parseChanges(`\`\`\`\nLike this:\n${repeated}\`\`\`\n${repeated}`).directives).toMatchObject([
      { kind: 'Patch', filePath: 'a' },
    ])
  })

  it('parses tags that share a line', () => {
    const text =
      'Go: <FILE_CHANGES><FILE_NEW file_path="a">x</FILE_NEW><FILE_DELETE file_path="b"/></FILE_CHANGES> done'
    expect(parseChanges(text)).toEqual({
      directives: [
        { kind: 'New', filePath: 'a', content: 'x' },
        { kind: 'Delete', filePath: 'b' },
      ],
      rest: 'Go:  done',
    })
  })

  it('parses directives without content that are opened and closed, or only opened', () => {
    const { directives } = parseChanges(
      inContainer(
        '<FILE_DELETE file_path="a"></FILE_DELETE>',
        '<FILE_DELETE file_path="b">',
        '</FILE_DELETE>',
        '<FILE_COPY from_path="c" to_path="d">',
        '<FILE_NEW file_path="empty" />',
      ),
    )
    expect(directives).toEqual([
      { kind: 'Delete', filePath: 'a' },
      { kind: 'Delete', filePath: 'b' },
      { kind: 'Copy', fromPath: 'c', filePath: 'd' },
      { kind: 'New', filePath: 'empty', content: '' },
    ])
  })

  it('removes a fence that wraps the whole content', () => {
    const fenced = (...lines: readonly string[]): unknown =>
      only(inContainer('<FILE_NEW file_path="a">', ...lines, '</FILE_NEW>'))
    expect(fenced('```ts', 'x', '```')).toMatchObject({ content: 'x\n' })
    expect(fenced('', '````md', '```js', 'x', '```', '```', 'y', '```', '````', '')).toMatchObject({
      content: '```js\nx\n```\n```\ny\n```\n',
    })
    expect(fenced('~~~', 'x', '~~~')).toMatchObject({ content: 'x\n' })
    expect(fenced('```js', 'x', '```', 'text', '```js', 'y', '```')).toMatchObject({
      content: '```js\nx\n```\ntext\n```js\ny\n```\n',
    })
    expect(fenced('```js', 'x')).toMatchObject({ content: '```js\nx\n' })
  })

  it('preserves line breaks, blanks and unicode in the content', () => {
    expect(
      only('<FILE_CHANGES>\r\n<FILE_NEW file_path="ä.txt">\r\n\t é \r\n\r\n</FILE_NEW>\r\n</FILE_CHANGES>'),
    ).toEqual({
      kind: 'New',
      filePath: 'ä.txt',
      content: '\t é \r\n\r\n',
    })
  })

  it('does not end a directive at a tag inside its content', () => {
    const content = (...lines: readonly string[]): unknown =>
      only(inContainer('<FILE_NEW file_path="doc.md">', ...lines, '</FILE_NEW>'))
    const inline = ['Write `</FILE_NEW>` at the end', 'x </FILE_NEW> y']
    expect(content(...inline)).toMatchObject({ content: `${inline.join('\n')}\n` })
    const nested = [
      'Example:',
      '<FILE_CHANGES>',
      '<FILE_NEW file_path="x">',
      'y',
      '</FILE_NEW>',
      '</FILE_CHANGES>',
      'z',
    ]
    expect(content(...nested)).toMatchObject({ kind: 'New', content: `${nested.join('\n')}\n` })
    const unpaired = ['a', '</FILE_NEW>', 'b']
    expect(content(...unpaired)).toMatchObject({ content: `${unpaired.join('\n')}\n` })
    expect(content('````', '<FILE_NEW file_path="x">', '````')).toMatchObject({ content: '<FILE_NEW file_path="x">\n' })
    expect(content('  </FILE_NEW>')).toMatchObject({ content: '  </FILE_NEW>\n' })
    expect(
      only(inContainer('<FILE_PATCH file_path="doc.md">', '@@', ' </FILE_PATCH>', '-a', '+b', '</FILE_PATCH>')),
    ).toMatchObject({ content: '@@\n </FILE_PATCH>\n-a\n+b\n' })
  })

  it('finds a closing tag that is indented or ends a line of content when there is no better one', () => {
    expect(parseChanges(inContainer('<FILE_NEW file_path="a">', 'x', '  </FILE_NEW>')).directives).toEqual([
      { kind: 'New', filePath: 'a', content: 'x\n' },
    ])
    const text = inContainer(
      '<FILE_NEW file_path="a">',
      'x',
      'y</FILE_NEW>',
      '<FILE_NEW file_path="b">',
      'z',
      '</FILE_NEW>',
    )
    expect(parseChanges(text).directives).toEqual([
      { kind: 'New', filePath: 'a', content: 'x\ny' },
      { kind: 'New', filePath: 'b', content: 'z\n' },
    ])
  })

  it('skips prose between directives', () => {
    const text = inContainer('Now:', '<FILE_DELETE file_path="a"/>', 'and', '<FILE_DELETE file_path="b"/>', 'if 1 < 2')
    expect(parseChanges(text).directives).toHaveLength(2)
  })
})

describe('parseChanges on faults', () => {
  it('reports an unclosed container, and still returns what is complete', () => {
    const text = 'Hi\n<FILE_CHANGES>\n<FILE_DELETE file_path="a"/>\n<FILE_NEW file_path="b">\ncut o'
    expect(parseChanges(text)).toEqual({
      directives: [
        { kind: 'Delete', filePath: 'a' },
        {
          kind: 'Fail',
          fault: 'malformed',
          filePath: 'b',
          reason: 'FILE_NEW is never closed with </FILE_NEW>',
          hunks: [],
        },
        {
          kind: 'Fail',
          fault: 'malformed',
          filePath: 'unknown',
          reason: 'FILE_CHANGES is never closed with </FILE_CHANGES>',
          hunks: [],
        },
      ],
      rest: 'Hi\n\ncut o',
    })
  })

  it('keeps the text after an empty unclosed container', () => {
    const text = 'Hi\n<FILE_CHANGES>\nSorry, no changes.\n'
    expect(parseChanges(text)).toMatchObject({ directives: [{ kind: 'Fail' }], rest: text })
  })

  it('parses a second container after an unclosed first one', () => {
    const text = `<FILE_CHANGES>\n<FILE_DELETE file_path="a"/>\n${inContainer('<FILE_DELETE file_path="b"/>')}`
    expect(parseChanges(text).directives).toMatchObject([{ filePath: 'a' }, { kind: 'Fail' }, { filePath: 'b' }])
  })

  it('ends an unclosed directive at the next one, if its container is closed', () => {
    for (const next of ['FILE_NEW', 'FILE_APPEND']) {
      const text = inContainer('<FILE_NEW file_path="a">', 'x', `<${next} file_path="b">`, 'y', `</${next}>`)
      expect(parseChanges(text).directives).toMatchObject([
        { kind: 'New', filePath: 'a', content: 'x\n' },
        { filePath: 'b', content: 'y\n' },
      ])
    }
    expect(parseChanges(inContainer('[[[FILE_NEW file_path="a"]]]', 'x')).directives).toEqual([
      { kind: 'New', filePath: 'a', content: 'x\n' },
    ])
  })

  it('parses tags that end with two brackets', () => {
    for (const [open, close] of [
      [']]', ']]]'],
      [']]]', ']]'],
      [']]', ']]'],
    ] as const) {
      const text = `[[[UDIFFX_FILE_CHANGES${open}\n[[[FILE_NEW file_path="a"${open}\nx]]\n[[[/FILE_NEW${close}\n[[[/UDIFFX_FILE_CHANGES${close}`
      expect(parseChanges(text)).toEqual({ directives: [{ kind: 'New', filePath: 'a', content: 'x]]\n' }], rest: '' })
    }
    expect(parseChanges('1\n[[[FILE_CHANGES]]]\n[[[/FILE_CHANGES]]]\n2\n').rest).toBe('1\n\n2\n')
  })

  it('reports unknown directives, and skips their content', () => {
    const text = inContainer(
      '<FILE_MOVE file_path="a">',
      'x',
      '</FILE_MOVE>',
      '<FILE_DELETE file_path="b"/>',
      '<NOTE/>',
    )
    expect(parseChanges(text).directives).toMatchObject([
      { kind: 'Fail', filePath: 'a', reason: expect.stringContaining('there is no directive FILE_MOVE') },
      { kind: 'Delete' },
      { kind: 'Fail', filePath: 'unknown', reason: expect.stringContaining('there is no directive NOTE') },
    ])
  })

  it('reports missing and empty attributes by name', () => {
    const text = inContainer(
      '<FILE_NEW>',
      'x',
      '</FILE_NEW>',
      '<FILE_PATCH path="a">',
      '@@',
      '</FILE_PATCH>',
      '<FILE_DELETE file_path=" " />',
      '<FILE_COPY from_path="a" />',
      '<FILE_RENAME to_path="b" />',
    )
    expect(parseChanges(text).directives).toMatchObject([
      { kind: 'Fail', reason: 'FILE_NEW needs the attribute file_path', filePath: 'unknown' },
      { kind: 'Fail', reason: 'FILE_PATCH needs the attribute file_path' },
      { kind: 'Fail', reason: 'FILE_DELETE needs the attribute file_path' },
      { kind: 'Fail', reason: 'FILE_COPY needs the attribute to_path', filePath: 'a' },
      { kind: 'Fail', reason: 'FILE_RENAME needs the attribute from_path', filePath: 'b' },
    ])
  })

  it('reports tags that cannot be parsed', () => {
    const text = inContainer('<FILE_DELETE file_path=a.txt />', '</FILE_NEW>')
    expect(parseChanges(text).directives).toMatchObject([
      { kind: 'Fail', reason: expect.stringContaining('<FILE_DELETE file_path=a.txt /> cannot be read') },
    ])
    expect(parseChanges(inContainer('</FILE_NEW>')).directives).toMatchObject([
      { kind: 'Fail', reason: '</FILE_NEW> closes nothing' },
    ])
  })

  it('reports the second patch of a file with its hunks', () => {
    const patch = (path: string): readonly string[] => [
      `<FILE_PATCH file_path="${path}">`,
      '@@',
      '-x',
      '+y',
      '</FILE_PATCH>',
    ]
    expect(parseChanges(inContainer(...patch('a'), ...patch('b'), ...patch('./a'))).directives).toMatchObject([
      { kind: 'Patch', filePath: 'a' },
      { kind: 'Patch', filePath: 'b' },
      {
        kind: 'Fail',
        filePath: './a',
        reason: './a already has a FILE_PATCH; put all hunks of a file into one',
        hunks: [{ body: '@@\n-x\n+y' }],
      },
    ])
  })

  it('parses a large answer', () => {
    const files = Array.from(
      { length: 2000 },
      (_, n) => `<FILE_NEW file_path="f${n}">\n${'line\n'.repeat(25)}</FILE_NEW>`,
    )
    expect(parseChanges(inContainer(...files)).directives).toHaveLength(2000)
  })
})

describe('fileChangesInstruction', () => {
  it('contains an example that is parsed as described', () => {
    const { directives } = parseChanges(fileChangesInstruction)
    expect(directives.map(({ kind, filePath }) => [kind, filePath])).toEqual([
      ['New', 'src/greeting.ts'],
      ['Patch', 'src/main.ts'],
      ['Append', 'docs/changes.md'],
      ['Copy', 'config/local.json'],
      ['Rename', 'src/text.ts'],
      ['Delete', 'src/old.ts'],
    ])
  })

  it('names the container and every directive', () => {
    for (const name of ['<FILE_CHANGES>', '<FILE_NEW', '<FILE_PATCH', '<FILE_APPEND', '<FILE_COPY', '<FILE_RENAME']) {
      expect(fileChangesInstruction).toContain(name)
    }
    expect(fileChangesInstruction).toContain('<FILE_DELETE')
  })
})
