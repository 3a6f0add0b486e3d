import { displayPath } from '../../base/files.ts'
import type { AgentDefinition } from '../../config/agent-definitions.ts'
import { wrongKey } from '../../config/issue.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'
import { startsAgents } from '../definitions.ts'
import { checkAgent, type FileSurroundings } from './checker.ts'
import { type Problem, problemOf, problemsOfError } from './problem.ts'

/**
 * Problems of the named agents that the model of a prompt file may start, each as it would be run, and of definitions
 * that cannot be used. If the model starts none, a broken definition is an error where it is named. Agents of the file
 * itself should be used. A file of agents also has the notes about its own name.
 */
export async function definitionProblems(spec: RunSpec, around: FileSurroundings): Promise<readonly Problem[]> {
  const { byName, broken, notes } = await around.definitions()
  const { file } = spec.document
  const isOffered = startsAgents(spec)
  const wrong = isOffered ? [...broken.values()] : []
  const problems = wrong.flatMap((error) => problemsOfError(error, { file, trail: [] }))
  const told = notes.filter(({ message }) => isOffered || (spec.isDefinition && message.includes(file)))
  problems.push(...told.map((issue) => problemOf(issue, { severity: 'warning', file, trail: [] })))
  if (isOffered) problems.push(...(await offeredProblems(byName, around)))
  for (const definition of byName.values()) {
    problems.push(...(await unusedProblems(definition, { isOffered, spec })))
  }
  return problems
}

/** In `seen`: all agents that a model may start are being checked, so those of a checked agent are not checked again. */
const allOffered = 'every agent that is offered'

/** Problems of all agents that models may start: checked once for all files that have the same ones. */
function offeredProblems(
  byName: ReadonlyMap<string, AgentDefinition>,
  around: FileSurroundings,
): Promise<readonly Problem[]> {
  const { offered } = around.parts
  if (around.seen.has(allOffered)) return Promise.resolve([])
  const known = offered.get(byName)
  if (known !== undefined) return known
  const made = checkOffered([...byName.values()].filter(isOfferedToModels), {
    ...around,
    seen: new Set([allOffered]),
  })
  offered.set(byName, made)
  return made
}

async function checkOffered(
  definitions: readonly AgentDefinition[],
  around: FileSurroundings,
): Promise<readonly Problem[]> {
  const problems: Problem[] = []
  for (const { agent } of definitions) {
    problems.push(...(await checkAgent({ agent: { ...agent, builtIn: false }, trail: [] }, around)))
  }
  return problems
}

function isOfferedToModels({ description, from }: AgentDefinition): boolean {
  return description !== undefined && from !== 'built-in'
}

/** An agent that the file itself defines, and that nothing uses. */
async function unusedProblems(
  definition: AgentDefinition,
  { isOffered, spec }: { readonly isOffered: boolean; readonly spec: RunSpec },
): Promise<readonly Problem[]> {
  const { name, from } = definition
  const { workspace } = spec
  if (from !== 'prompt' || isNamed(name, spec) || (isOffered && isOfferedToModels(definition))) return []
  const why = isOffered ? 'it has no description, so it is not offered to the model' : 'tools does not name task'
  const hint = `Name it in sub_agents or as agent; for a model to start it, give it a description and add "task" to tools.`
  const finding = wrongKey(['agents', name], { message: `nothing uses the agent "${name}": ${why}`, hint })
  const place = await placeInPrompt(spec, ['agents', name], 'key')
  return [problemOf({ ...finding, place }, { severity: 'warning', file: displayPath(workspace, spec.file), trail: [] })]
}

/** Whether the file contains the name elsewhere, or runs scripts, which may name it. */
function isNamed(name: string, { frontMatter, agents, settings }: RunSpec): boolean {
  const { agents: _, ...others } = frontMatter
  const scripts = [settings.agent, ...agents.map((each) => each.name)].filter((each) => each !== undefined)
  const mayRunIt = scripts.some((each) => !each.endsWith('.md'))
  return mayRunIt || JSON.stringify(others).includes(JSON.stringify(name))
}
