import { describe, expect, it } from 'vitest'
import { changesInstruction, readFileChanges } from '../../../src/tool/changes/answer-changes.ts'
import { fileChangesInstruction } from '../../../src/tool/changes/instruction.ts'
import { block, changes, create, part, remove } from './change-set.ts'

describe('changesInstruction', () => {
  it.each([
    ['udiffx', ['New', 'Patch', 'Append', 'Copy', 'Rename', 'Delete']],
    ['whole', ['New', 'Delete']],
    ['search_replace_auto', ['SearchReplace', 'New', 'Rename']],
  ] as const)('shows an example that is read without a fault: %s', (mode, kinds) => {
    const instruction = changesInstruction(mode)
    const example = instruction.slice(instruction.indexOf('Example:\n')).split('\n### ')[0] ?? ''
    const { directives, text } = readFileChanges(example, mode)
    expect(directives.map(({ kind }) => kind)).toEqual(kinds)
    expect(text).toBe('Example:')
  })
})

it('changesInstruction tells what is true of the set it is for, and not what is true of packs', () => {
  const set = changesInstruction('udiffx')
  expect(fileChangesInstruction).toContain('is an error')
  expect(set).not.toContain('is an error')
  expect(set).toContain('when you were shown what it holds')
})

describe('readFileChanges', () => {
  it('leaves one empty line where changes stood, and nothing at both ends', () => {
    const set = changes(remove('a'))
    expect(readFileChanges(`One.\n\n\n${set}\n\nTwo.\n${set}Three.\n\n${set}\n`, 'udiffx').text).toBe(
      'One.\n\nTwo.\n\nThree.',
    )
    expect(readFileChanges(`${set}\n    code\n\n\nmore  \n${set}`, 'udiffx').text).toBe('    code\n\n\nmore')
    expect(readFileChanges(set, 'udiffx').text).toBe('')
    const blocks = `One.\n\n${block('a', 'x\n')}\nTwo.\n<FILE_DELETE file_path="b" />\n`
    expect(readFileChanges(blocks, 'whole').text).toBe('One.\n\nTwo.')
  })

  it('takes a fence that held nothing but changes along, with empty lines in it', () => {
    for (const [answer, mode] of [
      [changes(create('a', 'x\n')), 'udiffx'],
      [block('a', 'x\n') + block('b', 'y\n'), 'whole'],
    ] as const) {
      expect(readFileChanges(`Here:\n\n\`\`\`xml\n\n${answer}\n\`\`\`\n\nBye.`, mode).text).toBe('Here:\n\nBye.')
    }
  })

  it.each([
    ['udiffx', changes(remove('a'), create('b', '```js\nx\n```\n'))],
    ['whole', block('a', 'x\n') + remove('b')],
    ['search_replace_auto', block('a', part('x\n', 'y\n'))],
  ] as const)('leaves quotations alone, which are fences with changes and something else: %s', (mode, set) => {
    for (const quotation of [
      `\`\`\`\`\`md\n# How to\n\n${set}\`\`\`\`\`\n`,
      `\`\`\`\`\`\n${set}\nThat is it.\n\`\`\`\`\`\n`,
      `~~~md\n${set}and\n${set}~~~`,
      `~~~~~md\n~~~~~xml\n${set}~~~~~\n~~~~~\n`,
    ]) {
      const answer = `An example:\n\n${quotation}`
      expect(readFileChanges(answer, mode)).toEqual({ directives: [], text: answer })
      const meant = readFileChanges(`${answer}\n\nAnd now:\n\n\`\`\`xml\n${set}\`\`\`\n`, mode)
      expect(meant.directives).toEqual(readFileChanges(set, mode).directives)
      expect(meant.text).toBe(`${answer}\n\nAnd now:`)
    }
  })

  it('reads changes below a fence whose end was forgotten', () => {
    const set = changes(remove('a'))
    for (const answer of [`\`\`\`js\nx()\n\n${set}`, `\`\`\`js\nx()\n\n\`\`\`xml\n${set}\`\`\`\nBye.\n`]) {
      expect(readFileChanges(answer, 'udiffx').directives).toEqual([{ kind: 'Delete', filePath: 'a' }])
    }
  })

  it('finds no fault in an example that is cut short', () => {
    const answer = '```\n<FILE_CHANGES>\n<FILE_NEW file_path="…">\n…\n```\nis the form.\n'
    expect(readFileChanges(answer, 'udiffx')).toEqual({ directives: [], text: answer })
  })

  it('finds a block behind other text on its line, and leaves mentions alone', () => {
    const answer = `1. ${block('a', 'x\n')}`
    expect(readFileChanges(answer, 'whole')).toEqual({
      directives: [{ kind: 'New', filePath: 'a', content: 'x\n' }],
      text: '1.',
    })
    const mention = 'I use `<AIP_FILE_CHANGE file_path="a">` tags.\n<AIP_FILE_CHANGE>\nis one, <FILE_DELETE> another.\n'
    expect(readFileChanges(mention, 'whole')).toEqual({ directives: [], text: mention })
  })

  it('takes parts for the whole file where the mode has no parts', () => {
    const content = part('a\n', 'b\n')
    const read = (mode: 'whole' | 'search_replace_auto'): unknown =>
      readFileChanges(block('f', content), mode).directives
    expect(read('whole')).toEqual([{ kind: 'New', filePath: 'f', content }])
    expect(read('search_replace_auto')).toEqual([{ kind: 'SearchReplace', filePath: 'f', content }])
  })

  it('reports an end without a beginning', () => {
    expect(readFileChanges('x\n</AIP_FILE_CHANGE>\ny', 'whole')).toEqual({
      directives: [{ kind: 'Fail', filePath: 'unknown', reason: '</AIP_FILE_CHANGE> closes nothing', hunks: [] }],
      text: 'x\n\ny',
    })
  })
})
