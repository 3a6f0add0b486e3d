import { entriesIn } from '../base/entries.ts'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { readSourceFile, realPath } from '../base/files.ts'
import { listPacks, type Pack } from '../pack/find-pack.ts'
import { core, unusedCores } from '../pack/pack-ref.ts'
import { type PackStatus, packStatus } from '../pack/pack-status.ts'
import { findAgent, type ResolveOptions } from '../pack/resolve.ts'
import { isSectionHeading } from '../prompt/aip.ts'
import { parseAgentFile } from '../config/foreign-agent.ts'
import { pipelineNames } from './starters.ts'

/** An item of `baton list`. */
export interface Item {
  /** As written on the command line, in `sub_agents`, or after `--from`. */
  readonly name: string
  /** Absolute. */
  readonly file: string
  /** One sentence; empty if the file has no description. */
  readonly description: string
  /** The absolute path of the file that shadows it. */
  readonly shadowedBy?: string
}

export interface Group {
  readonly kind: 'workspace' | 'built-in' | 'pack' | 'pipeline'
  /** Absolute folder of its items. */
  readonly folder: string
  /** `namespace@name` of a pack. */
  readonly pack?: string
  /** For a pack: its version, and where it was installed from. */
  readonly status?: PackStatus
  readonly items: readonly Item[]
}

export interface InventoryPlaces {
  readonly workspace: string
  readonly packRoots: readonly string[]
  readonly builtInDir: string
  readonly pipelinesDir: string
  /** Only names are needed: no file is read as a whole, however many there are. */
  readonly isBare?: boolean
}

/** All agents and pipelines that can be named here: those of the project, of Baton, of packs by precedence. */
export async function takeInventory(places: InventoryPlaces): Promise<readonly Group[]> {
  const groups = [
    await workspaceAgents(places),
    await builtInAgents(places),
    ...(await Promise.all(packsOf(places).map((pack) => packAgents(pack, places)))),
    await pipelines(places),
  ]
  // an installed pack may contain nothing but prompt files
  return groups.filter(({ items, status }) => items.length > 0 || status?.source !== undefined)
}

/** `agents/` of the workspace: the conventional place for agents of a project. */
async function workspaceAgents({ workspace, builtInDir, isBare }: InventoryPlaces): Promise<Group> {
  const folder = join(workspace, 'agents')
  const isOwn = realPath(folder) === realPath(builtInDir)
  const files = isOwn ? [] : agentFiles(folder, Number.POSITIVE_INFINITY)
  return {
    kind: 'workspace',
    folder,
    items: await describeAll(files, (file) => slashed(relative(workspace, file)), isBare),
  }
}

async function builtInAgents({ workspace, builtInDir, packRoots, isBare }: InventoryPlaces): Promise<Group> {
  const items = await describeAll(agentFiles(builtInDir, 1), (file) => withoutEnding(basename(file)), isBare)
  const options = { baseDir: workspace, builtInDir, packRoots }
  return { kind: 'built-in', folder: builtInDir, items: items.map((item) => ({ ...item, ...shadowOf(item, options) })) }
}

function shadowOf({ name, file }: Item, options: ResolveOptions): { readonly shadowedBy?: string } {
  try {
    const found = findAgent(name, options)?.file ?? file
    return found === file ? {} : { shadowedBy: found }
  } catch (error) {
    // two files of this name, or one that cannot be read: using it is an error
    if (!isBatonError(error)) throw error
    return {}
  }
}

interface PlacedPack extends Pack {
  readonly root: string
  readonly shadowedBy?: string
}

/** Every pack folder, including those shadowed by an earlier root. */
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

const noStatus = { version: undefined, source: undefined, commit: undefined, integrity: undefined } as const

const isMain = /^main\.(?:aip|lua)$/

async function packAgents(
  { identity, dir, root, shadowedBy }: PlacedPack,
  { isBare = false }: InventoryPlaces,
): Promise<Group> {
  const agents = agentFiles(dir, 2).filter(
    (file) => relative(dir, file).split(sep).length === 1 || isMain.test(basename(file)),
  )
  const nameOf = (file: string): string => {
    const path = withoutEnding(slashed(relative(dir, file))).replace(/(?:^|\/)main$/, '')
    return path === '' ? identity : `${identity}/${path}`
  }
  const items = await describeAll([...agents, ...promptFiles(dir)], nameOf, isBare)
  const shadowed = shadowedBy === undefined ? {} : { shadowedBy }
  const status = isBare ? noStatus : await packStatus({ identity, dir }, root)
  return { kind: 'pack', folder: dir, pack: identity, status, items: items.map((item) => ({ ...item, ...shadowed })) }
}

async function pipelines({ pipelinesDir: folder, isBare }: InventoryPlaces): Promise<Group> {
  const files = pipelineNames(folder).map((name) => join(folder, `${name}.md`))
  return { kind: 'pipeline', folder, items: await describeAll(files, (file) => basename(file, '.md'), isBare) }
}

/** Agent files up to this many folders deep, without the modules in `lua/`. Links to folders are not followed. */
function agentFiles(folder: string, depth: number): readonly string[] {
  if (depth === 0) return []
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      return entry.name === 'lua' || entry.name.startsWith('.') ? [] : agentFiles(path, depth - 1)
    }
    return /\.(?:aip|lua)$/.test(entry.name) ? [path] : []
  })
}

/** Prompt files of a pack and its folders: Markdown that starts with front matter. */
function promptFiles(folder: string, depth = 2): readonly string[] {
  if (depth === 0) return []
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name.startsWith('.') ? [] : promptFiles(path, depth - 1)
    return entry.name.endsWith('.md') && hasFrontMatter(path) ? [path] : []
  })
}

function hasFrontMatter(file: string): boolean {
  try {
    return /^\uFEFF?\s*(?:(?:\+{3}|-{3})[ \t]*\r?\n|`{3,}(?:toml|ya?ml)[ \t]*\r?\n#!meta)/.test(beginningOf(file))
  } catch {
    return false
  }
}

/** Pipes and devices would wait for somebody. */
function beginningOf(file: string): string {
  if (!statSync(file).isFile()) return ''
  const descriptor = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(1024)
    return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(descriptor)
  }
}

async function describeAll(
  files: readonly string[],
  nameOf: (file: string) => string,
  isBare = false,
): Promise<readonly Item[]> {
  const items = await Promise.all(
    files.map(async (file) => {
      const description = isBare ? '' : await firstText(file, () => readSourceFile(file))
      return { name: nameOf(file), file, description }
    }),
  )
  return items.toSorted((left, right) => (left.name < right.name ? -1 : 1))
}

function withoutEnding(path: string): string {
  return path.replace(/\.(?:aip|lua)$/, '')
}

function slashed(path: string): string {
  return path.replaceAll(sep, '/')
}

/** The first sentence of a file's description of itself; empty when it has none, or cannot be read or parsed. */
export async function firstText(file: string, read: () => string): Promise<string> {
  try {
    const text = read()
    if (file.endsWith('.md')) return firstSentence(await textOfPrompt(file, text))
    return firstSentence(file.endsWith('.lua') ? firstComment(text.split('\n'), '--') : textOfAgent(text))
  } catch (error) {
    if (!isBatonError(error)) throw error
    return ''
  }
}

/** The first paragraph above the sections. */
function textOfAgent(text: string): readonly string[] {
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  const end = lines.findIndex(isSectionHeading)
  return firstParagraph(lines.slice(0, end === -1 ? undefined : end).map((line) => (line.startsWith('#') ? '' : line)))
}

/** The description, else the first comment of the front matter, else the instruction. */
async function textOfPrompt(file: string, text: string): Promise<readonly string[]> {
  const { meta, instruction } = await parseAgentFile(file, text)
  const { description } = meta.data
  if (typeof description === 'string' && description.trim() !== '') return [description]
  const lines = text.split('\n')
  const start = lines.findIndex((line) => /^(?:\+\+\+|---|`{3,}(?:toml|ya?ml))\s*$/.test(line))
  const comment = meta.language === 'none' ? [] : firstComment(lines.slice(start + 1), '#')
  return comment.length > 0 ? comment : firstParagraph(instruction.split('\n'))
}

/** The first paragraph of the comment at the start of the lines, without marks and directives such as `#:schema`. */
function firstComment(lines: readonly string[], mark: string): readonly string[] {
  const end = lines.findIndex((line) => line.trim() !== '' && !line.trim().startsWith(mark))
  const comments = lines.slice(0, end === -1 ? undefined : end).filter((line) => !/^\s*#[:!]/.test(line))
  return firstParagraph(comments.map((line) => line.trim().replace(/^(?:#+|--+)\s?/, '')))
}

function firstParagraph(lines: readonly string[]): readonly string[] {
  const start = lines.findIndex((line) => line.trim() !== '')
  if (start === -1) return []
  const end = lines.findIndex((line, index) => index > start && line.trim() === '')
  return lines.slice(start, end === -1 ? undefined : end)
}

function firstSentence(lines: readonly string[]): string {
  // a terminal interprets control characters
  const text = lines
    .map((line) => line.trim())
    .join(' ')
    .replaceAll(/\p{Cc}/gu, '')
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text
}
