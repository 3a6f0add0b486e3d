import type { JsonObject } from '../../base/json.ts'
import { checkReserved } from '../../config/check-settings.ts'
import { checkWaits, ownCollab } from '../../config/collab-check.ts'
import type { Finding } from '../../config/issue.ts'

/** What is wrong with the option `collab` of a script agent, which is the table of prompt files. */
export function collabFindings(table: JsonObject): readonly Finding[] {
  const findings = checkReserved('collab', table)
  return findings.length > 0 ? findings : checkWaits(ownCollab(table))
}
