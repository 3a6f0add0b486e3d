import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/base/json.ts'
import { programIn } from '../../../../src/agent/modes/code/answer.ts'
import { withoutFence } from '../../../../src/script/javascript/source.ts'
import { typeText } from '../../../../src/agent/modes/code/instructions.ts'

const ticks = '```'

describe('the program in an answer', () => {
  it.each([
    ['all of it', 'output(1)\ndone()', 'output(1)\ndone()'],
    ['a fenced block', `${ticks}js\noutput(1)\n${ticks}`, 'output(1)'],
    [
      'TypeScript, with prose around it',
      `I look.\n\n${ticks}ts\nconst a: number = 1\n${ticks}\nThat is it.`,
      'const a: number = 1',
    ],
    ['between tildes', '~~~ javascript\ndone()\n~~~', 'done()'],
    ['a block that is not closed', `${ticks}js\ndone()`, 'done()'],
    ['a longer fence around a shorter one', `${ticks}\`js\nlog("\\n${ticks}\\n")\n${ticks}\``, `log("\\n${ticks}\\n")`],
    [
      'with fences in a template literal, which are escaped there',
      'write({ content: `# A\n\\`\\`\\`js\nbad()\n\\`\\`\\`\n` })',
      'write({ content: `# A\n\\`\\`\\`js\nbad()\n\\`\\`\\`\n` })',
    ],
    ['with line ends of Windows', `${ticks}js\r\noutput(1)\r\n${ticks}\r\n`, 'output(1)'],
  ])('is %s', (_, answer, code) => {
    expect(programIn(answer)).toEqual({ kind: 'program', code })
  })

  it.each([
    ['several blocks', `${ticks}js\na()\n${ticks}\nor\n${ticks}js\nb()\n${ticks}`, 'the answer has 2 fenced blocks'],
    ['another language', `Run this:\n${ticks}sh\nrm -rf .\n${ticks}`, 'a fenced block that is not JavaScript'],
  ])('is ambiguous with %s', (_, answer, problem) => {
    expect(programIn(answer)).toMatchObject({ kind: 'unclear', problem: expect.stringContaining(problem) as string })
  })

  it.each([
    ['blanks', `~~~${' '.repeat(300_000)}\``],
    ['tildes', `${'~'.repeat(300_000)}\``],
  ])('is found in linear time after an unclosed fence of many %s', (_, line) => {
    expect(programIn(`${line}\n${ticks}js\ndone()\n${ticks}`)).toEqual({ kind: 'program', code: 'done()' })
    expect(withoutFence(`${line}\ndone()`)).toBe(`${line}\ndone()`)
  })

  it.each(['', ' \n', `${ticks}js\n${ticks}`])('does not exist in %j', (answer) => {
    expect(programIn(answer)).toEqual({ kind: 'nothing' })
  })
})

describe('a schema as a type', () => {
  it('contains names, optional fields, and descriptions', () => {
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'From the workspace.' },
        'max-lines': { type: 'integer' },
        mode: { enum: ['a', 'b'] },
        tags: { type: 'array', items: { type: ['string', 'null'] } },
        more: { type: 'object', properties: { deep: {} }, required: ['deep'] },
      },
      required: ['path'],
    }
    expect(typeText(schema)).toBe(
      [
        '{',
        '  /** From the workspace. */',
        '  path: string',
        '  "max-lines"?: number',
        '  mode?: "a" | "b"',
        '  tags?: Array<string | null>',
        '  more?: {',
        '    deep: unknown',
        '  }',
        '}',
      ].join('\n'),
    )
  })

  it('stays short however often a type is named', () => {
    const deep = (left: number): JsonObject => ({
      type: Array.from({ length: 30 }, () => 'object'),
      properties: left === 0 ? {} : { a: deep(left - 1) },
    })
    expect(typeText(deep(6)).match(/a\?:/g)).toHaveLength(6)
  })

  it('cannot be ended by a description', () => {
    const text = typeText({ type: 'object', properties: { a: { type: 'string', description: 'x */ evil() /* y' } } })
    expect(text).not.toContain('*/ evil')
  })
})
