import { statSync } from 'node:fs'
import type { DataPath } from '../../base/data-text.ts'
import { isBatonError } from '../../base/error.ts'
import { listFiles } from '../../base/glob.ts'
import type { Json } from '../../base/json.ts'
import type { Finding } from '../../settings/issue.ts'
import { globsKind } from '../../settings/keys.ts'
import type { RunSpec } from '../../config/run-spec.ts'

/** Counts the files that globs match; caches what it has looked up. */
export type GlobCounter = (
  globs: readonly string[],
  where: { readonly baseDir: string; readonly root: string },
) => number

export function createGlobCounter(): GlobCounter {
  const counts = new Map<string, number>()
  return (globs, where) => {
    const key = JSON.stringify([globs, where])
    const count = counts.get(key) ?? listFiles(globs, where).length
    counts.set(key, count)
    return count
  }
}

export interface GlobFinding extends Finding {
  readonly severity: 'error' | 'warning'
  readonly glob: string
}

/** Globs that match no file, and globs that lead outside the workspace through a link. No file is read. */
export function checkGlobs(spec: RunSpec, count: GlobCounter): readonly GlobFinding[] {
  const { workspace, settings, origins } = spec
  const baseDir = settings.base_dir
  if (statSync(baseDir, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  return origins.flatMap(({ path: [key = ''], value }) => {
    if (typeof key !== 'string' || globsKind(key) === undefined) return []
    return globLists(value, [key]).flatMap((list) => checkList(list, { baseDir, root: workspace }, count))
  })
}

interface WrittenGlob {
  readonly glob: string
  readonly path: DataPath
}

function globLists(value: Json, path: DataPath): readonly (readonly WrittenGlob[])[] {
  if (!Array.isArray(value)) return []
  const items = (value as readonly Json[]).map((item, index) => ({ item, path: [...path, index] }))
  const own = items.flatMap(({ item, path: at }) => (typeof item === 'string' ? [{ glob: item, path: at }] : []))
  return [own, ...items.flatMap(({ item, path: at }) => globLists(item, at))]
}

/** Each one is looked up on the disk. */
const mostCounted = 1000

/**
 * Names without a folder (`README*`, `pyproject.toml`) are often alternatives, of which a project has some, so they are
 * reported only if nothing in their list matches.
 */
function checkList(
  list: readonly WrittenGlob[],
  where: { readonly baseDir: string; readonly root: string },
  count: GlobCounter,
): readonly GlobFinding[] {
  const excluded = list.map(({ glob }) => glob).filter((glob) => glob.startsWith('!'))
  const wanted = list.filter(({ glob }) => !glob.startsWith('!'))
  const findings = wanted
    .slice(0, mostCounted)
    .flatMap((written) => checkGlob(written, () => count([written.glob, ...excluded], where)))
  const isEmpty = findings.length === wanted.length
  const beyond = wanted[mostCounted]
  return [
    ...findings.filter(({ severity, glob }) => isEmpty || severity === 'error' || glob.includes('/')),
    ...(beyond === undefined ? [] : [notCounted(beyond)]),
  ]
}

function notCounted({ glob, path }: WrittenGlob): GlobFinding {
  const message = `only the first ${mostCounted} globs of a list are checked`
  const hint = 'All of them apply. Write fewer, more general ones.'
  return { severity: 'warning', code: 'CONFIG_INVALID', message, hint, path, part: 'value', glob }
}

function checkGlob({ glob, path }: WrittenGlob, count: () => number): readonly GlobFinding[] {
  try {
    if (count() > 0) return []
    const message = `the glob "${glob}" matches no file`
    const hint = 'Globs are relative to base_dir, which defaults to the workspace.'
    return [{ severity: 'warning', code: 'CONFIG_INVALID', message, hint, path, part: 'value', glob }]
  } catch (error) {
    if (!isBatonError(error)) throw error
    const { code, message, hint = '' } = error
    return [{ severity: 'error', code, message, hint, path, part: 'value', glob }]
  }
}
