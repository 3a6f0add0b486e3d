import { isAbsolute, resolve } from 'node:path'
import { pathText, type DataPath } from '../base/data-text.ts'
import { isInside, realPath } from '../base/files.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { Finding } from './issue.ts'

/**
 * `base_dir` must not leave the workspace, by `..`, by an absolute path or through a link; globs must not leave
 * `base_dir` by their text (DESIGN 12, exit 2). What a glob matches through links is for whoever lists the files.
 */
export function checkBounds(values: JsonObject, { workspace }: { readonly workspace: string }): readonly Finding[] {
  const baseDir = values['base_dir']
  const globs = Object.keys(values).filter((key) => /_globs(?:_pre|_post)?$/.test(key))
  return [
    ...(typeof baseDir === 'string' ? checkBaseDir(baseDir, workspace) : []),
    ...globs.flatMap((key) => checkGlobs(values[key] ?? null, [key])),
  ]
}

function checkBaseDir(baseDir: string, workspace: string): readonly Finding[] {
  if (isInside(workspace, realPath(resolve(workspace, baseDir)))) return []
  const isLink = isInside(workspace, resolve(workspace, baseDir))
  return [
    {
      code: 'OUTSIDE_WORKSPACE',
      message: `base_dir "${baseDir}" leaves the workspace ${workspace}${isLink ? ' through a link' : ''}`,
      hint: 'Name a folder inside the workspace, or start from the folder you mean (-C).',
      path: ['base_dir'],
      part: 'value',
    },
  ]
}

function checkGlobs(value: Json, path: DataPath): readonly Finding[] {
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((item, index) => checkGlobs(item, [...path, index]))
  if (typeof value !== 'string' || !leaves(value)) return []
  return [
    {
      code: 'OUTSIDE_WORKSPACE',
      message: `${pathText(path)}: the glob "${value}" leaves base_dir`,
      hint: 'Globs are relative to base_dir and stay below it: set base_dir, or write a relative glob without "..".',
      path,
      part: 'value',
    },
  ]
}

/** Absolute, or above its start at any of its steps; also inside the alternatives of braces. */
function leaves(glob: string): boolean {
  const text = glob.startsWith('!') ? glob.slice(1) : glob
  if (isAbsolute(text) || /^[A-Za-z]:[/\\]/.test(text)) return true
  let depth = 0
  for (const step of text.split(/[/\\]/)) {
    if (/(?:^|[{,(|])\.\.(?:$|[,})|])/.test(step)) depth -= 1
    else if (step !== '' && step !== '.' && step !== '**') depth += 1
    if (depth < 0) return true
  }
  return false
}
