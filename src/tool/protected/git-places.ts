import { isFolder, entryStatus, namesIn } from '../../base/entries.ts'
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { isInside, realPath } from '../../base/files.ts'
import { homeFolder } from '../../base/home.ts'
import { readRegularFile } from '../../base/regular-file.ts'
import { looksLikeRepository, wouldBeRepository } from '../../base/repository.ts'
import { foldedName } from './names.ts'

/** Where a repository stores its own data, and what its config makes git run or read. Absolute, links resolved. */
export interface GitPlaces {
  /** Folders and files of the repository itself. */
  readonly own: readonly string[]
  /** Hooks, included config files and programs named by its config. */
  readonly named: readonly string[]
}

/**
 * The folder that a new file (absolute) would turn into a repository, because it adds the last part that was missing;
 * undefined if there is none. Only in `within`. `placed`: paths that are about to exist as well.
 */
export function completedRepository(
  path: string,
  { within, placed = [] }: { readonly within: string; readonly placed?: Iterable<string> },
): string | undefined {
  const others = [...placed]
  for (let entry = path; entry !== within && isInside(within, entry); entry = dirname(entry)) {
    const folder = dirname(entry)
    const name = foldedName(basename(entry))
    if (!repositoryParts.has(name)) continue
    const below = others.filter((one) => one !== folder && isInside(folder, one))
    const present = [...namesIn(folder), ...below.map((one) => relative(folder, one).split(sep)[0] ?? '')].map(
      foldedName,
    )
    if (!wouldBeRepository(new Set(present)) && wouldBeRepository(new Set([...present, name]))) return folder
  }
  return undefined
}

/** A path (absolute) that belongs to a repository which the folder itself is, without a `.git`: its config, for example. */
export function partOfBareRepository(path: string, folder: string): string | undefined {
  if (!looksLikeRepository(folder)) return undefined
  const [first = ''] = relative(folder, path).split(sep)
  return bareParts.has(foldedName(first)) ? join(folder, first) : undefined
}

const repositoryParts: ReadonlySet<string> = new Set(['head', 'commondir', 'objects', 'refs'])
const bareParts: ReadonlySet<string> = new Set([
  ...repositoryParts,
  'config',
  'config.worktree',
  'hooks',
  'info',
  'modules',
  'packed-refs',
  'worktrees',
])

/** The repository whose top folder this is; undefined if it is not one. */
export function gitPlaces(folder: string): GitPlaces | undefined {
  const entry = join(folder, '.git')
  const status = entryStatus(entry)
  if (status === undefined) return undefined
  const target = realPath(entry)
  const gitFolder = isFolder(target) ? target : pathIn(target, /^gitdir:[ \t]*(.+?)\s*$/m, folder)
  if (gitFolder === undefined) return { own: [entry, target], named: [] }
  const common = pathIn(join(gitFolder, 'commondir'), /^(.+?)\s*$/m, gitFolder) ?? gitFolder
  const configs = [...new Set([gitFolder, common])].flatMap((one) => [
    join(one, 'config'),
    join(one, 'config.worktree'),
  ])
  const named = configs.flatMap((file) => placesIn(file, folder))
  const modules = moduleConfigs(join(common, 'modules')).flatMap((file) => placesIn(file, workTreeOf(file) ?? folder))
  const users = userConfigs().flatMap((file) => placesIn(file, folder))
  return {
    own: [entry, target, gitFolder, common].map(realPath),
    named: [...named, ...modules, ...users].map(realPath),
  }
}

function pathIn(file: string, pattern: RegExp, base: string): string | undefined {
  const [, path] = pattern.exec(textOf(file)) ?? []
  return path === undefined ? undefined : realPath(resolve(base, path))
}

const mostBytes = 1024 * 1024

function textOf(file: string): string {
  try {
    return statSync(file).size > mostBytes ? '' : readRegularFile(file).toString('utf8')
  } catch {
    return ''
  }
}

function userConfigs(): readonly string[] {
  const home = homeFolder()
  return [join(home, '.gitconfig'), join(home, '.config', 'git', 'config')]
}

/** Submodules can be nested, and their names can contain slashes. */
const deepestModule = 6
const mostModules = 500

function moduleConfigs(folder: string, depth = 0): readonly string[] {
  if (depth > deepestModule || !isFolder(folder)) return []
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const found = below.flatMap(({ name }) => {
    const path = join(folder, name)
    if (!looksLikeRepository(path)) return moduleConfigs(path, depth + 1)
    return [join(path, 'config'), ...moduleConfigs(join(path, 'modules'), depth + 1)]
  })
  return found.slice(0, mostModules)
}

function workTreeOf(config: string): string | undefined {
  const entry = entriesOf(textOf(config)).find(({ name }) => name === 'core.worktree')
  return entry === undefined ? undefined : resolve(dirname(config), entry.value)
}

const deepestInclude = 10
/** Sections whose values are neither paths nor programs, and the location of the work tree itself. */
const harmless = /^(?:remote|branch|url|user|submodule|color|status|advice|http|https|extensions)\.|^core\.worktree$/

/** Paths below the work tree that a config file, or a file it includes, names. */
function placesIn(file: string, workTree: string, depth = 0): readonly string[] {
  if (depth > deepestInclude) return []
  return entriesOf(textOf(file)).flatMap(({ name, value }) => {
    if (harmless.test(name)) return []
    if (/^include(?:if)?\.(?:.*\.)?path$/.test(name)) {
      const path = resolve(dirname(file), withHome(value))
      return [...ofWorkTree([path], workTree), ...placesIn(path, workTree, depth + 1)]
    }
    if (/^core\.(?:hookspath|attributesfile)$/.test(name))
      return ofWorkTree([resolve(workTree, withHome(value))], workTree)
    const words = value.replace(/^!/, '').split(/[\s"';|&()<>]+/)
    const paths = words.filter((word) => word !== '').map((word) => resolve(workTree, withHome(word)))
    return ofWorkTree(paths, workTree).filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  })
}

function ofWorkTree(paths: readonly string[], workTree: string): readonly string[] {
  return paths.filter((path) => path !== workTree && isInside(workTree, path))
}

function withHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homeFolder(), path.slice(1)) : path
}

interface ConfigEntry {
  /** `section.key` or `section.subsection.key`; section and key in lower case. */
  readonly name: string
  readonly value: string
}

function entriesOf(text: string): readonly ConfigEntry[] {
  let section = ''
  return text
    .replaceAll(/\\\r?\n/g, '')
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, head, sub, rest = ''] = /^\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$/.exec(line) ?? []
      if (head !== undefined) section = `${head.toLowerCase()}.${sub === undefined ? '' : `${sub}.`}`
      const [, key, value] = /^\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$/.exec(head === undefined ? line : rest) ?? []
      if (key === undefined || value === undefined) return []
      const plain = value.replace(/(?:^|\s)[#;][^"]*$/, '').trim()
      const unquoted = plain.replaceAll(/\\(.)|"/g, (_, escaped: string | undefined) => escaped ?? '')
      return [{ name: `${section}${key.toLowerCase()}`, value: unquoted }]
    })
}
