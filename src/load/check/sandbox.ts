import { type Finding, placeFindings } from '../../config/issue.ts'
import { placeOrigins } from '../../config/layers.ts'
import type { RunSpec } from '../../config/run-spec.ts'
import { sandboxMode } from '../../config/settings.ts'
import { allRights } from '../../event/permission.ts'
import { toolLists } from '../named-tools.ts'
import { toolRules, writtenRules } from '../../tool/rule-list.ts'
import type { MissingBox } from '../../tool/sandbox/needs-box.ts'
import { type Problem, problemOf } from './problem.ts'

/**
 * Reports that the settings need a sandbox and this machine cannot provide one, in the words of a run. Only a warning,
 * even if a run would end: the file is valid, and may be meant for another machine.
 */
export async function sandboxProblems(
  spec: RunSpec,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Problem[]> {
  const { settings, workspace, document, origins } = spec
  const given = toolLists(spec)
  const isAsked = settings.tools !== undefined && (settings.agent === undefined || settings.workflow !== undefined)
  if (!isAsked && given.length === 0 && !settings.sandbox.scripts) return []
  const { boxProblem, missingBox } = await import('../../tool/sandbox/needs-box.ts')
  const rights = {
    ...allRights,
    write: settings.write_mode !== false,
    rules: [toolRules(writtenRules(settings))],
    sandbox: { ...settings.sandbox, mode: sandboxMode(settings) },
  }
  const asking = { scope: { rights, folders: { workspace } }, env }

  const named = isAsked ? await missingBox(settings, asking) : undefined
  const scripts = settings.sandbox.scripts ? await boxProblem(asking) : undefined
  const inAgents = await Promise.all(
    given.map(async ({ names, path }) => findingsOf(await missingBox({ tools: names }, asking), path)),
  )
  const { file, text, meta } = document
  const issues = [
    ...(await placeOrigins([...findingsOf(named, ['tools']), ...findingsOf(scripts, ['sandbox', 'scripts'])], origins)),
    ...(await placeFindings(inAgents.flat(), { file, text, locate: meta.locate })),
  ]
  return issues.map((issue) => problemOf(issue, { severity: 'warning', file, trail: [] }))
}

function findingsOf(missing: MissingBox | undefined, path: Finding['path']): readonly Finding[] {
  if (missing === undefined) return []
  return [{ code: 'SANDBOX', message: missing.message, hint: missing.hint ?? '', path, part: 'value' }]
}
