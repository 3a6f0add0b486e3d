import { defined } from '../base/json.ts'
import { isDefinitionName } from '../settings/agents.ts'
import type { Definitions } from '../config/collect-definitions.ts'
import type { Layer } from '../config/layers.ts'
import { type Issue, issuesOf, throwIssues } from '../settings/issue.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { definitionsOf } from '../pack/definitions.ts'
import { packRoots } from '../pack/find-pack.ts'
import { nameGuard } from '../pack/name-guard.ts'
import { mayBePackName } from '../pack/pack-ref.ts'
import { type NamedFile, resolveAgent, type ResolveOptions } from '../pack/resolve.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import type { TargetOptions } from './options.ts'
import type { ChainAgent } from '../stage/chain.ts'

/** An agent that was found by a name in a prompt file. */
export type ResolvedAgent = NamedFile & ChainAgent

/** Finds named agents, but only when they are needed: most runs name their agents by files. */
export type FindDefinitions = () => Promise<Definitions>

export function definitionsOnDemand(find: FindDefinitions): FindDefinitions {
  let found: Promise<Definitions> | undefined
  return () => (found ??= find())
}

/** The named agents of a prompt file, with those of its front matter. An invalid one is reported where it is used. */
export function definitionsOfPrompt(spec: RunSpec, options: TargetOptions): FindDefinitions {
  const { workspace, file: promptFile } = spec
  const { below, own, above } = spec.layers
  const layers = [...below, own, ...above]
  const guard = nameGuard(workspace, options)
  const areOffered = startsAgents(spec)
  const roots = packRoots(workspace, options)
  const around = { workspace, layers, packRoots: roots, guard, promptFile, areOffered }
  return definitionsOnDemand(() => {
    const { collected } = options
    const key = collected && sharedKey(layers, [workspace, areOffered, roots])
    const known = key === undefined ? undefined : collected?.get(key)
    if (known !== undefined) return known
    const found = definitionsOf(around, options)
    if (key !== undefined) collected?.set(key, found)
    return found
  })
}

/** Equal for files with the same named agents; undefined for a file that defines some itself. */
function sharedKey(layers: readonly Layer[], around: readonly unknown[]): string | undefined {
  const defining = layers.filter(({ values }) => values['agents'] !== undefined)
  if (defining.some(({ origin }) => origin.kind === 'front matter')) return undefined
  const tables = defining.map(({ origin, isTrusted, values }) => [origin, isTrusted, values['agents']])
  return JSON.stringify([tables, around])
}

/** An agent by its name, which may be that of a definition. @throws BatonError as `resolveAgent` does */
export async function resolveNamed(
  name: string,
  { definitions, ...options }: Omit<ResolveOptions, 'definitions'> & { readonly definitions: FindDefinitions },
): Promise<NamedFile> {
  const mayBeDefined = isDefinitionName(name) || mayBePackName(name)
  return resolveAgent(name, { ...options, definitions: mayBeDefined ? await definitions() : noDefinitions })
}

const noDefinitions: Definitions = { byName: new Map(), broken: new Map(), notes: [] }

/**
 * Reports invalid definitions if a model may start any of them: once, and these agents are omitted.
 * @throws BatonError UNTRUSTED for definitions that an untrusted folder may not have: without them, the names that the
 * user knows would mean other agents
 */
export function brokenDefinitions({ broken, byName }: Definitions): readonly Issue[] {
  const problems = [...broken].flatMap(([name, error]) => issuesOf(error).map((issue) => ({ name, issue })))
  // definitions of packs never take the name of a definition of the user
  const isRefused = ({ name, issue }: (typeof problems)[number]): boolean =>
    issue.code === 'UNTRUSTED' && !mayBePackName(name)
  throwIssues(problems.filter(isRefused).map(({ issue }) => issue))
  const heldBack = [...byName.values()].flatMap(({ name, origin, heldBack: key }): readonly Issue[] => {
    if (key === undefined) return []
    const message = `no model can start "${name}": its "${key}" starts more than a model, and ${origin} is not trusted`
    return [{ code: 'UNTRUSTED', message, hint: `If you want it, look at the file and run baton trust ${origin}.` }]
  })
  return [
    ...problems.map(({ name, issue }) => ({ ...issue, message: `no model can start "${name}": ${issue.message}` })),
    ...heldBack,
  ]
}

/** Whether the model of a prompt file has the tool `task`. */
export function startsAgents({ settings: { tools = [], disallowed_tools } }: Pick<RunSpec, 'settings'>): boolean {
  return passesFilters('task', [{ tools, ...defined({ disallowed_tools }) }])
}
