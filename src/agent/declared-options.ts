import type { DataPath, DataText } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { checkAgentOptions } from '../config/agent-options.ts'
import { type Finding, type Issue, placeFindings } from '../settings/issue.ts'
import type { PermissionRule } from '../config/permission-rules.ts'
import type { ScriptAgent } from '../event/agent.ts'
import { type AipDocument, readTable } from '../prompt/aip.ts'

export interface DeclaredOptions {
  /** Known and valid options. */
  readonly values: JsonObject
  /** Rules of its `[permission]`, which further restrict it and the agents that it runs. */
  readonly rules: readonly PermissionRule[]
  /** Invalid values, with their places in the agent file; checks that need plug-ins are in `declaredOptionIssues`. */
  readonly issues: readonly Issue[]
  /** Unknown keys: warnings in `check`, ignored in a run. */
  readonly unknown: readonly Issue[]
  /** Where an option is written. */
  readonly placeOf: (path: DataPath, part: 'key' | 'value') => Promise<SourcePlace>
}

/**
 * Reads the `# Options` of an agent.
 * @throws BatonError PROMPT_SYNTAX if they are not valid TOML
 */
export async function readDeclaredOptions(
  { file, text }: Pick<ScriptAgent, 'file' | 'text'>,
  { options: block }: AipDocument,
): Promise<DeclaredOptions> {
  if (block === undefined) return { values: {}, rules: [], issues: [], unknown: [], placeOf: async () => ({ file }) }
  const { data, locate } = await readTable(file, text, block)
  // tests are read by `baton test`
  const { test: _, permission, ...options } = data
  const { values, findings, unknown } = checkAgentOptions(options, [])
  const source = { file, text, locate }
  const ruled = permission === undefined ? undefined : await rulesIn(permission, { file, locate })
  return {
    values,
    rules: ruled?.rules ?? [],
    issues: await placeFindings([...findings, ...(ruled?.findings ?? [])], source),
    unknown: await placeFindings(unknown, source),
    placeOf: async (path, part) => ({ file, text, ...(await locate(path, part)) }),
  }
}

async function rulesIn(
  permission: Json,
  { file, locate }: { readonly file: string } & Pick<DataText, 'locate'>,
): Promise<{ readonly rules: readonly PermissionRule[]; readonly findings: readonly Finding[] }> {
  const { locatedRules, wrongRules } = await import('../config/permission-rules.ts')
  const findings = wrongRules(permission)
  // they form their own list, so they can only tighten
  const rules = findings.length > 0 ? [] : await locatedRules(permission, { file, locate, tightens: false })
  return { rules, findings }
}
