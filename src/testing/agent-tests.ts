import { existsSync } from 'node:fs'
import type { DataText } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { checkValue } from '../config/check-settings.ts'
import { placeFindings, readTomlFile, throwIssues, wrongKey } from '../config/issue.ts'
import type { TestEntry } from '../config/schema.ts'
import { parseAip, readTable } from '../prompt/aip.ts'
import type { AgentTarget } from '../load/target.ts'

/** The tests of a prompt file or an agent, as written. */
export interface WrittenTests {
  readonly entries: readonly TestEntry[]
  /** Position of a value in the source. */
  readonly placeOf: (...at: Parameters<DataText['locate']>) => Promise<SourcePlace>
}

/** The test file next to a Lua agent: `lint.test.toml` for `lint.lua`. */
export function testFileOf(agent: string): string {
  return agent.replace(/\.[^./]+$/, '.test.toml')
}

/**
 * The tests of an agent: `[[test]]` in `# Options` of an `.aip` file, or the test file next to a `.lua` file.
 * @throws BatonError PROMPT_SYNTAX, CONFIG_INVALID
 */
export async function readAgentTests({ agent }: Pick<AgentTarget, 'agent'>): Promise<WrittenTests> {
  const source = await sourceOf(agent)
  if (source === undefined) return { entries: [], placeOf: async () => ({ file: agent.file }) }
  const { file, text, data, locate } = source
  const tests = data['test'] ?? []
  const misplaced = ['vars', 'params'].flatMap((key) =>
    (Array.isArray(tests) ? tests : []).flatMap((test: unknown, index) =>
      typeof test === 'object' && test !== null && key in test
        ? [wrongKey(['test', index, key], { message: `"${key}" is for prompt files`, hint: 'Use input for an agent.' })]
        : [],
    ),
  )
  throwIssues(await placeFindings([...checkValue('test', tests), ...misplaced], { file, text, locate }))
  return {
    entries: tests as unknown as readonly TestEntry[],
    placeOf: async (...at) => ({ file, text, ...(await locate(...at)) }),
  }
}

async function sourceOf({ kind, file, text }: AgentTarget['agent']) {
  if (kind === 'aip') {
    const { options } = parseAip(file, text)
    return options === undefined ? undefined : { file, text, ...(await readTable(file, text, options)) }
  }
  const beside = testFileOf(file)
  return existsSync(beside) ? readTomlFile(beside, readSourceFile(beside)) : undefined
}
