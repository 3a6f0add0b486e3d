import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { installScripts } from '../../event/install-scripts.ts'
import { foldedName } from './names.ts'

/** Names of files, in any folder, that other programs execute or take commands from automatically. */
const names: ReadonlySet<string> = new Set([
  // shells and tools that act when a folder is entered
  '.envrc',
  '.mise.toml',
  'mise.toml',
  // git
  '.gitattributes',
  '.gitmodules',
  '.gitconfig',
  '.pre-commit-config.yaml',
  '.pre-commit-config.yml',
  'lefthook.yml',
  'lefthook.yaml',
  '.lefthook.yml',
  '.lefthook.yaml',
  '.lintstagedrc',
  // package managers: lifecycle scripts, and package sources
  'package.json',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.pnpmfile.mjs',
  'pnpmfile.cjs',
  '.bunfig.toml',
  'bunfig.toml',
  'pip.conf',
  '.pypirc',
  '.condarc',
  '.gemrc',
  // continuous integration
  '.gitlab-ci.yml',
  '.gitlab-ci.yaml',
  'jenkinsfile',
  '.travis.yml',
  '.drone.yml',
  'azure-pipelines.yml',
  'azure-pipelines.yaml',
  'bitbucket-pipelines.yml',
  'appveyor.yml',
  '.appveyor.yml',
  '.cirrus.yml',
  '.woodpecker.yml',
  '.woodpecker.yaml',
  'cloudbuild.yaml',
  // editors
  '.exrc',
  '.vimrc',
  '.nvimrc',
  '.nvim.lua',
  '.dir-locals.el',
  '.devcontainer.json',
  'devcontainer.json',
])

/** The same by parent folder, at any depth. */
const folders: readonly (readonly string[])[] = [
  ['.husky'],
  ['.githooks'],
  ['.lefthook'],
  ['.vscode'],
  ['.idea'],
  ['.zed'],
  ['.fleet'],
  ['.devcontainer'],
  ['.github', 'workflows'],
  ['.github', 'actions'],
  ['.gitea', 'workflows'],
  ['.forgejo', 'workflows'],
  ['.circleci'],
  ['.buildkite'],
  ['.woodpecker'],
  ['.cargo'],
  ['.claude'],
  ['.codex'],
  ['.cursor'],
  ['.gemini'],
  ['.windsurf'],
  ['.direnv'],
]

/** Whether a path (its segments from the workspace) is a file that other programs run automatically. */
export function runsByItself(steps: readonly string[]): boolean {
  const folded = steps.map(foldedName)
  const last = folded.at(-1) ?? ''
  if (names.has(last) || last.endsWith('.code-workspace')) return true
  return folders.some((folder) => folded.some((_, at) => folder.every((name, offset) => folded[at + offset] === name)))
}

/**
 * Whether a new file runs nothing automatically after all: a `package.json` without install scripts. The other files
 * are always executed.
 */
export function isHarmlessWhenNew(path: string, text: string | undefined): boolean {
  if (!/(?:^|\/)package\.json$/.test(path) || text === undefined) return false
  const manifest = manifestIn(text)
  if (manifest === undefined) return false
  const { scripts = {}, husky, gypfile } = manifest
  return husky === undefined && gypfile === undefined && isJsonObject(scripts) && installScriptsIn(text).length === 0
}

/** The names of install scripts in the text of a `package.json`. */
export function installScriptsIn(text: string): readonly string[] {
  const { scripts = null } = manifestIn(text) ?? {}
  return isJsonObject(scripts) ? Object.keys(scripts).filter((name) => installScripts.has(name)) : []
}

function manifestIn(text: string): JsonObject | undefined {
  try {
    const manifest = JSON.parse(text) as Json
    return isJsonObject(manifest) ? manifest : undefined
  } catch {
    return undefined
  }
}
