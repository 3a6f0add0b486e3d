import { modelText } from '../base/model-text.ts'
import { dirname, resolve } from 'node:path'
import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { isFile } from '../base/entries.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { defined, isJsonObject, type JsonObject } from '../base/json.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import { type AgentDefinition, joinParts } from '../config/agent-definitions.ts'
import { builtInRoles } from '../config/builtin-roles.ts'
import type { Collab } from '../settings/collab.ts'
import { partOfTable } from '../config/collect-definitions.ts'
import type { Layer } from '../config/layers.ts'
import { placeInPrompt, type RunSpec } from '../config/run-spec.ts'
import type { PromptFile } from '../pack/resolve.ts'
import { parsePrompt } from '../prompt/document.ts'
import { holdsKeys } from '../tool/hard-links.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import type { FindDefinitions } from './definitions.ts'
import type { AgentLookup } from './prompt-agents.ts'

export interface RolePlaces {
  readonly lookup: AgentLookup
  readonly definitions: FindDefinitions
  readonly cwd: string
  readonly reads?: ReadLog | undefined
}

/**
 * The roles of `[collab]`: those that the file defines, and the built-in ones, which inherit everything from the
 * agent that starts them.
 * @throws BatonError the error of a role, at its place: a missing agent, an unreadable file, or invalid settings
 */
export async function findRoles(spec: RunSpec, places: RolePlaces): Promise<ReadonlyMap<string, AgentDefinition>> {
  const { collab } = spec.settings
  if (collab === undefined) return new Map()
  const { load, callers } = places.lookup
  const found = new Map<string, AgentDefinition>()
  for (const name of roleNames(collab)) {
    const role = await findRole(name, spec, places)
    found.set(name, role)
    const { agent } = role
    if (collab.roles[name] === undefined || agent.kind !== 'prompt') continue
    await load({ ...agent, builtIn: false }, { options: {} }, [...callers, spec.file])
  }
  return found
}

async function runsItself(name: string, spec: RunSpec): Promise<BatonError> {
  const place = await placeInPrompt(spec, ['collab', 'roles', name, 'agent'], 'value')
  const hint = 'Remove agent: without it, a role has the model and the tools of the file.'
  return new BatonError('AGENT_CYCLE', `the role "${name}" is this file itself`, { place, hint })
}

/** The roles that a model may name, the built-in ones first. */
export function roleNames({ roles }: Pick<Collab, 'roles'>): readonly string[] {
  return [...new Set([...Object.keys(builtInRoles), ...Object.keys(roles)])]
}

/** One role of a file, without checking its agent. @throws as `findRoles` */
export async function findRole(name: string, spec: RunSpec, places: RolePlaces): Promise<AgentDefinition> {
  const written = spec.settings.collab?.roles[name]
  const builtIn = { from: 'built-in', isTrusted: true, values: builtInRoles[name] ?? {} } as const
  if (written === undefined) return joinParts(name, [builtIn], spec.file)
  const { agent, description } = written
  if (typeof agent === 'string') {
    const found = await atKey(spec, name, 'agent', () => agentOfRole(agent, name, places))
    if (found.agent.file === spec.file && found.agent.defined === undefined) throw await runsItself(name, spec)
    const text = typeof description === 'string' ? description : (found.description ?? builtIn.values['description'])
    return { ...found, name, description: typeof text === 'string' ? text : modelText`Works as ${agent}.` }
  }
  const layer = layerOfRoles(spec)
  const values = await atKey(spec, name, 'instructions', () => withInstructions(written, layer, spec, places))
  const part = partOfTable(values, { layer, at: ['collab', 'roles', name] }, { cwd: places.cwd, promptFile: spec.file })
  const role = joinParts(name, [builtIn, part], spec.file)
  if (role.agent.kind === 'prompt') {
    await places.lookup.load({ ...role.agent, builtIn: false }, { options: {} }, [...places.lookup.callers, spec.file])
  }
  return role
}

/** Tools that a role names explicitly but does not get, because the model that starts it does not have them. */
export function withheldTools(
  { tools = [] }: Pick<AgentDefinition, 'tools'>,
  { tools: own = [], disallowed_tools }: Pick<RunSpec['settings'], 'tools' | 'disallowed_tools'>,
): readonly string[] {
  const filter = { tools: own, ...defined({ disallowed_tools }) }
  return tools.filter((tool) => !tool.includes('*') && !passesFilters(tool, [filter]))
}

/** The layer that defines the effective roles; they all come from one. */
function layerOfRoles({ origins, layers }: RunSpec): Layer {
  return origins.find(({ path }) => path[0] === 'collab' && path[1] === 'roles')?.layer ?? layers.own
}

/** The agent of a role: a definition by its name, or a prompt file. */
async function agentOfRole(
  agent: string,
  role: string,
  { lookup, definitions, cwd }: RolePlaces,
): Promise<AgentDefinition> {
  const { byName, broken } = await definitions()
  const why = broken.get(agent)
  if (why !== undefined) throw why
  const found = await lookup.find(agent)
  const defined = byName.get(agent)
  if (defined !== undefined) return defined
  if (found.kind === 'prompt') return definitionOfFile(found, { name: agent, cwd })
  throw new BatonError('CONFIG_INVALID', `the role "${role}" cannot be ${agent}: a script takes no messages`, {
    hint: 'Name a prompt file, or an agent of [agents].',
  })
}

async function definitionOfFile(
  { file, text }: Pick<PromptFile, 'file' | 'text'>,
  { name, cwd }: { readonly name: string; readonly cwd: string },
): Promise<AgentDefinition> {
  const shown = displayPath(realPath(cwd), file)
  const { meta, instruction } = await parsePrompt(shown, text)
  const source = { file, shown, text, form: 'prompt', at: [] } as const
  const values = { ...meta.data, instructions: instruction }
  return joinParts(name, [{ from: 'workspace', isTrusted: false, values, source }], file)
}

/** Instructions that name a Markdown file are replaced by its text. */
async function withInstructions(
  role: JsonObject,
  { origin }: Layer,
  { workspace, promptDir }: RunSpec,
  { cwd, reads }: RolePlaces,
): Promise<JsonObject> {
  const { instructions } = role
  if (typeof instructions !== 'string' || !/^\S+\.md$/.test(instructions)) return role
  const isOwn = origin.kind === 'user'
  const base = isOwn ? dirname(resolve(cwd, origin.file)) : /^\.\.?\//.test(instructions) ? promptDir : workspace
  const file = resolve(base, instructions)
  const shown = displayPath(realPath(cwd), file)
  if (!isOwn) {
    if (!isInside(workspace, file)) {
      const hint = 'Put the file into the workspace, or write the text itself.'
      throw new BatonError('OUTSIDE_WORKSPACE', `${shown} is outside the workspace ${workspace}`, { hint })
    }
    refuseEscape(file, { within: workspace, cwd, reads })
    if (holdsKeys(realPath(file), workspace)) {
      const hint = 'Its text would be sent to the model: name another file.'
      throw new BatonError('UNTRUSTED', `${shown} holds keys`, { hint })
    }
  }
  const text = textOf(file, instructions, reads)
  if ((await parsePrompt(shown, text)).meta.language !== 'none') {
    throw new BatonError('CONFIG_INVALID', `${shown} is a prompt file: instructions are text`, {
      hint: `Write agent = ${JSON.stringify(instructions)} instead: its front matter says how it works.`,
    })
  }
  return { ...role, instructions: text.trim() }
}

function textOf(file: string, written: string, reads: ReadLog | undefined): string {
  try {
    return readSource(file, reads)
  } catch (error) {
    if (!isBatonError(error) || isFile(file)) throw error
    throw new BatonError('FILE_UNREADABLE', `the file ${written} of instructions does not exist`, {
      hint: 'Names are relative to the workspace, or with ./ to the folder of the prompt file. Text that ends in .md must contain a space.',
      cause: error,
    })
  }
}

/** Places an error without a place at the key of the role. */
async function atKey<T>(spec: RunSpec, role: string, key: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isBatonError(error)) throw error
    const isHere = isJsonObject(spec.frontMatter['collab'] ?? null)
    const place = isHere ? await placeInPrompt(spec, ['collab', 'roles', role, key], 'value') : undefined
    throw place === undefined ? error : rewordError(error, { from: place })
  }
}
