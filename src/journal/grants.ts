import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, isObject, type Json } from '../base/json.ts'
import type { Grant } from '../event/permission.ts'

/** What older processes of a run recorded about approval questions. */
export interface PastApprovals {
  /**
   * The places of the questions, each once, in the order in which they were first asked: the first one has the number
   * 1.
   */
  readonly places: readonly string[]
  /** What was allowed for the rest of the run. */
  readonly grants: readonly Grant[]
}

/** What a decision allows for the rest of the run. */
export function grantIn(decision: unknown): readonly Grant[] {
  return isObject(decision) && isObject(decision['always']) ? [decision['always'] as unknown as Grant] : []
}

/** A file in the folder of a run: what was allowed in it and is not any more. */
const markName = 'revoked'

/** Identifies a grant. It says nothing about it, because a command line may contain what is secret. */
export function grantKey(grant: Grant): string {
  return sha256(canonicalJson(grant as unknown as Json))
}

/** Records in the folder of a run that what was allowed there no longer is. @throws errors of the system */
export function revokeGrants(folder: string, keys: readonly string[]): void {
  writeFileAtomic(join(folder, markName), [...revokedIn(folder), ...keys].map((key) => `${key}\n`).join(''))
}

/** The keys of grants that were revoked. */
export function revokedIn(folder: string): ReadonlySet<string> {
  try {
    return new Set(
      readFileSync(join(folder, markName), 'utf8')
        .split('\n')
        .filter((key) => key !== ''),
    )
  } catch {
    return new Set()
  }
}
