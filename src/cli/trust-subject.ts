import { statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { pathText } from '../base/data-text.ts'
import { displayPath, isInside, readSourceFile } from '../base/files.ts'
import { refuseLeadingOut } from '../base/leaving.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { heldModelNames } from '../config/held-model-names.ts'
import { readConfigFiles, readForm, userValues } from '../config/config-files.ts'
import { isLeading, parseVariables } from '../config/env-file.ts'
import { issuesToError, readTomlFile, throwIssues, withPlace } from '../config/issue.ts'
import { withoutQueries } from '../config/layers.ts'
import { findWorkspace, userConfigFile } from '../config/locate.ts'
import { readMcpFile } from '../config/mcp-file.ts'
import { inPackFolder, packFolderVariable } from '../config/mcp-pack-paths.ts'
import { variablesOf } from '../config/mcp-servers.ts'
import { leftOutHint, leftOutText } from '../config/left-out-servers.ts'
import { mcpTrustText, usableServers } from '../config/mcp-layer.ts'
import type { HeldTo } from '../config/held-to.ts'
import { wordsIn } from '../config/named-files.ts'
import { checkTrust, trustKey, needsTrust, needyKeys, promptTrustText } from '../config/trust.ts'
import { isFolderRoot, nameGuard, nameKey } from '../pack/name-guard.ts'
import { findPack, noPack, packRoots } from '../pack/find-pack.ts'
import { packOfFile } from '../pack/granted.ts'
import { parsePackRef } from '../pack/pack-ref.ts'
import { serverFileOf } from '../pack/server-file.ts'
import { parseAgentFile } from '../config/foreign-agent.ts'
import { usageError } from './command.ts'
import type { Surroundings } from './io.ts'
import {
  definedName,
  hiddenFiles,
  leadingTexts,
  nameSubject,
  otherOfName,
  type Subject,
  textsIn,
  withDefinition,
} from './trust-agent.ts'

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
    refuseLeadingOut(path, {
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
    if (why !== undefined) throw usageError(`${leftOutText(why)}`, leftOutHint(why))
  }
  return {
    content: mcpTrustText(text),
    keys: names.map((server) => `mcp_servers.${server}`),
    values: [...serverLines(servers), ...unusable.map(leftOutText)],
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
  by: HeldTo['by'],
  around: Surroundings,
): Promise<Subject> {
  const { layers, workspace } = await readConfigFiles(around)
  const own = userValues(layers)
  const named = by === 'config' ? await hiddenFiles(data, around) : []
  const builtIn = by === 'config' ? await heldModelNames(data, own) : []
  const needs = needsTrust(data, { by, own: [...own, ...builtIn], isForeign: true })
  const [finding] = checkTrust(data, needs, { file: name, userFile: userConfigFile(around), state: 'trusted' })
  if (finding !== undefined) throw issuesToError([withPlace(finding, { file: path })])
  const guarded = needs.guarded.map((key): readonly [string, Json] => [key, data[key] ?? null])
  const looser = needs.loosened.map(({ path: at, value, definition }): readonly [string, Json] => {
    return definition === undefined ? [pathText(at), value] : [pathText(definition.path), definition.value]
  })
  const all = [...new Map([...guarded, ...looser])]
  return {
    content,
    keys: [...needyKeys(needs), ...named.map(nameKey)],
    values: [...all, ...named.map((hides): [string, Json] => [nameKey(hides), 'shadows yours'])].flatMap(
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
