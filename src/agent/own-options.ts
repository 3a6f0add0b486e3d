import type { DataPath } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { checkAgentOptions } from '../config/agent-options.ts'
import { type Issue, placeFindings } from '../config/issue.ts'
import type { ScriptAgent } from '../event/agent.ts'
import { type AipDocument, readTable } from '../prompt/aip.ts'

export interface OwnOptions {
  /** Options that are known and right. */
  readonly values: JsonObject
  /** Wrong values, with their places in the agent file. */
  readonly issues: readonly Issue[]
  /** Keys that nothing reads: warnings in `check`, silent in a run. */
  readonly unknown: readonly Issue[]
  /** Where an option is written. */
  readonly placeOf: (path: DataPath, part: 'key' | 'value') => Promise<SourcePlace>
}

/**
 * The `# Options` of an agent.
 * @throws BatonError PROMPT_SYNTAX when they are no TOML
 */
export async function readOwnOptions(
  { file, text }: Pick<ScriptAgent, 'file' | 'text'>,
  { options: block }: AipDocument,
): Promise<OwnOptions> {
  if (block === undefined) return { values: {}, issues: [], unknown: [], placeOf: async () => ({ file }) }
  const { data, locate } = await readTable(file, text, block)
  // tests are for baton test
  const { test: _, ...options } = data
  const { values, findings, unknown } = checkAgentOptions(options, [])
  const source = { file, text, locate }
  const { tools } = values
  // most agents name none, and load nothing for them
  const unknownOf = Array.isArray(tools) ? (await import('./tool-names.ts')).unknownTools : undefined
  const wrongTools = unknownOf?.(tools as readonly string[], ['tools']) ?? []
  return {
    values,
    issues: await placeFindings([...findings, ...wrongTools], source),
    unknown: await placeFindings(unknown, source),
    placeOf: async (path, part) => ({ file, text, ...(await locate(path, part)) }),
  }
}
