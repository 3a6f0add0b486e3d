import { describe, expect, it } from 'vitest'
import { readFileChanges } from '../../../src/tool/changes/answer-changes.ts'
import { changesInstruction, fileChangesInstruction } from '../../../src/tool/changes/instruction.ts'
import { block, changes, create, part, remove } from './change-set.ts'

describe('changesInstruction', () => {
  it.each([
    ['udiffx', ['New', 'Patch', 'AppendLines', 'Copy', 'Rename', 'Delete']],
    ['whole', ['New', 'Delete']],
    ['search_replace_auto', ['SearchReplace', 'New', 'Rename']],
  ] as const)('contains a valid example: %s', (mode, kinds) => {
    const instruction = changesInstruction(mode)
    const example = instruction.slice(instruction.indexOf('Example:\n')).split('\n### ')[0] ?? ''
    // the example itself is quoted text
    expect(readFileChanges(example).directives.map(({ kind }) => kind)).toEqual(['Fail'])
    const { directives, text } = readFileChanges(example.replaceAll('src/', 'lib/'))
    expect(directives.map(({ kind }) => kind)).toEqual(kinds)
    expect(text).toBe('Example:')
  })
})

it('changesInstruction describes its own set, and not packs', () => {
  const set = changesInstruction('udiffx')
  expect(fileChangesInstruction).toContain('is an error')
  expect(set).not.toContain('is an error')
  expect(set).toContain('only if you were shown its content')
})

describe('readFileChanges', () => {
  it('leaves one empty line in place of changes, and none at both ends', () => {
    const set = changes(remove('a'))
    expect(readFileChanges(`One.\n\n\n${set}\n\nTwo.\n${set}Three.\n\n${set}\n`).text).toBe('One.\n\nTwo.\n\nThree.')
    expect(readFileChanges(`${set}\n    code\n\n\nmore  \n${set}`).text).toBe('    code\n\n\nmore')
    expect(readFileChanges(set).text).toBe('')
    const blocks = `One.\n\n${block('a', 'x\n')}\nTwo.\n<FILE_DELETE file_path="b" />\n`
    expect(readFileChanges(blocks).text).toBe('One.\n\nTwo.')
  })

  const sets = [
    ['directives', changes(remove('a'), create('b', '```js\nx\n```\n'))],
    ['whole files', block('a', 'x\n') + remove('b')],
    ['search and replace', block('a', part('x\n', 'y\n'))],
  ] as const

  it.each(sets)('reads changes in a fence only if the answer contains nothing else: %s', (_, set) => {
    const meant = readFileChanges(set)
    for (const fenced of [`\`\`\`xml\n\n${set}\n\`\`\`\n`, `\n~~~\n${set}~~~`, `\`\`\`\`xml\n${set}`]) {
      expect(readFileChanges(fenced)).toEqual(meant)
      const beside = readFileChanges(`Here:\n\n${fenced}`)
      expect(beside.directives).toMatchObject([{ kind: 'Fail', fault: 'fenced' }])
      expect(beside.text).toBe(`Here:\n\n${fenced}`)
    }
  })

  it.each(sets)('ignores quotations, which are fences with changes and something else: %s', (_, set) => {
    for (const quotation of [
      `\`\`\`\`\`md\n# How to\n\n${set}\`\`\`\`\`\n`,
      `\`\`\`\`\`\n${set}\nThat is it.\n\`\`\`\`\`\n`,
      `~~~md\n${set}and\n${set}~~~`,
      `~~~~~md\n~~~~~xml\n${set}~~~~~\n~~~~~\n`,
    ]) {
      const answer = `An example:\n\n${quotation}`
      expect(readFileChanges(answer)).toMatchObject({ directives: [{ fault: 'lookalike' }], text: answer })
      const meant = readFileChanges(`${answer}\n\nAnd now:\n\n${set}`)
      expect(meant.directives).toEqual(readFileChanges(set).directives)
      expect(meant.text).toBe(
        `${answer.trimEnd()}\n\n\nAnd now:`.replace('\n\n\n', quotation.endsWith('\n') ? '\n\n\n' : '\n\n'),
      )
    }
  })

  it('ignores changes below an unclosed fence', () => {
    const set = changes(remove('a'))
    for (const answer of [`\`\`\`js\nx()\n\n${set}`, `\`\`\`js\nx()\n\n\`\`\`xml\n${set}\`\`\`\nBye.\n`]) {
      expect(readFileChanges(answer).directives).toMatchObject([{ fault: 'fenced', filePath: 'a' }])
    }
  })

  it('finds blocks within a line, and ignores mentions', () => {
    for (const before of ['1. ', '  ', '> ', '// ']) {
      expect(readFileChanges(before + block('a', 'x\n')).directives).toMatchObject([
        { kind: 'Fail', fault: 'lookalike' },
      ])
    }
    const mention = 'I use `<AIP_FILE_CHANGE file_path="a">` tags.\n<AIP_FILE_CHANGE>\nis one, <FILE_DELETE> another.\n'
    expect(readFileChanges(mention)).toEqual({ directives: [], text: mention })
  })

  it('reads a block with search and replace parts as such', () => {
    const content = part('a\n', 'b\n')
    expect(readFileChanges(block('f', content)).directives).toEqual([{ kind: 'SearchReplace', filePath: 'f', content }])
  })

  it('reports an end without a beginning', () => {
    expect(readFileChanges('x\n</AIP_FILE_CHANGE>\ny')).toEqual({
      directives: [
        {
          kind: 'Fail',
          fault: 'malformed',
          filePath: 'unknown',
          reason: '</AIP_FILE_CHANGE> closes nothing',
          hunks: [],
        },
      ],
      text: 'x\n\ny',
    })
  })
})
