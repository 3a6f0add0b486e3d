import { entriesIn, entryStatus } from '../../base/entries.ts'
import { dirname, join, relative, sep } from 'node:path'
import { shownEntry } from '../../base/archive.ts'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import { compileGlobs } from '../../base/glob.ts'
import { homeFolder } from '../../base/home.ts'
import { looksLikeRepository } from '../../base/repository.ts'
import type { RunFolders } from '../../event/context.ts'
import type { NewFileContent, Protection } from '../../event/permission.ts'
import type { PathAction, PathRule } from '../path-rules.ts'
import { completedRepository, type GitPlaces, gitPlaces, partOfBareRepository } from './git-places.ts'
import { foldedName, foldedPath, nameProblem } from './names.ts'
import { isHarmlessWhenNew, runsByItself } from './programs.ts'
import { isAgentPlace, isPromptFile, isPromptText, mayBePrompt } from './prompt-file.ts'

/*
 * The only list of places that decide what runs and with which rights. Answers of models never change them, and neither
 * do scripts that are held to the capabilities of their pack. The user can open some of them with `[changes] allow`.
 */

/** Names of files and folders, at any depth, that decide what runs here. Folded. */
const decidingNames = ['.baton', 'baton.toml', '.mcp.json', '.git'] as const
/** AIPack agents keep their own files there: for them, only the parts that decide what runs are protected. */
const aipackName = '.aipack'
/** Names that models never change, at any depth. Folded. */
export const protectedNames: readonly string[] = [...decidingNames, aipackName]
const aipackPlaces = [join(aipackName, 'pack'), join(aipackName, 'config.toml')]
/** Scripts, agents, and the modules they can load. */
const scriptEndings = /\.(?:lua|aip)$/

/** Why a path is protected. */
interface PathProtection {
  /** The path itself, a folder above it, or something it contains. Absolute. */
  readonly path: string
  readonly why: 'decides' | 'others' | 'completes' | { readonly problem: string }
  /** Whether `[changes] allow` opens it. */
  readonly canBeAllowed: boolean
}

/** A place that is protected because of its location. */
interface KeptPlace {
  /** Absolute, links resolved. */
  readonly path: string
  readonly folded: string
}

type ProtectedFolders = Pick<RunFolders, 'workspace' | 'aipackBase' | 'ownFolders'>

/** Refuses changes of protected places, and deleting or moving folders that contain any. */
export function protectionRule(
  { paths, kind: whose, allow, named: agreed = [], whom }: Protection,
  folders: ProtectedFolders,
): PathRule {
  const root = realPath(folders.workspace)
  const home = realPath(homeFolder())
  const isAnswer = whose === 'answer'
  const names: ReadonlySet<string> = new Set(isAnswer ? protectedNames : decidingNames)
  const placed = [...names, ...(isAnswer ? [] : aipackPlaces)].map((name) => join(root, name))
  const elsewhere = [
    ...(folders.ownFolders ?? []),
    ...(isAnswer && folders.aipackBase !== undefined ? [folders.aipackBase] : []),
  ]
  let real: readonly KeptPlace[] | undefined
  // resolved at the first change: most agents held to this rule only read
  const kept = (): readonly KeptPlace[] =>
    (real ??= [
      ...[...paths, ...placed].map(realPath),
      // work trees are inside one of these folders
      ...elsewhere.map(realPath).filter((path) => path === root || !isInside(path, root)),
    ].map((path) => ({ path, folded: foldedPath(path) })))
  const opened = compileGlobs(allow)
  const repositories = new Map<string, GitPlaces | undefined>()

  const decides = (path: string, canBeAllowed = false): PathProtection => ({ path, why: 'decides', canBeAllowed })
  const stepsOf = (path: string): readonly string[] => relative(root, path).split(sep)
  const isOpened = (path: string): boolean => opened.matches(stepsOf(path).join('/'))

  function named(path: string): PathProtection | undefined {
    const steps = stepsOf(path)
    const at = steps.findIndex((step) => names.has(foldedName(step)))
    if (at !== -1) return decides(join(root, ...steps.slice(0, at + 1)))
    for (const step of steps) {
      const odd = nameProblem(step)
      if (odd !== undefined) return { path, why: odd, canBeAllowed: odd.canBeAllowed }
    }
    return undefined
  }

  function atHome(path: string): PathProtection | undefined {
    // a pack may keep its own files there
    if (!isInside(home, path) || path === home || (!isAnswer && isOpened(path))) return undefined
    const [first = ''] = relative(home, path).split(sep)
    const entry = join(home, first)
    return first.startsWith('.') && !isInside(entry, root) ? decides(entry) : undefined
  }

  function repositoryAt(folder: string): GitPlaces | undefined {
    if (!repositories.has(folder)) repositories.set(folder, gitPlaces(folder))
    return repositories.get(folder)
  }

  /** `goesAway`: what the path contains is removed with it. */
  function ofGit(path: string, goesAway: boolean): PathProtection | undefined {
    const completed = goesAway ? undefined : completedRepository(path, { within: root })
    if (completed !== undefined) return { path: completed, why: 'completes', canBeAllowed: false }
    const bare = partOfBareRepository(path, root)
    if (bare !== undefined) return decides(bare)
    const holds = (place: string): boolean => isInside(place, path) || (goesAway && isInside(path, place))
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const places = repositoryAt(folder)
      const own = places?.own.find(holds)
      if (own !== undefined) return decides(own)
      const byConfig = places?.named.find(holds)
      if (byConfig !== undefined && !isOpened(path)) return decides(byConfig, true)
      if (folder !== root && isInside(root, folder) && looksLikeRepository(folder)) return decides(folder)
      if (dirname(folder) === folder) return undefined
    }
  }

  /** Protection based on the content or an ending of a file, which a link gives another: `names` has both. */
  function ofKind(
    path: string,
    content?: NewFileContent,
    names: readonly string[] = [path],
  ): PathProtection | undefined {
    if (names.some((name) => scriptEndings.test(foldedName(name)))) return decides(path, true)
    if (names.some(mayBePrompt)) {
      const isAgent = names.some((name) => isInside(root, name) && isAgentPlace(stepsOf(name)))
      if (isPromptFile(path, isAgent)) return decides(path, true)
      if (content !== undefined && isPromptContent(content(), isAgent)) return decides(path, true)
    }
    // for answers this depends on what the model was shown, see answers.ts
    return isAnswer ? undefined : runByOthers(path, content)
  }

  function runByOthers(path: string, content: NewFileContent | undefined): PathProtection | undefined {
    const steps = stepsOf(path)
    const shown = steps.join('/')
    if (!runsByItself(steps) || agreed.includes(shown)) return undefined
    const made = entryStatus(path) === undefined ? content?.() : undefined
    return made !== undefined && !isLink(made) && isHarmlessWhenNew(shown, textOf(made))
      ? undefined
      : { path, why: 'others', canBeAllowed: true }
  }

  function below(folder: string): PathProtection | undefined {
    if (looksLikeRepository(folder)) return decides(folder)
    for (const entry of entriesIn(folder)) {
      const path = join(folder, entry.name)
      if (names.has(foldedName(entry.name))) return decides(path)
      const inside = entry.isDirectory() ? below(path) : entry.isFile() ? ofKind(path) : undefined
      if (inside !== undefined && !(inside.canBeAllowed && isOpened(inside.path))) return inside
    }
    return undefined
  }

  function heldBy(
    { kind, path, named: written }: PathAction,
    content: NewFileContent | undefined,
  ): PathProtection | undefined {
    const goesAway = kind === 'delete'
    const folded = foldedPath(path)
    const keeping = kept().find(
      (place) => isInside(place.folded, folded) || (goesAway && isInside(folded, place.folded)),
    )
    const isHere = isInside(root, path)
    if (keeping !== undefined) return (isHere ? named(path) : undefined) ?? decides(keeping.path)
    // outside the workspace, only packs can write, and only in their own folders
    if (!isHere) return undefined
    const isFolder = goesAway && entryStatus(path)?.isDirectory() === true
    const found = [named, atHome, () => ofKind(path, content, [path, written]), () => ofGit(path, goesAway)]
    for (const look of found) {
      const held = look(path)
      if (held !== undefined && !(held.canBeAllowed && isOpened(path))) return held
    }
    return isFolder ? below(path) : undefined
  }

  return (action, content) => {
    if (action.kind === 'read') return undefined
    const held = heldBy(action, content)
    if (held === undefined) return undefined
    const shown = displayPath(root, held.path)
    const wayOut = held.canBeAllowed ? `. ${allowText(shown, whom)}` : ''
    if (held.why === 'others') return `${shown} is protected, because other programs run it automatically${wayOut}`
    if (held.why === 'completes') return completedText(shown)
    if (held.why !== 'decides') return `${shownEntry(shown)} is refused: ${held.why.problem}${wayOut}`
    if (!held.canBeAllowed) return `${shown} is protected: ${whom} never changes it`
    return `${shown} is protected, because it decides what is run${wayOut}`
  }
}

/** Why the last part of a repository is refused; the folder as displayed. */
export function completedText(shown: string): string {
  return `${shown} is protected: with this file, git would take it for a repository and run what its config names`
}

/** What the user has to configure to allow changes of a path, which is given as displayed. */
export function allowText(shown: string, whom = 'a model'): string {
  const glob = shown.replaceAll(/[\\*?[\]{}!]/g, String.raw`\$&`)
  return `To let ${whom} change it, add to your own config.toml, below [changes]: allow = [${JSON.stringify(glob)}]`
}

/** A link is one, too, if what is later written to its target by the name of that would not be looked at. */
function isPromptContent(content: ReturnType<NewFileContent>, isAgent: boolean): boolean {
  if (!isLink(content)) return isPromptText(textOf(content), isAgent)
  return !mayBePrompt(content.linkTo) || isPromptFile(content.linkTo, isAgent)
}

function isLink(content: ReturnType<NewFileContent>): content is { readonly linkTo: string } {
  return typeof content === 'object' && 'linkTo' in content
}

function textOf(content: string | Uint8Array): string {
  return typeof content === 'string' ? content : Buffer.from(content).toString('utf8')
}
