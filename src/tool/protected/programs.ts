import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { installScripts } from '../../event/install-scripts.ts'
import { runPlaces } from './known-places.ts'
import { foldedName } from './names.ts'
import { createPlaceMatcher, placesIn } from './place-matcher.ts'

const runs = createPlaceMatcher(() => placesIn(runPlaces))

/** Whether a path (its segments from the workspace) is a file that other programs run automatically. */
export function runsByItself(steps: readonly string[]): boolean {
  return runs.find(steps.map(foldedName)) !== undefined
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
