import { type Dirent, readdirSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { readSourceFile, realPath } from '../base/files.ts'
import { listPacks, type Pack } from '../pack/find-pack.ts'
import { type PackStatus, packStatus } from '../pack/pack-status.ts'
import { core, unusedCores } from '../pack/reserved.ts'
import { findAgent, type ResolveOptions } from '../pack/resolve.ts'
import { firstText } from './first-text.ts'
import { pipelineNames } from './pipelines.ts'

/** Something `baton list` names. */
export interface Item {
  /** As it is written on the command line, in `sub_agents`, or behind `--from`. */
  readonly name: string
  /** Absolute. */
  readonly file: string
  /** One sentence; empty when the file says nothing about itself. */
  readonly description: string
  /** What stands in front of it, so that its name means something else: absolute. */
  readonly shadowedBy?: string
}

export interface Group {
  readonly kind: 'workspace' | 'built-in' | 'pack' | 'pipeline'
  /** Absolute folder of what it holds. */
  readonly folder: string
  /** `namespace@name` of a pack. */
  readonly pack?: string
  /** Of a pack: its version, and where it was installed from. */
  readonly status?: PackStatus
  readonly items: readonly Item[]
}

export interface InventoryPlaces {
  readonly workspace: string
  readonly packRoots: readonly string[]
  readonly builtInDir: string
  readonly pipelinesDir: string
}

/** All agents and pipelines that can be named here: those of the project, of Baton, of packs in the order they win. */
export async function takeInventory(places: InventoryPlaces): Promise<readonly Group[]> {
  const groups = [
    await workspaceAgents(places),
    await builtInAgents(places),
    ...(await Promise.all(packsOf(places).map(packAgents))),
    await pipelines(places),
  ]
  // an installed pack may hold prompt files alone
  return groups.filter(({ items, status }) => items.length > 0 || status?.source !== undefined)
}

/** `agents/` of the workspace: where agents of a project are kept by convention. */
async function workspaceAgents({ workspace, builtInDir }: InventoryPlaces): Promise<Group> {
  const folder = join(workspace, 'agents')
  const isOwn = realPath(folder) === realPath(builtInDir)
  const files = isOwn ? [] : agentFiles(folder, Number.POSITIVE_INFINITY)
  return { kind: 'workspace', folder, items: await describeAll(files, (file) => slashed(relative(workspace, file))) }
}

async function builtInAgents({ workspace, builtInDir, packRoots }: InventoryPlaces): Promise<Group> {
  const items = await describeAll(agentFiles(builtInDir, 1), (file) => withoutEnding(basename(file)))
  const options = { baseDir: workspace, builtInDir, packRoots }
  return { kind: 'built-in', folder: builtInDir, items: items.map((item) => ({ ...item, ...shadowOf(item, options) })) }
}

function shadowOf({ name, file }: Item, options: ResolveOptions): { readonly shadowedBy?: string } {
  try {
    const found = findAgent(name, options)?.file ?? file
    return found === file ? {} : { shadowedBy: found }
  } catch (error) {
    // two files of this name, or one that cannot be read: whoever names it is told
    if (!isBatonError(error)) throw error
    return {}
  }
}

interface PlacedPack extends Pack {
  readonly root: string
  readonly shadowedBy?: string
}

/** Every pack folder, also those that an earlier root stands in front of. */
function packsOf({ packRoots, builtInDir }: InventoryPlaces): readonly PlacedPack[] {
  const first = new Map<string, string>()
  return packRoots.flatMap((root) => [
    ...listPacks({ packRoots: [root] }).map((pack): PlacedPack => {
      const shadowedBy = first.get(pack.identity)
      if (shadowedBy === undefined) first.set(pack.identity, pack.dir)
      return { ...pack, root, ...(shadowedBy === undefined ? {} : { shadowedBy }) }
    }),
    ...unusedCores([root]).map((dir) => ({ ...core, identity: 'baton@core', dir, root, shadowedBy: builtInDir })),
  ])
}

async function packAgents({ identity, dir, root, shadowedBy }: PlacedPack): Promise<Group> {
  const files = agentFiles(dir, 2).filter((file) => relative(dir, file).split(sep).length === 1 || isMain(file))
  const items = await describeAll(files, (file) => {
    const path = withoutEnding(slashed(relative(dir, file))).replace(/(?:^|\/)main$/, '')
    return path === '' ? identity : `${identity}/${path}`
  })
  const shadowed = shadowedBy === undefined ? {} : { shadowedBy }
  const status = await packStatus({ identity, dir }, root)
  return { kind: 'pack', folder: dir, pack: identity, status, items: items.map((item) => ({ ...item, ...shadowed })) }
}

async function pipelines({ pipelinesDir }: InventoryPlaces): Promise<Group> {
  const files = pipelineNames(pipelinesDir).map((name) => join(pipelinesDir, `${name}.md`))
  return {
    kind: 'pipeline',
    folder: pipelinesDir,
    items: await describeAll(files, (file) => basename(file, '.md')),
  }
}

/** Agent files at most so many folders deep, without the modules in `lua/`. Links to folders are not followed. */
function agentFiles(folder: string, depth: number): readonly string[] {
  if (depth === 0) return []
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      return entry.name === 'lua' || entry.name.startsWith('.') ? [] : agentFiles(path, depth - 1)
    }
    return /\.(?:aip|lua)$/.test(entry.name) ? [path] : []
  })
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

async function describeAll(files: readonly string[], nameOf: (file: string) => string): Promise<readonly Item[]> {
  const items = await Promise.all(
    files.map(async (file) => ({ name: nameOf(file), file, description: await describe(file) })),
  )
  return items.toSorted((left, right) => (left.name < right.name ? -1 : 1))
}

async function describe(file: string): Promise<string> {
  try {
    return await firstText(file, readSourceFile(file))
  } catch (error) {
    if (!isBatonError(error)) throw error
    return ''
  }
}

function isMain(file: string): boolean {
  return /^main\.(?:aip|lua)$/.test(basename(file))
}

function withoutEnding(path: string): string {
  return path.replace(/\.(?:aip|lua)$/, '')
}

function slashed(path: string): string {
  return path.replaceAll(sep, '/')
}
