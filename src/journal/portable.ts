import { isObject } from '../base/json.ts'
import { escapePattern } from './secrets.ts'
import type { TextMap } from './value.ts'

/** Folders by their role in a run (`workspace`, `home`, `builtin`): absolute paths. */
export type NamedFolders = Readonly<Record<string, string>>

/** Converts the folders of one machine to tokens, and tokens to the folders of another one. */
export interface PathTokens {
  /** Each path of a folder becomes `«path:NAME»`, also inside longer text and as a prefix of a longer path. */
  readonly toTokens: TextMap
  /** Reverses `toTokens`, with the folders of this machine. A token with an unknown name is left unchanged. */
  readonly toPaths: TextMap
}

const opening = '«path:'
/** Stands for the token's opening itself if it occurs in the text. */
const literalName = '='
/** A shorter path is the root of the file system, which occurs everywhere. */
const shortestPath = 2

/**
 * Makes a recorded run independent of its location: its workspace and home may be elsewhere when it is replayed. Only
 * whole paths count: `/work/app` does not match in `/work/app2`.
 */
export function createPathTokens(folders: NamedFolders): PathTokens {
  const usable = Object.entries(folders).filter(([, path]) => path.length >= shortestPath)
  const nameOf = new Map(usable.map(([name, path]) => [path, name]).toReversed() as [string, string][])
  const paths = [...nameOf.keys()].toSorted((left, right) => right.length - left.length)
  const whole = paths.map((path) => `${escapePattern(path)}(?<=(?:^|[^\\w.-])${escapePattern(path)})(?![\\w-]|\\.\\w)`)
  const pattern = new RegExp([...whole, opening].join('|'), 'gu')
  const written = new RegExp(`${opening}([^»]*)»`, 'gu')
  const pathOf = new Map(usable)
  return {
    toTokens: (text) => text.replace(pattern, (found) => `${opening}${nameOf.get(found) ?? literalName}»`),
    toPaths: (text) =>
      text.replace(written, (found, name: string) => (name === literalName ? opening : (pathOf.get(name) ?? found))),
  }
}

/** The folders a run was started with, from the facts of its `run.start` record. */
export function foldersOf(facts: unknown): NamedFolders {
  if (!isObject(facts)) return {}
  const { workspace, folders } = facts
  const named = { ...(isObject(folders) ? folders : {}), workspace }
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, path]) => (typeof path === 'string' ? [[name, path]] : [])),
  )
}
