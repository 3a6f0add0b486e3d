import { describe, expect, it } from 'vitest'
import type { ToolRule } from '../../src/event/permission.ts'
import { commandSubject } from '../../src/tool/command-line.ts'
import { toolVerdict } from '../../src/tool/tool-rules.ts'
import { core } from '../helpers/series.ts'
import { canFuzzShell, fuzzShell } from '../helpers/shell-fuzz.ts'
import { randomFrom } from '../helpers/shell-lines.ts'

const rules: readonly ToolRule[] = [
  { tool: 'bash', effect: 'ask', origin: 'default' },
  { tool: 'bash', pattern: 'npm test*', effect: 'allow', origin: '1' },
]

describe('what is approved for a line', () => {
  it('never includes more than its first command, whatever separates them', () => {
    const random = randomFrom(7)
    const between = [
      ';',
      '&&',
      '||',
      '|',
      '|&',
      '&',
      '\n',
      ' ;',
      '\t&&\n',
      ' $(',
      ' `',
      ' <(',
      ' >(',
      ';{ ',
      '&&(',
      '\nif ',
    ]
    const before = ['', 'A=1 ', '! ', 'time ', '(', '{ ', 'if ', 'for x do ', 'until ', '\\\n', 'CI=1 ']
    const args = [
      '',
      ' a',
      ` 'b c'`,
      ` "d"`,
      ' $x',
      ' *',
      String.raw` \;`,
      ` ';'`,
      ' 2>&1',
      ' >/dev/null',
      ' <<E\nx\nE\n',
      ' #',
    ]
    for (let round = 0; round < 2000; round += 1) {
      const pick = (from: readonly string[]): string => from[random(from.length)] ?? ''
      const line = `${pick(before)}npm test${pick(args)}${pick(between)}evil${pick(args)}${pick(['', ')', '`', '; }', ';fi', ';done'])}`
      // text after a # is a comment, up to the end of the line
      if (/ #[^\n]*evil/.test(line)) continue
      const action = { kind: 'tool', tool: 'bash', input: null, subject: commandSubject(line) } as const
      const allowed = toolVerdict([rules], action, '/w')
      expect(allowed.kind, line).not.toBe('allow')
    }
  })

  it.runIf(canFuzzShell())(
    'is everything that bash runs of it, and denied commands are not run without a question',
    () => {
      const { run, effective, wronglyAllowed, missed } = fuzzShell({ run: core(300, 3000), seed: 11 })
      expect({ wronglyAllowed, missed }).toEqual({ wronglyAllowed: [], missed: [] })
      // lines that start nothing check nothing
      expect(effective).toBeGreaterThan(run / 4)
    },
  )
})
