import { statSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { compileGlobs, type GlobMatcher } from '../base/glob.ts'
import { type GlobSegment, nextPositions, parseGlob, pathSteps, startPositions } from '../base/glob-pattern.ts'
import type { RunContext } from '../event/context.ts'
import type { Action, Policy, Rights, Verdict } from '../event/policy.ts'
import { withKept } from './policy.ts'

/** What a pack may do, in the words of its `[capabilities]`. */
export interface Granted {
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly hosts: readonly string[]
  readonly commands: readonly string[]
  readonly env: readonly string[]
  readonly models: readonly string[]
}

export interface HeldPack {
  /** For messages. */
  readonly identity: string
  readonly granted: Granted
  /** Absolute folders of its own that it may always read. */
  readonly ownFolders: readonly string[]
  /** Absolute folders of its own that it may always change. */
  readonly keptFolders: readonly string[]
}

type Held = Pick<RunContext, 'policy' | 'workspace' | 'rights'>

/**
 * The policy and the rights of a pack's agents: what the context allows and the pack was granted, both. Whatever it was
 * granted, it never changes what says which programs run.
 */
export function holdTo(pack: HeldPack, context: Held): { readonly policy: Policy; readonly rights: Rights } {
  const { policy, workspace } = context
  return {
    policy: withKept(narrowed(policy, pack, workspace), workspace, {
      paths: packFolders(workspace),
      names: agentNames,
      whom: pack.identity,
    }),
    rights: joined(rightsOf(pack), context.rights),
  }
}

/** In `.aipack` agents of AIPack keep files of their own; only what decides what runs is protected there. */
const agentNames: ReadonlySet<string> = new Set(['.baton', 'baton.toml', '.mcp.json'])

function packFolders(workspace: string): readonly string[] {
  return [`${workspace}/.aipack/pack`, `${workspace}/.aipack/config.toml`]
}

function narrowed(policy: Policy, pack: HeldPack, workspace: string): Policy {
  const root = realPath(workspace)
  const [read, write] = [pathTest(pack.granted.read, root), pathTest(pack.granted.write, root)]
  const kept = pack.keptFolders.map(realPath)
  const own = [...pack.ownFolders.map(realPath), ...kept]

  function isGranted({ kind, path }: Action): boolean {
    if ((kind === 'read' ? own : kept).some((folder) => isInside(folder, path))) return true
    if (kind !== 'read') return write.matches(path)
    // what may be written may be looked at, and folders on the way are
    return read.matches(path) || write.matches(path) || [read, write].some((test) => test.leadsOn(path))
  }

  return {
    check(action): Verdict {
      const verdict = policy.check(action)
      if (verdict.kind === 'deny' || isGranted(action)) return verdict
      const shown = displayPath(root, action.path)
      return {
        kind: 'deny',
        reason: `${pack.identity} may not ${action.kind} ${shown}: its capabilities do not name it`,
      }
    },
  }
}

interface PathTest {
  readonly matches: (path: string) => boolean
  /** True for a folder that something which matches may lie in. */
  readonly leadsOn: (path: string) => boolean
}

function pathTest(globs: readonly string[], root: string): PathTest {
  const matcher: GlobMatcher | undefined = globs.length === 0 ? undefined : compileGlobs(globs)
  const alternatives = globs.flatMap((glob) => parseGlob(glob).alternatives)
  const below = (path: string): string | undefined =>
    isInside(root, path) ? relative(root, path).split(sep).join('/') : undefined
  return {
    matches(path) {
      const steps = below(path)
      return steps !== undefined && steps !== '' && matcher?.matches(steps) === true
    },
    leadsOn(path) {
      const steps = below(path)
      if (steps === undefined || !alternatives.some((segments) => goesOn(segments, steps))) return false
      return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    },
  }
}

function goesOn(segments: readonly GlobSegment[], path: string): boolean {
  let positions = startPositions(segments)
  for (const step of pathSteps(path)) positions = nextPositions(segments, positions, step)
  return positions.some((position) => position < segments.length)
}

function rightsOf({ identity, granted }: HeldPack): Rights {
  const { commands, hosts, models, env } = granted
  const refuse = (what: string): string => `${identity} may not ${what}: its capabilities do not name it`
  return {
    command: (name) => (commands.includes('*') || commands.includes(name) ? undefined : refuse(`run ${name}`)),
    connect: (url) => (hosts.some((host) => isHost(host, url)) ? undefined : refuse(`connect to ${url.host}`)),
    model({ model, label }) {
      const isNamed = models.some((name) => isName(name, model) || isName(name, label))
      return isNamed ? undefined : refuse(`ask the model ${label}`)
    },
    passes: (variable) => env.includes(variable),
  }
}

function joined(own: Rights, parents: Rights | undefined): Rights {
  if (parents === undefined) return own
  return {
    command: (name) => parents.command(name) ?? own.command(name),
    connect: (url) => parents.connect(url) ?? own.connect(url),
    model: (model) => parents.model(model) ?? own.model(model),
    passes: (variable) => parents.passes(variable) && own.passes(variable),
  }
}

/** `api.example`, `*.example` for those below it, with `:PORT` for that port alone; `*` is every host. */
function isHost(written: string, { hostname, port, protocol }: URL): boolean {
  const [, name = '', wantedPort] = /^(.*?)(?::(\d+))?$/.exec(written) ?? []
  if (wantedPort !== undefined && wantedPort !== (port === '' ? defaultPort(protocol) : port)) return false
  if (name === '*') return true
  const host = hostname.toLowerCase().replace(/\.$/, '')
  const wanted = name.toLowerCase()
  return wanted.startsWith('*.') ? host.endsWith(wanted.slice(1)) && host.length >= wanted.length : host === wanted
}

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80'
}

/** `*` stands for any characters. */
function isName(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return pattern === name
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1
    const found = isLast ? name.length - part.length : name.indexOf(part, at)
    if (found < at || (isLast && !name.endsWith(part))) return false
    at = found + part.length
  }
  return true
}
