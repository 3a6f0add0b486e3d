import { join } from 'node:path'
import { describeOrigins, type OriginRow } from '../../config/layers.ts'
import { foreignMarks, locateWorkspace } from '../../config/locate.ts'
import { loadRunSpec } from '../../config/run-spec.ts'
import { issueText, throwIssues } from '../../settings/issue.ts'
import { loadTargetConfig, type TargetConfig } from '../../config/target-config.ts'
import { realPath } from '../../base/files.ts'
import { harmlessName, safeJson } from '../../base/terminal-text.ts'
import { packageRoot } from '../../package-root.ts'
import { type JudgedCall, judgeCall, judgedJson, ruleRows } from '../../load/rules-in-force.ts'
import { promptFileOf } from '../../load/target.ts'
import type { Flags } from '../command-specs.ts'
import { type CommandIo, openWorkplace } from '../io.ts'

/**
 * `baton config [FILE]`: every effective value, with `--origin` also where it comes from; with `--permission` the rule
 * that decides about a tool call.
 */
export async function configCommand(flags: Flags<'config'>, io: CommandIo): Promise<number> {
  const { cwd, env, home, print, note, paint } = openWorkplace(flags, io)
  const options = { cwd, env, home, flags: { overrides: flags.config } }
  const builtInDir = join(packageRoot(), 'agents')
  const source =
    flags.file === undefined
      ? await loadTargetConfig(options)
      : await loadRunSpec({ ...options, file: promptFileOf(flags.file, { ...options, builtInDir }) })
  if (source.workspace !== realPath(cwd)) note(`workspace ${harmlessName(source.workspace)}\n`)
  for (const text of foreignMarks(locateWorkspace({ cwd, env, home }))) note(`warning: ${harmlessName(text)}\n`)
  if (flags.permission !== undefined) {
    const judged = await judgeCall(flags.permission, source)
    print(judgedJson(judged), () => judgedText(judged, (text) => paint('dim', text)))
    return 0
  }
  const layers = 'below' in source.layers ? source.layers.below : source.layers
  await reportTriggers({ layers, workspace: source.workspace }, { env, home, note })
  const rows = sortedIn(await describeOrigins(source), ruleRows(source.settings)).map((row) => {
    return { ...row, text: `${row.key} = ${safeJson(row.value)}` }
  })
  const width = Math.min(60, Math.max(0, ...rows.map(({ text }) => text.length)))
  for (const { key, value, origin, text } of rows) {
    print(flags.origin ? { key, value, origin } : { key, value }, () =>
      flags.origin ? `${text.padEnd(width)}  ${paint('dim', `# ${harmlessName(origin)}`)}\n` : `${text}\n`,
    )
  }
  return 0
}

/** @throws BatonError CONFIG_INVALID for a trigger that can never start anything */
async function reportTriggers(
  source: Pick<TargetConfig, 'layers' | 'workspace'>,
  { env, home, note }: Pick<ReturnType<typeof openWorkplace>, 'env' | 'home' | 'note'>,
): Promise<void> {
  if (source.layers.every(({ values }) => values['trigger'] === undefined)) return
  const { readTriggers } = await import('../../config/triggers.ts')
  const { problems } = await readTriggers(source, { env, home })
  throwIssues(problems.filter(({ severity }) => severity === 'error'))
  for (const problem of problems) note(`warning: ${harmlessName(issueText(problem))}\n`)
}

/** Inserts the rules of `permission` where that key would be, in their own order. */
function sortedIn(rows: readonly OriginRow[], rules: readonly OriginRow[]): readonly OriginRow[] {
  const [before, behind] = [rows.filter(({ key }) => key < 'permission'), rows.filter(({ key }) => key > 'permission')]
  return [...before, ...rules, ...behind]
}

function judgedText({ verdict, doubt, parts }: JudgedCall, dim: (text: string) => string): string {
  const ruled = (rule: OriginRow): string =>
    `${harmlessName(rule.key)} = ${safeJson(rule.value)}  ${dim(`# ${harmlessName(rule.origin)}`)}`
  const why = doubt === undefined ? '' : `no pattern allows it: the command line contains ${doubt}\n`
  const [only, ...others] = parts
  if (only !== undefined && others.length === 0) return `${verdict}: ${ruled(only.rule)}\n${why}`
  const lines = parts.map(({ about, rule }) => `  ${harmlessName(about)}: ${ruled(rule)}\n`)
  return `${verdict}\n${lines.join('')}${why}`
}
