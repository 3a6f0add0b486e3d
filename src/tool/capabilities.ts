import { statSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { compileGlobs } from '../base/glob.ts'
import {
  type GlobSegment,
  isTooLong,
  nextPositions,
  parseGlob,
  pathSteps,
  startPositions,
  escapeGlob,
} from '../base/glob-pattern.ts'
import type { Action, LimitedPack, Protection } from '../event/permission.ts'
import type { PathAction, PathRule } from './path-rules.ts'

/** Why an action not about a path is refused; undefined if it is allowed. */
export type OtherRule = (action: Exclude<Action, PathAction>) => string | undefined

/**
 * Whatever a pack was granted, it never changes what decides which programs run. In its own folders it may keep
 * scripts. Files that other programs run automatically it changes only if the user agreed to that exact file.
 */
export function packProtection(
  { identity, granted, keptFolders, executed, allow }: LimitedPack,
  workspace: string,
): Protection {
  const root = realPath(workspace)
  const own = keptFolders.map(realPath).filter((folder) => isInside(root, folder))
  return {
    paths: executed,
    kind: 'pack',
    allow: [...own.map((folder) => `${escapeGlob(displayPath(root, folder))}/**`), ...allow],
    named: granted.write.filter((glob) => !/[\\*?[\]{}!]/.test(glob)),
    whom: identity,
  }
}

/** The paths that a pack was granted, and its own folders. */
export function packPathRule({ identity, granted, ownFolders, keptFolders }: LimitedPack, workspace: string): PathRule {
  const root = realPath(workspace)
  const [read, write] = [pathTest(granted.read, root), pathTest(granted.write, root)]
  const kept = keptFolders.map(realPath)
  const own = [...ownFolders.map(realPath), ...kept]

  function isGranted({ kind, path }: PathAction): boolean {
    if ((kind === 'read' ? own : kept).some((folder) => isInside(folder, path))) return true
    if (kind !== 'read') return write.matches(path)
    // a writable path may be read, and so may the folders that lead to it
    return read.matches(path) || write.matches(path) || [read, write].some((test) => test.leadsOn(path))
  }

  return (action) =>
    isGranted(action) ? undefined : refusal(identity, `${action.kind} ${displayPath(root, action.path)}`)
}

/** The programs, hosts, models and MCP servers that a pack was granted. */
export function packRule({ identity, granted: { commands, hosts, models, mcp } }: LimitedPack): OtherRule {
  return (action) => {
    switch (action.kind) {
      case 'command':
        if (commands.includes('*') || commands.includes(action.program)) return undefined
        return refusal(identity, `run ${action.program}`)
      case 'connect': {
        const url = new URL(action.url)
        const named = action.isPrivate === true ? hosts.filter((host) => !host.startsWith('*')) : hosts
        if (named.some((host) => isHost(host, url))) return undefined
        return refusal(identity, `connect to ${url.host}${action.isPrivate === true ? ', a private address' : ''}`)
      }
      case 'model':
        return models.some((name) => isName(name, action.model) || isName(name, action.label))
          ? undefined
          : refusal(identity, `call the model ${action.label}`)
      case 'mcp':
        return mcp.some((name) => name === '*' || name === action.server)
          ? undefined
          : refusal(identity, `use the MCP server ${action.server}`)
      // what a tool does is checked separately
      case 'tool':
        return undefined
    }
  }
}

function refusal(identity: string, what: string): string {
  return `${identity} may not ${what}: its capabilities do not include it`
}

function pathTest(globs: readonly string[], root: string) {
  const matcher = compileGlobs(globs)
  const alternatives = globs.flatMap((glob) => parseGlob(glob).alternatives)
  const below = (path: string): string | undefined =>
    isInside(root, path) ? relative(root, path).split(sep).join('/') : undefined
  return {
    matches(path: string): boolean {
      const steps = below(path)
      return steps !== undefined && steps !== '' && matcher.matches(steps)
    },
    /** Whether something that matches may be inside this folder. */
    leadsOn(path: string): boolean {
      const steps = below(path)
      if (steps === undefined || !alternatives.some((segments) => goesOn(segments, steps))) return false
      return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    },
  }
}

function goesOn(segments: readonly GlobSegment[], path: string): boolean {
  if (isTooLong(path)) return false
  let positions = startPositions(segments)
  for (const step of pathSteps(path)) positions = nextPositions(segments, positions, step)
  return positions.some((position) => position < segments.length)
}

/** `api.example`; `*.example` for its subdomains; `:PORT` limits it to that port; `*` is every host. */
export function isHost(written: string, { hostname, port, protocol }: URL): boolean {
  const [, name = '', wantedPort] = /^(.*?)(?::(\d+))?$/.exec(written) ?? []
  const usedPort = port || (protocol === 'https:' ? '443' : '80')
  if (wantedPort !== undefined && wantedPort !== usedPort) return false
  if (name === '*') return true
  const host = hostname.toLowerCase().replace(/\.$/, '')
  const wanted = name.toLowerCase()
  return wanted.startsWith('*.') ? host.endsWith(wanted.slice(1)) && host.length >= wanted.length : host === wanted
}

function isName(pattern: string, name: string): boolean {
  return namePattern(pattern).test(name)
}

/** `*` stands for any characters. */
export function namePattern(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[\\^$.+?()[\]{}|]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}
