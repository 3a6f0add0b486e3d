import { describe, expect, it } from 'vitest'
import { type Message, textMessage } from '../../src/event/message.ts'
import { createOfflineProvider, extractiveAnswer, splitFiles, splitPassages, wordsOf } from '../../src/model/offline.ts'
import { quoteFiles } from '../../src/run/messages.ts'
import { describeModelProvider } from '../contract/model-provider.ts'

const tokenSource = `import { clock } from './clock.ts'

/** Refreshes the token. */
export function refreshToken(token) {
  const now = clock()

  return now > token.expires ? renew(token) : token
}

export function parseColor(text) {
  const digits = text.slice(1)
  const value = parseInt(digits, 16)
  return { value }
}
`

function block(path: string, content: string): string {
  return `<file path="${path}">\n${content}\n</file>`
}

function ask(instruction: string, ...files: readonly string[]): Message[] {
  return [
    textMessage('system', 'You are careful.'),
    textMessage('user', files.join('\n')),
    textMessage('user', instruction),
  ]
}

describeModelProvider('createOfflineProvider', async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `token line ${index}`).join('\n')
  return {
    provider: createOfflineProvider(),
    request: { model: 'offline::extractive', messages: ask('token', block('a.md', lines)) },
  }
})

describe('the answer', () => {
  it('quotes the most relevant function, with its actual lines, and says first that no model wrote it', () => {
    const files = [block('src/auth.ts', tokenSource), block('src/color.ts', '// colors\nexport const red = 1\n')]
    expect(extractiveAnswer(ask('How are tokens refreshed?', ...files))).toBe(
      `These passages of the 2 given files were found by full-text ranking against the instruction and are quoted as they are; they were not written, chosen or checked by a model.

### src/auth.ts:1-8

\`\`\`ts
import { clock } from './clock.ts'

/** Refreshes the token. */
export function refreshToken(token) {
  const now = clock()

  return now > token.expires ? renew(token) : token
}
\`\`\`
`,
    )
  })

  it('is the same for the same request', () => {
    const messages = ask('token color', block('src/auth.ts', tokenSource))
    expect(extractiveAnswer(messages)).toBe(extractiveAnswer(structuredClone(messages)))
  })

  it('follows the last user message, not the files or the messages before it', () => {
    const files = [block('src/auth.ts', tokenSource)]
    expect(extractiveAnswer(ask('parse a color', ...files))).toContain('### src/auth.ts:10-14')
    expect(extractiveAnswer(ask('parse a color', ...files))).not.toContain('refreshToken')
  })

  it('also finds files in the message that contains the instruction', () => {
    const messages: Message[] = [textMessage('user', `${block('a.ts', 'const alpha = 1')}\n\nWhat is alpha?`)]
    expect(extractiveAnswer(messages)).toContain('### a.ts:1-1')
  })

  it('says that there is nothing to quote without files', () => {
    const answer = extractiveAnswer(ask('How are tokens refreshed?'))
    expect(answer).toContain('No files were given as context')
    expect(answer).not.toContain('###')
  })

  it('says that nothing matches when no word is shared', () => {
    const answer = extractiveAnswer(ask('zebra', block('src/auth.ts', tokenSource)))
    expect(answer).toContain('No passage of the 1 given file shares a word')
    expect(answer).not.toContain('###')
  })

  it('quotes Markdown with fences inside a longer fence', () => {
    const answer = extractiveAnswer(ask('install', block('README.md', '# Install\n\n```sh\nnpm install\n```')))
    expect(answer).toContain('````md\n# Install\n\n```sh\nnpm install\n```\n````')
  })

  it('quotes at most five passages, and three from one file', () => {
    const many = Array.from({ length: 8 }, (_, index) => `## Part ${index}\n\ntoken token\n`).join('\n')
    const answer = extractiveAnswer(ask('token', block('a.md', many), block('b.md', many.replaceAll('Part', 'Piece'))))
    const headings = answer.match(/^### \S+:/gm) ?? []
    expect(headings).toHaveLength(5)
    expect(headings.filter((heading) => heading.includes('a.md'))).toHaveLength(3)
  })

  it('truncates very long lines with a mark', () => {
    const answer = extractiveAnswer(ask('token', block('a.min.js', `token${'x'.repeat(5_000)} token`)))
    expect(answer).toContain('[…]')
    expect(answer.length).toBeLessThan(1_500)
  })
})

describe('file blocks', () => {
  it('may contain their own closing lines', () => {
    const text = `${block('a.html', '<file>\n</file>\nend')}\n${block('b.ts', 'b')}\nrest`
    expect(splitFiles(text)).toEqual({
      files: [
        { path: 'a.html', lines: ['<file>', '</file>', 'end'] },
        { path: 'b.ts', lines: ['b'] },
      ],
      rest: 'rest',
    })
  })

  it('with a count of lines may contain anything', () => {
    const inner = block('inner.ts', 'x')
    const text = `<file path="a &amp; b.md" lines="3">\n${inner}\n</file>\nrest`
    expect(splitFiles(text)).toEqual({ files: [{ path: 'a & b.md', lines: inner.split('\n') }], rest: 'rest' })
  })

  it('that contain an end are read as the main agent quotes them', () => {
    const files = [
      { path: 'a.md', content: 'one\n</file>\n<FILE_NEW file_path="x">\n</FILE_NEW>\n' },
      { path: 'b.md', content: 'two\n' },
    ]
    expect(splitFiles(`${quoteFiles(files)}\nrest`)).toEqual({
      files: files.map(({ path, content }) => ({ path, lines: content.trimEnd().split('\n') })),
      rest: 'rest',
    })
  })

  it('without an end are text', () => {
    expect(splitFiles('<file path="a.ts">\nx')).toEqual({ files: [], rest: '<file path="a.ts">\nx' })
  })
})

describe('passages', () => {
  const spans = (lines: readonly string[]): string[] =>
    splitPassages({ path: 'a', lines }).map(({ first, last }) => `${first}-${last}`)

  it('cover every nonblank line exactly once, in order', () => {
    const lines = tokenSource.split('\n')
    const covered = splitPassages({ path: 'a', lines }).flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, index) => first + index),
    )
    expect(covered).toEqual([...new Set(covered)].toSorted((left, right) => left - right))
    for (const [index, line] of lines.entries()) expect(covered.includes(index + 1) || line.trim() === '').toBe(true)
  })

  it('begin at headings and merge small pieces', () => {
    expect(spans(['# A', '', '## B', '', 'one', '', '## C', 'two'])).toEqual(['1-5', '7-8'])
  })

  it('are split when long, at a blank line if there is one', () => {
    const lines = Array.from({ length: 100 }, (_, index) => (index === 35 ? '' : `  line ${index}`))
    expect(spans(lines)).toEqual(['1-35', '37-75', '76-100'])
  })

  it('do not come from empty files', () => {
    expect(spans(['', '  '])).toEqual([])
  })
})

it('words are found by the parts of names', () => {
  expect(wordsOf('refreshToken HTTPServer snake_case kebab-case')).toEqual(
    [
      'refreshToken',
      'refresh',
      'Token',
      'HTTPServer',
      'HTTP',
      'Server',
      'snake_case',
      'snake',
      'case',
      'kebab',
      'case',
    ].map((word) => word.toLowerCase()),
  )
})
