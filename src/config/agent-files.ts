import { basename, dirname, join, relative, sep } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { entriesIn, isFile, isFolder } from '../base/entries.ts'
import { isInside, realPath } from '../base/files.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { isDefinitionName } from '../settings/agents.ts'
import { type Surroundings, userConfigFile } from './locate.ts'

/** The folder of the user's definitions, next to the config file. */
export function userAgentsFolder(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(dirname(userConfigFile(around)), 'agents')
}

/** The folders of the definitions of a workspace, weakest first. */
export function workspaceAgentsFolders(workspace: string): readonly string[] {
  return [join(workspace, 'agents'), join(workspace, '.baton', 'agents')]
}

/** Deepest folder below `agents/` that is searched. */
const mostFolders = 8
/** Markdown files below one folder `agents/` that are considered; those nearest to it first. */
const mostFiles = 2000

/** A Markdown file in a folder of agents. */
export interface AgentPath {
  /** Absolute. */
  readonly path: string
  /** Directly in the folder, not in one below it. */
  readonly isTop: boolean
}

/**
 * The Markdown files in a folder of agents and below it, those with precedence first: the nearest to the folder, then
 * by path. Without hidden folders, node_modules, and what links outside of `within` lead to.
 */
export function agentPaths(folder: string, within?: string): readonly AgentPath[] {
  const files: AgentPath[] = []
  const seen = new Set([realPath(folder)])
  let level: readonly string[] = [folder]
  for (let depth = 0; depth <= mostFolders && level.length > 0 && files.length < mostFiles; depth++) {
    const paths = level.flatMap((each) => entriesIn(each).map(({ name }) => join(each, name))).toSorted(compareBytes)
    files.push(...paths.filter((path) => path.endsWith('.md')).map((path) => ({ path, isTop: depth === 0 })))
    level = paths.filter((path) => {
      const name = basename(path)
      if (name.startsWith('.') || name === 'node_modules' || !isFolder(path)) return false
      const real = realPath(path)
      if (seen.has(real) || (within !== undefined && !isInside(realPath(within), real))) return false
      seen.add(real)
      return true
    })
  }
  return files.filter(({ path, isTop }) => isTop || isFile(path)).slice(0, mostFiles)
}

/** The name by which the file is known as an agent; undefined if it is none. */
export function agentName({ meta }: Pick<PromptDocument, 'meta'>, { path, isTop }: AgentPath): string | undefined {
  const named = writtenName(meta)
  const own = named !== undefined && isDefinitionName(named) ? named : fileName(path)
  if (isTop) return own
  return named !== undefined && typeof meta.data['description'] === 'string' ? own : undefined
}

/** The `name` in the front matter of a file of agents, whether it can be one or not; our own files have none. */
export function writtenName({ data, language }: PromptDocument['meta']): string | undefined {
  const { name } = data
  return language === 'yaml' && typeof name === 'string' ? name : undefined
}

/** The same for a file that cannot be parsed. `text`: as far as it could be read. */
export function unparsedName(text: string, { path, isTop }: AgentPath): string | undefined {
  const isAgent =
    isTop || (/^\uFEFF?\s*---[ \t]*\r?\n/.test(text) && /^name:/m.test(text) && /^description:/m.test(text))
  return isAgent ? fileName(path) : undefined
}

function fileName(path: string): string | undefined {
  const name = basename(path, '.md')
  return isDefinitionName(name) ? name : undefined
}

/** Where a file is in a folder of agents; undefined if it is in none of them. */
export function placeInAgents(path: string, folders: readonly string[]): AgentPath | undefined {
  const real = join(realPath(dirname(path)), basename(path))
  const folder = folders.map(realPath).find((each) => isInside(each, real) && each !== real)
  if (folder === undefined || !path.endsWith('.md')) return undefined
  const between = relative(folder, dirname(real))
    .split(sep)
    .filter((step) => step !== '')
  if (between.length > mostFolders || between.some((step) => step.startsWith('.') || step === 'node_modules')) {
    return undefined
  }
  return { path, isTop: between.length === 0 }
}
