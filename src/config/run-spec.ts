import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import { displayPath, readSourceFile } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parsePrompt, placeOf, type PromptDocument } from '../prompt/document.ts'
import type { AgentConfig } from './agent-config.ts'
import { checkBounds } from './bounds.ts'
import { checkReserved } from './check-settings.ts'
import { checkFrontMatter } from './check.ts'
import { issueText, throwIssues, withPlace, type Finding } from './issue.ts'
import { isRequestKey, isReserved } from './keys.ts'
import { mergeLayers, placeOrigins, type Layer, type SourcedValue } from './layers.ts'
import { settingsOf, type Settings } from './settings.ts'
import { readLayers, type ConfigOptions } from './target-config.ts'

export interface RunSpecOptions extends ConfigOptions {
  /** The prompt file, relative to `cwd` or absolute. */
  readonly file: string
}

/** One prompt file with everything that decides how it is run. */
export interface RunSpec {
  readonly document: PromptDocument
  /** Absolute path of the prompt file. */
  readonly file: string
  /** Absolute path of its folder. */
  readonly promptDir: string
  /** Absolute, links resolved. */
  readonly workspace: string
  /** As written. */
  readonly frontMatter: JsonObject
  /**
   * What `coder_params` starts as: the front matter without `sub_agents` and `params`, joined by the entries of
   * `[params]`, and with `context_globs`, `structure_globs`, `knowledge_globs` always there (R248 to R250).
   */
  readonly params: JsonObject
  readonly agents: readonly AgentConfig[]
  /** Layers the front matter wins over, itself, and those that win over it. */
  readonly layers: { readonly below: readonly Layer[]; readonly own: Layer; readonly above: readonly Layer[] }
  readonly settings: Settings
  readonly origins: readonly SourcedValue[]
  readonly warnings: readonly string[]
  /** What `baton check` says and a run does not. */
  readonly notes: readonly string[]
}

/**
 * Reads a prompt file, the config around it, and the flags.
 * @throws BatonError for the first of all issues, trust first; the others are in `issuesOf(error)`
 */
export async function loadRunSpec(options: RunSpecOptions): Promise<RunSpec> {
  const file = resolve(options.cwd, options.file)
  const document = await parsePrompt(displayPath(options.cwd, file), readSourceFile(file))
  const { workspace, userFile, below, above, issues, notes } = await readLayers(options)
  const checked = await checkFrontMatter(document, { userFile })
  throwIssues([...issues, ...checked.issues])

  const { data, locate } = document.meta
  const own: Layer = {
    origin: { kind: 'front matter', file: document.file },
    values: checked.values,
    locate,
    text: document.text,
  }
  const merged = mergeLayers([...below, own, ...above])
  throwIssues(await placeOrigins(checkBounds(merged.values, { workspace }), merged.origins))
  const settings = settingsOf(merged.values, { workspace })
  const missing = await placeOrigins(missingBaseDir(settings), merged.origins)
  return {
    document,
    file,
    promptDir: dirname(file),
    workspace,
    frontMatter: data,
    params: initialParams(data, checked.params),
    agents: checked.agents,
    layers: { below, own, above },
    settings,
    origins: merged.origins,
    warnings: [...checked.warnings, ...missing].map(issueText),
    notes: notes.map(issueText),
  }
}

/**
 * The settings when a chain has changed the params: request keys come from `params` alone, so that a key it lost falls
 * back to the layers below; the frame stays, but for what a chain may give up. Environment and flags win as before
 * (DESIGN 5).
 * @throws BatonError CONFIG_INVALID for a wrong value, OUTSIDE_WORKSPACE for globs that leave `base_dir`
 */
export function settingsFor(spec: RunSpec, params: JsonObject): Settings {
  const { workspace, layers } = spec
  const changed = Object.entries(params).filter(([key, value]) => isRequestKey(key) && value !== null)
  const findings = changed.flatMap(([key, value]) => (isReserved(key) ? checkReserved(key, value) : []))
  throwIssues(findings.map((finding) => withPlace(finding, undefined)))

  const frame = Object.entries(layers.own.values).filter(([key]) => !isRequestKey(key))
  const own: Layer = { ...layers.own, values: Object.fromEntries([...frame, ...changed]) }
  const values = withGivenUp(mergeLayers([...layers.below, own, ...layers.above]).values, params)
  throwIssues(checkBounds(values, { workspace }).map((finding) => withPlace(finding, undefined)))
  return settingsOf(values, { workspace })
}

/** What a chain gave up of the frame: the right to write, and money (DESIGN 5 "What a chain may change"). */
function withGivenUp(values: JsonObject, params: JsonObject): JsonObject {
  const { budget } = values
  return {
    ...values,
    ...(params['write_mode'] === false ? { write_mode: false } : {}),
    ...(isJsonObject(budget) && isJsonObject(params['budget']) ? { budget: lower(budget, params['budget']) } : {}),
  }
}

/** Limits that are both there and lower. */
function lower(limits: JsonObject, wanted: JsonObject): JsonObject {
  const lowered = Object.entries(limits).map(([key, limit]): [string, Json] => {
    const other = wanted[key]
    return [key, typeof limit === 'number' && typeof other === 'number' ? Math.min(limit, other) : limit]
  })
  return Object.fromEntries(lowered)
}

/** Where a key or value of the prompt file is written; for a sub-agent the path is `['sub_agents', index]`. */
export function placeInPrompt(spec: RunSpec, path: DataPath): Promise<SourcePlace> {
  return placeOf(spec.document, path)
}

function initialParams(data: JsonObject, params: JsonObject): JsonObject {
  const { sub_agents: _agents, params: _params, ...written } = data
  return { context_globs: [], structure_globs: [], knowledge_globs: [], ...written, ...params }
}

/** Not an error: an agent of the chain may make the folder. */
function missingBaseDir({ base_dir: folder }: Settings): readonly Finding[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return []
  const message = `base_dir ${folder} is not a folder, so globs match nothing`
  return [{ code: 'CONFIG_INVALID', message, hint: 'Name a folder that exists.', path: ['base_dir'], part: 'value' }]
}
