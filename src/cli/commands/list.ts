import { join } from 'node:path'
import { type Group, type Item, takeInventory } from '../../authoring/inventory.ts'
import { displayPath } from '../../base/files.ts'
import { findWorkspace } from '../../config/locate.ts'
import type { PackStatus } from '../../pack/pack-status.ts'
import { packRoots } from '../../pack/places.ts'
import { packageRoot } from '../../package-root.ts'
import { harmless } from '../../render/harmless.ts'
import { createPaint, type Paint } from '../../render/style.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface ListFlags extends GlobalFlags {
  readonly word: string | undefined
  readonly names: boolean
}

/** `baton list [WORD]`: what can be run or named here, one line each (DESIGN 13). */
export async function listCommand(flags: ListFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const workspace = findWorkspace({ cwd, home: io.home })
  const root = packageRoot()
  const all = await takeInventory({
    workspace,
    packRoots: packRoots(workspace, { env, home: io.home }),
    builtInDir: join(root, 'agents'),
    pipelinesDir: join(root, 'pipelines'),
  })
  const groups = withWord(all, flags.word)
  if (flags.json) {
    for (const group of groups) for (const item of group.items) io.out(`${JSON.stringify(jsonOf(group, item))}\n`)
  } else if (flags.names) {
    for (const name of agentNames(groups)) io.out(`${name}\n`)
  } else {
    const paint = createPaint({ env, isTerminal: io.outIsTerminal })
    const width = io.outIsTerminal ? io.columns() : Number.POSITIVE_INFINITY
    io.out(describe(groups, { paint, width, show: (path) => shortPath(path, { workspace, home: io.home }) }))
  }
  if (groups.length === 0 && flags.word !== undefined && flags.level !== 'quiet') {
    io.err(`nothing has "${flags.word}" in its name or description\n`)
  }
  return 0
}

function withWord(groups: readonly Group[], word: string | undefined): readonly Group[] {
  if (word === undefined) return groups
  const wanted = word.toLowerCase()
  const fits = ({ name, description }: Item): boolean => `${name}\n${description}`.toLowerCase().includes(wanted)
  return groups.map((group) => ({ ...group, items: group.items.filter(fits) })).filter(({ items }) => items.length > 0)
}

function agentNames(groups: readonly Group[]): readonly string[] {
  return groups
    .filter(({ kind }) => kind !== 'pipeline')
    .flatMap(({ items }) => items.filter(({ shadowedBy }) => shadowedBy === undefined).map(({ name }) => name))
}

function jsonOf({ kind, pack, status }: Group, { name, description, file, shadowedBy }: Item): object {
  return {
    kind: kind === 'pipeline' ? 'pipeline' : 'agent',
    name,
    description,
    source: kind === 'pipeline' ? 'built-in' : kind,
    ...(pack === undefined ? {} : { pack }),
    ...(status === undefined ? {} : jsonStatus(status)),
    file,
    ...(shadowedBy === undefined ? {} : { shadowed_by: shadowedBy }),
  }
}

function jsonStatus({ version, source, commit, integrity }: PackStatus): object {
  return { version, installed_from: source, commit, ...(integrity === 'changed' ? { changed: true } : {}) }
}

interface Drawing {
  readonly paint: Paint
  /** Columns of the terminal. */
  readonly width: number
  readonly show: (path: string) => string
}

function describe(groups: readonly Group[], drawing: Drawing): string {
  const names = groups.flatMap(({ items }) => items.map(({ name }) => name.length))
  const column = Math.min(32, Math.max(0, ...names))
  return groups.map((group) => describeGroup(group, column, drawing)).join('\n')
}

function describeGroup(group: Group, column: number, { paint, width, show }: Drawing): string {
  const isShadowed =
    group.kind === 'pack' && group.items.length > 0 && group.items.every(({ shadowedBy }) => shadowedBy !== undefined)
  const lines = group.items.map(({ name, description, shadowedBy }) => {
    const note = shadowedBy === undefined || isShadowed ? '' : ` (not used: ${show(shadowedBy)} comes first)`
    const line = cut(`  ${harmless(name).padEnd(column)}  ${description}${note}`.trimEnd(), width)
    return shadowedBy === undefined ? line : paint('dim', line)
  })
  const title = cut(titleOf(group, { isShadowed, show }), width)
  return `${paint(isShadowed ? 'dim' : 'bold', title)}\n${lines.map((line) => `${line}\n`).join('')}`
}

function titleOf(
  { kind, pack = '', folder, items, status }: Group,
  { isShadowed, show }: { readonly isShadowed: boolean; readonly show: Drawing['show'] },
): string {
  switch (kind) {
    case 'workspace':
      return `agents of this project (${show(folder)})`
    case 'built-in':
      return 'agents of Baton'
    case 'pack': {
      const first = isShadowed ? items[0]?.shadowedBy : undefined
      const note = first === undefined ? '' : `, not used: ${show(first)} comes first`
      return `pack ${pack}${statusText(status)} (${show(folder)}${fromText(status)}${note})`
    }
    case 'pipeline':
      return 'pipelines (baton new prompt NAME --from PIPELINE)'
  }
}

function statusText(status: PackStatus | undefined): string {
  if (status?.version === undefined) return ''
  return ` ${harmless(status.version)}${status.integrity === 'changed' ? ', changed since it was installed' : ''}`
}

function fromText(status: PackStatus | undefined): string {
  if (status?.source === undefined) return ''
  const commit = status.commit === undefined ? '' : ` at ${status.commit.slice(0, 9)}`
  return `, from ${harmless(status.source)}${harmless(commit)}`
}

function cut(line: string, width: number): string {
  return line.length > width ? `${line.slice(0, Math.max(1, width - 1))}…` : line
}

function shortPath(path: string, { workspace, home }: { readonly workspace: string; readonly home: string }): string {
  const shown = displayPath(workspace, path)
  return shown === path && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : shown
}
