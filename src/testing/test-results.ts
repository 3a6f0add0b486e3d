import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { isFile } from '../base/entries.ts'
import { readSourceFile, writeFileAtomic } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { isObject } from '../base/json.ts'
import { stateFolder, workspaceId } from '../journal/run-id.ts'
import type { Environment } from '../journal/secrets.ts'
import { hashPrompt } from '../prompt/document.ts'

/*
 * The last result of each test, which `baton test` leaves in the state folder for the page of a prompt file. Without it
 * everything works.
 */

interface Around {
  readonly env: Environment
  readonly home: string
}

/** The last result of a test. */
export interface LastResult {
  readonly passed: boolean
  /** ISO 8601, UTC. */
  readonly at: string
  readonly ms: number
  readonly calls: number
  /** US dollars; null if unknown. */
  readonly cost_usd: number | null
  /** What was not as expected. */
  readonly failures: readonly string[]
  /** The hash of the file that was tested, above its `====` line. */
  readonly hash: string
}

/** By the name of the test. */
export type LastResults = Readonly<Record<string, LastResult>>

interface Tested {
  /** Absolute, links resolved. */
  readonly workspace: string
  /** Absolute. */
  readonly file: string
}

/** Adds to the results of a file. Results of the same tests are replaced. Never throws. */
export function keepResults(
  tested: Tested,
  results: Readonly<Record<string, Omit<LastResult, 'hash'>>>,
  around: Around,
): void {
  try {
    const file = resultsFile(tested, around)
    const hash = testedHash(tested.file)
    const added = Object.entries(results).map(([name, result]) => [name, { ...result, hash }] as const)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileAtomic(file, JSON.stringify({ ...readResults(tested, around), ...Object.fromEntries(added) }))
  } catch {
    // they are not worth failing the tests for
  }
}

/** Empty if there are none. */
export function readResults(tested: Tested, around: Around): LastResults {
  try {
    const file = resultsFile(tested, around)
    const value: unknown = isFile(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
    return isObject(value) ? (value as LastResults) : {}
  } catch {
    return {}
  }
}

/** Equal as long as a result is one of the file as it is. */
export function testedHash(file: string): string {
  return hashPrompt(readSourceFile(file))
}

function resultsFile({ workspace, file }: Tested, around: Around): string {
  const name = `${sha256(relative(workspace, file)).slice(0, 24)}.json`
  return join(stateFolder(around), 'tests', workspaceId(workspace), name)
}
