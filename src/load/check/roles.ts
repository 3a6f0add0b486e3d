import { isJsonObject } from '../../base/json.ts'
import type { AgentDefinition } from '../../config/agent-definitions.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'
import { findRole, keptTools, type RolePlaces } from '../roles.ts'
import { checkAgent, type FileSurroundings } from './checker.ts'
import { type Problem, problemOf, problemsOfError } from './problem.ts'

/** Problems of the roles of `[collab]`: each is checked as the agent that it would be. */
export async function roleProblems(
  spec: RunSpec,
  places: RolePlaces,
  around: FileSurroundings,
): Promise<readonly Problem[]> {
  const { file } = spec.document
  const problems: Problem[] = []
  for (const name of Object.keys(spec.settings.collab?.roles ?? {})) {
    try {
      const role = await findRole(name, spec, places)
      problems.push(
        ...(await checkAgent({ agent: { ...role.agent, builtIn: false }, trail: [] }, around)),
        ...(await toolsNotGiven(name, role, spec)),
      )
    } catch (error) {
      problems.push(...problemsOfError(error, { file, trail: [] }))
    }
  }
  return problems
}

/** An agent has no tool that the model which starts it does not have. */
async function toolsNotGiven(name: string, role: AgentDefinition, spec: RunSpec): Promise<readonly Problem[]> {
  const kept = keptTools(role, spec.settings)
  const isHere = isJsonObject(spec.frontMatter['collab'] ?? null)
  if (kept.length === 0 || !isHere || spec.settings.collab?.roles[name]?.['tools'] === undefined) return []
  const message = `the role "${name}" does not get ${kept.join(', ')}: agents have at most the tools of the file`
  const it = kept.length === 1 ? 'it' : 'them'
  const hint = `Add ${it} to the tools of the file, or remove ${it} from the role.`
  const place = await placeInPrompt(spec, ['collab', 'roles', name, 'tools'], 'value')
  const finding = { code: 'CONFIG_INVALID', message, hint, place } as const
  return [problemOf(finding, { severity: 'warning', file: spec.document.file, trail: [] })]
}
