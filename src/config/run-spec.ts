import { statSync } from 'node:fs'
import { basename, dirname, relative, resolve, sep } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { defined, equalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { readSource } from '../base/reads.ts'
import { withPlugins } from './config-files.ts'
import { parsePrompt, placeOf, type PromptDocument } from '../prompt/document.ts'
import type { DefinedText } from './agent-definitions.ts'
import type { AgentConfig } from './agent-config.ts'
import type { AgentPath } from './agent-files.ts'
import { checkReserved } from './check-settings.ts'
import { checkWaits } from '../settings/collab.ts'
import { checkFrontMatter, unlikelyPrompt } from './front-matter.ts'
import { type InputVariable, readVariables } from './input-variables.ts'
import { type Finding, type Issue, throwIssues, withPlace, wrongValue } from '../settings/issue.ts'
import { isRequestKey, isReserved } from '../settings/keys.ts'
import { mergeLayers, placeOrigins, type Layer, type MergedLayers, type SourcedValue } from './layers.ts'
import type { UnusedServers, ServersOfPack } from './unused-servers.ts'
import { findWorkspace } from './locate.ts'
import { locatedRules } from './permission-rules.ts'
import { settingsOf, type Settings } from './settings.ts'
import { checkBounds, type ConfigOptions, readLayers, type SurroundingLayers } from './target-config.ts'
import { promptTrustText, trustState, type TrustState } from './trust.ts'

export interface RunSpecOptions extends ConfigOptions {
  /** The prompt file, relative to `cwd` or absolute; with `text` only a name for messages. */
  readonly file: string
  /** The prompt itself, if it is not a file: its folder is `cwd`. */
  readonly text?: string
  /** A message of a conversation, which replaces the text below the front matter. It is not a template. */
  readonly instruction?: string
  /** The definition of an agent in `file`, if its text is not that of the file. */
  readonly definition?: { readonly name: string; readonly text: string; readonly defined: DefinedText }
}

/** One prompt file with everything that determines how it is run. */
export interface RunSpec {
  readonly document: PromptDocument
  /** The message that replaces the text of the file, if any. */
  readonly asked?: string
  /** `text`: from the command line or standard input, so there is no file to protect or to write. */
  readonly source: 'file' | 'text'
  /** It defines an agent: a table of `[agents]`, a built-in definition, or a file of a folder `agents/`. */
  readonly isDefinition: boolean
  /** Absolute path of the prompt file; for text its name. */
  readonly file: string
  /** Absolute path of its folder; for text the current folder. */
  readonly promptDir: string
  /** Absolute, links resolved. */
  readonly workspace: string
  /** As written. */
  readonly frontMatter: JsonObject
  /**
   * The initial `coder_params`: the front matter without `sub_agents`, `params` and `test`, merged with the entries of
   * `[params]`, and always with `context_globs`, `structure_globs`, `knowledge_globs`.
   */
  readonly params: JsonObject
  readonly agents: readonly AgentConfig[]
  /** The variables declared by `[input]`; undefined without such a table. */
  readonly variables: readonly InputVariable[] | undefined
  /** `own` is the front matter. */
  readonly layers: Pick<SurroundingLayers, 'below' | 'above' | 'shared'> & { readonly own: Layer }
  readonly settings: Settings
  readonly origins: readonly SourcedValue[]
  readonly warnings: readonly Issue[]
  /** What `baton check` reports and a run does not. */
  readonly notes: readonly Issue[]
  /** MCP servers that are not used because their file is not trusted. */
  readonly leftOut: readonly UnusedServers[]
  /** The servers of the pack that contains the file; omitted: none. */
  readonly ofPack?: ServersOfPack
  /** It is an agent of another program, whose tools may be missing here; those that were already left out. */
  readonly foreignTools?: readonly string[]
  /** Warnings about tools that were left out, also told by whoever runs it as an agent. */
  readonly toolNotes?: readonly Issue[]
  /** See `Flags`. */
  readonly isRecordedTool?: (name: string) => boolean
}

/**
 * Reads a prompt file, the config around it, and the flags.
 * @throws BatonError for the first of all issues, missing trust first; all are in `issuesOf(error)`
 */
export async function loadRunSpec(options: RunSpecOptions): Promise<RunSpec> {
  const { issues, spec } = await readRunSpec(options)
  throwIssues(issues)
  if (spec === undefined) throw new Error('a prompt file without issues has a spec')
  return spec
}

export interface ReadRunSpec {
  readonly issues: readonly Issue[]
  /** Without the invalid keys; undefined if the surrounding config is invalid, or the file is not trusted. */
  readonly spec: RunSpec | undefined
}

/**
 * The same for `baton check`: invalid keys are not thrown, so that the rest can be checked too.
 * @throws BatonError for a file that cannot be read
 */
export async function readRunSpec(options: RunSpecOptions): Promise<ReadRunSpec> {
  const { document, isAgent = false, ...source } = await readPrompt(options)
  const { file: path, source: from } = source
  const { definition, instruction } = options
  const isForeign = (workspace: string): boolean =>
    (from === 'text' && definition === undefined) || !isInside(workspace, realPath(path))
  const around = await readLayers({ ...options, isForeign })
  const { workspace, userFile, own: held, overridden, below, above, shared, notes, leftOut } = around
  const trust = (): TrustState => {
    if (definition !== undefined) return definition.defined.isTrusted ? 'trusted' : 'none'
    return from === 'text'
      ? 'none'
      : trustState({ path, content: promptTrustText(document) }, { ...options, workspace })
  }
  const checked = await checkFrontMatter(document, { userFile, trust, own: held, overridden })
  const found = [...around.issues, ...checked.issues]
  if (around.issues.length > 0 || found.some(({ code }) => code === 'UNTRUSTED'))
    return { issues: found, spec: undefined }

  const { data, locate } = document.meta
  const { file } = document
  const { permission } = checked.values
  const written: Layer = {
    origin: { kind: 'front matter', file },
    values: withPlugins(instruction === undefined ? checked.values : untemplated(checked.values), source.promptDir),
    locate,
    text: document.text,
    ...(checked.isTrusted ? { isTrusted: true } : {}),
    ...(permission === undefined
      ? {}
      : { rules: await locatedRules(permission, { file, locate, tightens: !checked.isTrusted }) }),
  }
  const all = mergeLayers([...below, written, ...above])
  const wrongIn = ({ values }: MergedLayers): readonly Finding[] => [
    ...checkBounds(values, { workspace }),
    ...checkWaits(values['collab']),
  ]
  const outside = wrongIn(all)
  const issues = [...found, ...(await placeOrigins(outside, all.origins))]
  const own = { ...written, values: without(written.values, outside) }
  const merged = outside.length === 0 ? all : mergeLayers([...below, own, ...above])
  if (outside.length > 0 && wrongIn(merged).length > 0) return { issues, spec: undefined }
  const settings = withModeOptions(settingsOf(merged.values, { workspace }), checked.params)
  const missing = await placeOrigins(missingBaseDir(settings, workspace), merged.origins)
  const spec: RunSpec = {
    document: instruction === undefined ? document : withInstruction(document, instruction),
    ...(instruction === undefined ? {} : { asked: instruction }),
    ...source,
    isDefinition: definition !== undefined || (from === 'file' && isAgent),
    workspace,
    frontMatter: data,
    params: initialParams(data, checked.params, below),
    agents: checked.agents,
    variables: isJsonObject(checked.values['input']) ? readVariables(checked.values['input']) : undefined,
    layers: { below, own, above, shared },
    settings,
    origins: merged.origins,
    warnings: [...(source.source === 'file' ? unlikelyPrompt(document) : []), ...checked.warnings, ...missing],
    notes,
    leftOut,
    ...defined({ isRecordedTool: options.flags.isRecordedTool }),
  }
  return { issues, spec }
}

/** The document with a different instruction, whose answer is not written to the file. */
function withInstruction(document: PromptDocument, instruction: string): PromptDocument {
  const { transcriptLine: _, ...asked } = document
  return { ...asked, instruction: instruction.trim() }
}

function untemplated(written: JsonObject): JsonObject {
  const { template: _, ...values } = written
  return values
}

function without(values: JsonObject, findings: readonly Finding[]): JsonObject {
  const wrong = new Set(findings.map(({ path: [key] }) => key))
  return Object.fromEntries(Object.entries(values).filter(([key]) => !wrong.has(key)))
}

type PromptSource = Pick<RunSpec, 'document' | 'source' | 'file' | 'promptDir' | 'foreignTools'> & {
  readonly isAgent?: boolean
}

async function readPrompt({
  cwd,
  env,
  home,
  file: name,
  text,
  definition,
  reads,
}: RunSpecOptions): Promise<PromptSource> {
  if (definition !== undefined) {
    const { definitionDocument } = await import('./definition-document.ts')
    const document = await definitionDocument(definition)
    const { foreignTools } = definition.defined
    return { document, source: 'text', file: name, promptDir: dirname(name), ...defined({ foreignTools }) }
  }
  if (text !== undefined) {
    return { document: await parsePrompt(name, text), source: 'text', file: name, promptDir: resolve(cwd) }
  }
  const file = resolve(cwd, name)
  const written = readSource(file, reads, { part: 'prompt' })
  const shown = displayPath(cwd, file)
  const own = { source: 'file', file, promptDir: dirname(file) } as const
  const at = inAgentsFolder(file, { cwd, env, home })
  if (at === undefined) return { document: await parsePrompt(shown, written), ...own }
  const { parseAgentFile, readAgentFile } = await import('./foreign-agent.ts')
  const { agentName } = await import('./agent-files.ts')
  if (!at.isTop && agentName(await parseAgentFile(shown, written), at) === undefined) {
    return { document: await parsePrompt(shown, written), ...own }
  }
  return { ...(await readAgentFile(shown, written)), ...own, isAgent: true }
}

/** Where a file is in a folder of agents, ours or another program's; undefined if it is in none. */
function inAgentsFolder(path: string, around: Pick<ConfigOptions, 'cwd' | 'env' | 'home'>): AgentPath | undefined {
  if (!path.endsWith('.md')) return undefined
  const parent = dirname(path)
  if (basename(parent) === 'agents') return { path, isTop: true }
  // folders above the workspace say nothing
  const workspace = findWorkspace(around)
  const steps = isInside(workspace, path) ? relative(workspace, parent) : parent
  return steps.split(sep).includes('agents') ? { path, isTop: false } : undefined
}

/**
 * The settings after a chain has changed the params: request keys come from `params` alone, so that a key it removed
 * falls back to the layers below; frame keys stay, except what a chain may give up. Environment and flags still take
 * precedence.
 * @throws BatonError CONFIG_INVALID for a wrong value, OUTSIDE_WORKSPACE for globs that leave `base_dir`
 */
export function settingsFor(spec: RunSpec): (params: JsonObject) => Settings {
  // most tasks have the params that the round started with
  const known = new WeakMap<JsonObject, Settings>()
  return (params) => {
    const settings = known.get(params) ?? changedSettings(spec, params)
    known.set(params, settings)
    return settings
  }
}

function changedSettings(spec: RunSpec, params: JsonObject): Settings {
  const { workspace, layers } = spec
  const changed = Object.entries(params).filter(([key, value]) => mayChange(key) && value !== null)
  const findings = changed.flatMap(([key, value]) => (isReserved(key) ? checkReserved(key, value) : []))
  throwIssues(findings.map((finding) => withPlace(finding, undefined)))

  const frame = Object.entries(layers.own.values).filter(([key]) => !isRequestKey(key))
  const requested = changed.filter(([key]) => isRequestKey(key))
  const own: Layer = { ...layers.own, values: Object.fromEntries([...frame, ...requested]) }
  const values = withReducedFrame(mergeLayers([...layers.below, own, ...layers.above]).values, {
    params,
    written: spec.params,
  })
  throwIssues(checkBounds(values, { workspace }).map((finding) => withPlace(finding, undefined)))
  return withModeOptions(settingsOf(values, { workspace }), params)
}

/** What an agent of a chain may have set; it may lower the budget. */
function mayChange(key: string): boolean {
  return isRequestKey(key) || key === 'budget'
}

/**
 * The options of a mode are the table named like it; those of a built-in mode are a reserved key with its own layers.
 */
function withModeOptions(settings: Settings, params: JsonObject): Settings {
  const { mode } = settings
  const options = mode === undefined || isReserved(mode) ? null : (params[mode] ?? null)
  return isJsonObject(options) ? { ...settings, mode_options: options } : settings
}

interface ReducedFrame {
  readonly params: JsonObject
  /** The initial params: their values are in the layer of the front matter, and a flag may override them. */
  readonly written: JsonObject
}

/** Applies the frame keys that a chain may give up: the right to write, and budget. */
function withReducedFrame(values: JsonObject, { params, written }: ReducedFrame): JsonObject {
  const { budget, write_mode: writes } = values
  const wanted = params['write_mode']
  const isLess = wanted === false || (writes === true && wanted === 'ask')
  return {
    ...values,
    ...(isLess && wanted !== written['write_mode'] ? { write_mode: wanted } : {}),
    ...(isJsonObject(budget) && isJsonObject(params['budget'])
      ? { budget: lower(budget, { wanted: params['budget'], written: written['budget'] }) }
      : {}),
  }
}

function lower(
  limits: JsonObject,
  { wanted, written }: { readonly wanted: JsonObject; readonly written: Json | undefined },
): JsonObject {
  const before = isJsonObject(written) ? written : {}
  const lowered = Object.entries(wanted).flatMap(([key, other]): readonly (readonly [string, Json])[] => {
    if (equalJson(other, before[key])) return []
    const limit = limits[key]
    return [[key, typeof limit === 'number' && typeof other === 'number' ? Math.min(limit, other) : other]]
  })
  return { ...limits, ...Object.fromEntries(lowered) }
}

/** Where a key or value of the prompt file is written; for a sub-agent the path is `['sub_agents', index]`. */
export function placeInPrompt(spec: RunSpec, path: DataPath, part?: 'key' | 'value'): Promise<SourcePlace> {
  return placeOf(spec.document, path, part)
}

/** Agents find these lists even if they are empty: what the file does not set comes from the config files. */
const globsInParams = ['context_globs', 'structure_globs', 'knowledge_globs']

function initialParams(data: JsonObject, params: JsonObject, below: readonly Layer[]): JsonObject {
  const { sub_agents: _agents, params: _params, test: _test, ...written } = data
  const lists = globsInParams.map((key) => [
    key,
    below.findLast(({ values }) => values[key] !== undefined)?.values[key] ?? [],
  ])
  return { ...Object.fromEntries(lists), ...written, ...params }
}

/** A warning only, because an agent of the chain may create the folder. */
function missingBaseDir({ base_dir: folder }: Settings, workspace: string): readonly Finding[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return []
  const message = `base_dir ${displayPath(workspace, folder)} is not a folder, so globs match nothing`
  return [wrongValue(['base_dir'], { message, hint: 'Name a folder that exists.' })]
}
