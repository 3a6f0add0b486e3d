import { existsSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { BatonError, isBatonError } from '../../base/error.ts'
import { displayPath, isInside, readSourceFile, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { escapeControls, harmlessName } from '../../base/terminal-text.ts'
import { readTomlFile } from '../../base/toml.ts'
import { issuesOf, issuesToError, throwIssues, withPlace } from '../../settings/issue.ts'
import { findWorkspace, userConfigFile } from '../../config/locate.ts'
import { filesNamed, wordsIn } from '../../config/named-files.ts'
import {
  checkTrust,
  isUnchanged,
  needsTrust,
  needyKeys,
  promptTrustText,
  readTrusted,
  sealNames,
  type TrustedFile,
  trustFile,
  trustKey,
  writeTrusted,
} from '../../config/trust.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { ask, type MayAsk } from '../confirm.ts'
import { type CommandIo, openWorkplace, type Surroundings, type Workplace } from '../io.ts'
import { pathText } from '../../base/data-text.ts'
import { refuseEscape } from '../../base/link-escape.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { limitedModelNames } from '../../config/limited-model-names.ts'
import { readConfigFiles, readForm, userValues } from '../../config/config-files.ts'
import { isLeading, parseVariables } from '../../config/env-file.ts'
import { withoutQueries } from '../../config/layers.ts'
import { readMcpFile } from '../../config/mcp-file.ts'
import { inPackFolder, packFolderVariable } from '../../config/mcp-pack-paths.ts'
import { variablesOf } from '../../settings/mcp-servers.ts'
import { unusedServerHint, unusedServersText } from '../../config/unused-servers.ts'
import { mcpTrustText, usableServers } from '../../config/mcp-layer.ts'
import type { UserLimits } from '../../config/user-limits.ts'
import { keyGlobsIn } from '../../load/named-files.ts'
import { isFolderRoot, nameGuard, nameKey } from '../../pack/name-guard.ts'
import { findPack, noPack, packRoots } from '../../pack/find-pack.ts'
import { packOfFile } from '../../pack/granted.ts'
import { parsePackRef } from '../../pack/pack-ref.ts'
import { serverFileOf } from '../../pack/server-file.ts'
import { parseAgentFile } from '../../config/foreign-agent.ts'
import { isFile } from '../../base/entries.ts'
import {
  agentName,
  type AgentPath,
  agentPaths,
  placeInAgents,
  unparsedName,
  userAgentsFolder,
  workspaceAgentsFolders,
} from '../../config/agent-files.ts'
import { commandKeys, isCommand } from '../../settings/agents.ts'
import { startingKeys } from '../../settings/keys.ts'
import { isBuiltInName } from '../../config/builtin-names.ts'
import { executedWords } from '../../config/executed-words.ts'
import type { PromptDocument } from '../../prompt/document.ts'
import { packageRoot } from '../../package-root.ts'

/** `baton trust [FILE…]`: allows files to set guarded keys, by recording their current content. */
export async function trustCommand(flags: Flags<'trust'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  if (flags.remove) return removeTrust(flags, workplace, io)
  await (flags.files.length === 0 ? listTrust(workplace) : addTrust(flags.files, workplace))
  return 0
}

/**
 * Asks whether to trust the current content of the files for which a run was refused. True: they are trusted, and the
 * run may be tried again. Does not ask about files that `baton trust` would refuse.
 */
export async function askForTrust(
  error: unknown,
  { flags, around }: { readonly flags: MayAsk; readonly around: Surroundings },
  io: CommandIo,
): Promise<boolean> {
  const refused = issuesOf(error).filter(({ code }) => code === 'UNTRUSTED')
  const files = [...new Set(refused.flatMap(({ place }) => place?.file ?? []))]
  if (files.length === 0) return false
  const subjects = await trustable(files, around).catch((problem: unknown) => {
    if (isBatonError(problem)) return undefined
    throw problem
  })
  if (subjects === undefined) return false
  // in full, however long: a truncated part could be what matters
  const shown = valueLines(subjects.flatMap(({ values }) => values))
  const named = subjects.map(({ keys }, index) => `${files[index]} (${keys.join(', ')})`)
  const question = `${shown}trust ${harmlessName(named.join(' and '))} with this content`
  if ((await ask(question, flags, io)) !== true) return false
  recordTrust(subjects, around)
  return true
}

/**
 * What the files need trust for, with their current content. Reads all before the first is recorded.
 * @throws BatonError for a file that cannot be read, cannot be trusted, or needs no trust
 */
function trustable(files: readonly string[], around: Surroundings): Promise<readonly TrustSubject[]> {
  return Promise.all(files.map((file) => trustSubject(file, around)))
}

function valueLines(values: readonly string[]): string {
  return values.map((value) => `  ${harmlessName(escapeControls(value))}\n`).join('')
}

function recordTrust(subjects: readonly TrustSubject[], around: Surroundings): void {
  const store = trustFile(around)
  const since = new Date().toISOString()
  const files = subjects.map(({ path, content, keys, names }): readonly [string, TrustedFile] => {
    const leads = filesNamed(names.words, names.folders)
    const isNone = Object.keys(leads).length === 0
    const sealed = names.words.length === 0 ? {} : { sealed: sealNames(names, content) }
    const hash = content === '' ? '' : sha256(content)
    return [path, { hash, keys, since, ...(isNone ? {} : { leads }), ...sealed }]
  })
  writeTrusted(store, new Map([...readTrusted(store), ...files]))
}

async function addTrust(files: readonly string[], workplace: Workplace): Promise<void> {
  const subjects = await trustable(files, workplace)
  recordTrust(subjects, workplace)
  const { cwd, print, note } = workplace
  for (const { path, keys, values, names } of subjects) {
    const shown = harmlessName(displayPath(cwd, path))
    print({ file: path, trusted: true, keys }, () => `${shown}: trusted with ${harmlessName(keys.join(', '))}\n`)
    note(valueLines(values))
    for (const file of Object.keys(filesNamed(names.words, names.folders)))
      note(`  and with the content of ${harmlessName(displayPath(cwd, file))}\n`)
  }
  if (subjects.some(({ content }) => content !== '')) {
    const hasServers = subjects.some(({ keys }) => keys.some((key) => key.startsWith('mcp_servers')))
    note(`valid until the files change${hasServers ? '' : '; your keys are never sent to their hosts'}\n`)
  }
}

/** Also removes trust of files that no longer exist. */
function removeTrust({ files, json, level }: Flags<'trust'>, workplace: Workplace, io: CommandIo): number {
  if (files.length === 0) throw usageError('--remove needs files', 'baton trust lists the trusted files.')
  const { cwd, print } = workplace
  const store = trustFile(workplace)
  const trusted = new Map(readTrusted(store))
  let missing = 0
  for (const name of files) {
    const path = trustPath(name, workplace)
    const file = [trustKey(path, findWorkspace(workplace)), realPath(path)].find((one) => trusted.delete(one))
    if (file !== undefined) {
      const text = `${harmlessName(displayPath(cwd, file))}: no longer trusted\n`
      print({ file, trusted: false }, () => (level === 'quiet' ? '' : text))
    } else {
      missing += 1
      if (!json) io.err(`${harmlessName(name)} was not trusted\n`)
    }
  }
  writeTrusted(store, trusted)
  return missing === 0 ? 0 : 1
}

const stateNotes = { trusted: '', changed: ' (changed since, no longer trusted)', missing: ' (missing)' } as const

async function listTrust(workplace: Workplace): Promise<void> {
  const { cwd, print, note } = workplace
  const trusted = readTrusted(trustFile(workplace))
  for (const [file, entry] of trusted) {
    const { keys, since } = entry
    const state = await stateOf(file, entry)
    print(
      { file, keys, since, state },
      () => `${harmlessName(displayPath(cwd, file))}: ${harmlessName(keys.join(', '))}${stateNotes[state]}\n`,
    )
  }
  if (trusted.size === 0) note('no file is trusted\n')
}

async function stateOf(path: string, entry: TrustedFile): Promise<keyof typeof stateNotes> {
  if (entry.hash === '') return existsSync(path) ? 'trusted' : 'missing'
  try {
    return isUnchanged(entry, await presentContent(path)) ? 'trusted' : 'changed'
  } catch (error) {
    return error instanceof BatonError && error.code === 'FILE_UNREADABLE' ? 'missing' : 'changed'
  }
}

/** What trusting a file or a pack would allow. */
export interface TrustSubject extends Subject {
  /** Absolute, see `trustKey`. */
  readonly path: string
}

/**
 * Reads what can be trusted: a config file, a prompt file, an agent or pack folder that shadows another one of the same
 * name, or a file of variables.
 * @throws BatonError USAGE if it needs no trust, UNTRUSTED for settings that trust cannot allow, FILE_UNREADABLE
 */
export async function trustSubject(name: string, around: Surroundings): Promise<TrustSubject> {
  const path = trustPath(name, around)
  const workspace = findWorkspace(around)
  if (/\.(?:toml|json)$/.test(path) && isInside(workspace, path)) {
    refuseEscape(path, {
      within: packOfFile(path, packRoots(workspace, around))?.dir ?? workspace,
      cwd: around.cwd,
    })
  }
  const subject = await read(path, name, around)
  if (subject.keys.length === 0)
    throw usageError(`${name} sets nothing that needs trust`, 'You can use it without trusting it.')
  return { ...subject, path: trustKey(path, findWorkspace(around)) }
}

/**
 * The absolute path of the file that a name means; for a pack (`namespace@pack`), its file of MCP servers.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS for a pack
 */
export function trustPath(name: string, around: Surroundings): string {
  const path = resolve(around.cwd, name)
  if (!/^[\w-]*@[\w-]+$/.test(name) || statSync(path, { throwIfNoEntry: false }) !== undefined) return path
  const ref = parsePackRef(name)
  const places = { packRoots: packRoots(findWorkspace(around), around) }
  const pack = findPack(ref, places)
  if (pack === undefined) throw noPack(ref, places)
  const file = serverFileOf(pack)
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) return file
  throw usageError(`${pack.identity} has no MCP servers`, 'There is nothing to trust: its folder has no .mcp.json.')
}

async function read(path: string, name: string, around: Surroundings): Promise<Subject> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return readPack(path, around)
  switch (extname(path)) {
    case '.md':
      return readPromptFile(path, name, around)
    case '.toml':
      return readConfig(path, name, around)
    case '.json':
      return readServers(path, around)
    case '.aip':
    case '.lua':
      return readAgent(path, around)
    default:
      return readVariables(path, around)
  }
}

/** The current content that counts for trust in a file of any kind. */
export async function presentContent(path: string): Promise<string> {
  const text = readSourceFile(path)
  return path.endsWith('.md')
    ? promptTrustText(await parseAgentFile(path, text))
    : /\.(?:toml|json)$/.test(path)
      ? text.replace(/^\uFEFF/, '')
      : text
}

async function readPromptFile(path: string, name: string, around: Surroundings): Promise<Subject> {
  const document = await parseAgentFile(displayPath(around.cwd, path), readSourceFile(path))
  const { data } = document.meta
  const subject = await settingsSubject({ data, content: promptTrustText(document), path, name }, 'prompt', around)
  const defines = definedName(document, path, around)
  return defines === undefined ? subject : withDefinition(subject, { name: defines, path, data }, around)
}

async function readConfig(path: string, name: string, around: Surroundings): Promise<Subject> {
  const { data, text } = await readTomlFile(displayPath(around.cwd, path), readSourceFile(path))
  const form = basename(dirname(path)) === '.aipack' ? 'aipack' : 'baton'
  return settingsSubject({ data: readForm(form, data).values, content: text, path, name }, 'config', around)
}

/** `.mcp.json`: each of its servers, in full. Paths in the file of a pack are relative to its folder. */
async function readServers(path: string, around: Surroundings): Promise<Subject> {
  const text = readSourceFile(path)
  const file = readMcpFile(displayPath(around.cwd, path), text)
  const workspace = findWorkspace(around)
  const pack = packOfFile(path, packRoots(workspace, around))
  const { tables: servers, issues, unusable } = await usableServers(file, pack === undefined ? 'run' : 'pack')
  const names = Object.keys(servers)
  // there is nothing to trust in it, and a reason
  if (names.length === 0) {
    throwIssues(issues)
    const [why] = unusable
    if (why !== undefined) throw usageError(`${unusedServersText(why)}`, unusedServerHint(why))
  }
  return {
    content: mcpTrustText(text),
    keys: names.map((server) => `mcp_servers.${server}`),
    values: [...serverLines(servers), ...unusable.map(unusedServersText)],
    names:
      pack === undefined
        ? { words: wordsIn(textsIn(servers)), folders: [workspace, dirname(path)] }
        : {
            words: wordsIn(textsIn(servers).map((text) => inPackFolder(text, pack.dir))),
            folders: [pack.dir, ...foldersOf(servers, pack.dir)],
          },
  }
}

/** The folders that servers of a pack work in. */
function foldersOf(servers: Json, dir: string): readonly string[] {
  const tables = isJsonObject(servers) ? Object.values(servers) : []
  return tables.flatMap((table) => {
    const cwd = isJsonObject(table) ? table['cwd'] : undefined
    return typeof cwd === 'string' ? [resolve(dir, inPackFolder(cwd, dir))] : []
  })
}

/** Each server in full, and the environment variables they get. */
function serverLines(servers: JsonObject): readonly string[] {
  const variables = variablesOf(servers).filter((name) => name !== packFolderVariable)
  return [
    ...Object.entries(servers).map(([name, value]) => `mcp_servers.${name} = ${JSON.stringify(value)}`),
    ...(variables.length === 0 ? [] : [`they get the values of ${variables.join(', ')}`]),
  ]
}

interface FileSettings {
  readonly data: JsonObject
  readonly content: string
  readonly path: string
  readonly name: string
}

async function settingsSubject(
  { data, content, path, name }: FileSettings,
  by: UserLimits['by'],
  around: Surroundings,
): Promise<Subject> {
  const { layers, workspace } = await readConfigFiles(around)
  const own = userValues(layers)
  const named = by === 'config' ? await hiddenFiles(data, around) : []
  const builtIn = by === 'config' ? await limitedModelNames(data, own) : []
  const needs = needsTrust(data, { by, own: [...own, ...builtIn], isForeign: true })
  const [finding] = checkTrust(data, needs, { file: name, userFile: userConfigFile(around), state: 'trusted' })
  if (finding !== undefined) throw issuesToError([withPlace(finding, { file: path })])
  const guarded = needs.guarded.map((key): readonly [string, Json] => [key, data[key] ?? null])
  const looser = needs.loosened.map(({ path: at, value, definition }): readonly [string, Json] => {
    return definition === undefined ? [pathText(at), value] : [pathText(definition.path), definition.value]
  })
  const all = [...new Map([...guarded, ...looser])]
  const keyGlobs = keyGlobsIn(data, workspace)
  return {
    content,
    keys: [...needyKeys(needs), ...keyGlobs.map(([key]) => key), ...named.map(nameKey)],
    values: [...all, ...keyGlobs, ...named.map((hides): [string, Json] => [nameKey(hides), 'shadows yours'])].flatMap(
      ([key, value]) =>
        key === 'mcp_servers' && isJsonObject(value)
          ? serverLines(value)
          : [`${key} = ${JSON.stringify(withoutQueries(value))}`],
    ),
    names: {
      words: wordsIn([
        ...all.flatMap(([key, value]) => leadingTexts(key, value)),
        // commands may start there
        ...(all.length > 0 && typeof data['base_dir'] === 'string' ? [data['base_dir']] : []),
      ]),
      folders: [workspace, dirname(path)],
    },
  }
}

function readVariables(path: string, around: Surroundings): Subject {
  const text = readSourceFile(path)
  const leading = Object.entries(parseVariables(text)).filter(([name]) => isLeading(name))
  return {
    content: text,
    keys: leading.map(([name]) => name),
    values: leading.map(([name, value]) => `${name} = ${JSON.stringify(withoutQueries(value))}`),
    names: { words: wordsIn(leading.map(([, value]) => value)), folders: [findWorkspace(around), dirname(path)] },
  }
}

/** A file next to prompt files that has the name of an agent of the user or of Baton. */
async function readAgent(path: string, around: Surroundings): Promise<Subject> {
  const stem = basename(path).replace(/\.(?:aip|lua)$/, '')
  const name = stem === 'main' ? basename(dirname(path)) : stem
  return nameSubject({ path, name, other: await otherOfName(name, around) })
}

/** The folder of a workspace pack that shadows one of the user's. */
function readPack(path: string, around: Surroundings): Subject {
  const workspace = findWorkspace(around)
  const guard = nameGuard(workspace, around)
  const [namespace, pack] = [basename(dirname(path)), basename(path)]
  const roots = packRoots(workspace, around).filter((root) => !isFolderRoot(root, guard))
  const dirs = roots.map((root) => join(root, namespace, pack))
  const other = dirs.find((dir) => statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true)
  return nameSubject({ path, name: `${namespace}@${pack}`, other })
}

/** What trusting a file or pack would allow. */
export interface Subject {
  /** What counts for trust; empty for a place that may define a name, whatever its content is. */
  readonly content: string
  /** What needs trust: keys, variables, a name. */
  readonly keys: readonly string[]
  /** Each with its full value. */
  readonly values: readonly string[]
  /** What the values name. */
  readonly names: NonNullable<TrustedFile['names']>
}

/** The name by which the file defines an agent of the workspace; undefined if it defines none. */
export function definedName(document: PromptDocument, path: string, around: Surroundings): string | undefined {
  const at = placeInAgents(path, workspaceAgentsFolders(findWorkspace(around)))
  return at && agentName(document, at)
}

/** Adds what a named agent needs trust for: its name, and the programs it starts, because a model may run it. */
export async function withDefinition(
  subject: Subject,
  { name, path, data }: { readonly name: string; readonly path: string; readonly data: JsonObject },
  around: Surroundings,
): Promise<Subject> {
  const hidden = nameSubject({ path, name, other: await otherOfName(name, around) })
  const starting: readonly string[] = isCommand(data) ? commandKeys : startingKeys
  const program = Object.entries(data).filter(([key]) => starting.includes(key))
  const { content, keys, values, names } = subject
  return {
    content,
    keys: [...keys, ...program.map(([key]) => key), ...hidden.keys],
    values: [...values, ...program.map(([key, value]) => `${key} = ${JSON.stringify(value)}`), ...hidden.values],
    names: {
      words: [...names.words, ...wordsIn(program.flatMap(([key, value]) => leadingTexts(key, value)))],
      folders: [...new Set([...names.folders, findWorkspace(around), dirname(path)])],
    },
  }
}

/** The agent of the user or of Baton with this name; undefined if there is none. */
export async function otherOfName(name: string, around: Surroundings): Promise<string | undefined> {
  const file = await otherFile(name, around)
  if (file !== undefined) return file
  const { layers, userFile } = await readConfigFiles(around)
  const isUsers = layers.some(({ origin, values: { agents = null } }) => {
    return origin.kind === 'user' && isJsonObject(agents) && Object.hasOwn(agents, name)
  })
  if (isUsers) return userFile
  return isBuiltInName(name) ? `the built-in agent ${name}` : undefined
}

/** Names of agents in `[agents]` that files of the user or of Baton also define. */
export async function hiddenFiles({ agents = null }: JsonObject, around: Surroundings): Promise<readonly string[]> {
  if (!isJsonObject(agents)) return []
  const names: string[] = []
  for (const name of Object.keys(agents)) {
    if ((await otherFile(name, around)) !== undefined) names.push(name)
  }
  return names
}

async function otherFile(name: string, around: Surroundings): Promise<string | undefined> {
  for (const at of agentPaths(userAgentsFolder(around))) {
    if ((await nameOf(at)) === name) return at.path
  }
  const files = ['aip', 'lua'].map((ending) => join(packageRoot(), 'agents', `${name}.${ending}`))
  return files.find((file) => isFile(file))
}

async function nameOf(at: AgentPath): Promise<string | undefined> {
  let text = ''
  try {
    text = readSourceFile(at.path)
    return agentName(await parseAgentFile(at.path, text), at)
  } catch (error) {
    if (!isBatonError(error)) throw error
    return unparsedName(text, at)
  }
}

/** The strings of a setting that may name files; of the command line of `gate`, only the words that may be executed. */
export function leadingTexts(key: string, value: Json): readonly string[] {
  return key === 'gate' && typeof value === 'string' ? executedWords(value) : textsIn({ [key]: value })
}

/** The texts of a value. Of variables and headers, which may hold keys, only the words that look like files. */
export function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const texts = textsIn(inner as Json)
    return key === 'env' || key === 'headers' ? texts.flatMap(fileWords) : texts
  })
}

function fileWords(text: string): readonly string[] {
  return text
    .split(/[\s"'=:;,]+/)
    .filter((word) => /^(?:\.{1,2}|~|\$\w+|\$\{\w+\})?\/|^[\w@-]{1,24}\.[a-z]{1,4}$/i.test(word))
}

const noNames = { words: [], folders: [] }

export function nameSubject({
  name,
  path,
  other,
}: {
  readonly name: string
  readonly path: string
  readonly other: string | undefined
}): Subject {
  if (other === undefined) return { content: '', keys: [], values: [], names: noNames }
  return {
    content: '',
    keys: [nameKey(name)],
    values: [`${nameKey(name)} means ${path}, which shadows ${other}`],
    names: noNames,
  }
}
