import type { JsonObject } from '../base/json.ts'
import type { Finding } from './issue.ts'
import { reserved } from './keys.ts'

export interface TrustOptions {
  /** The file that sets the keys, as errors name it. */
  readonly file: string
  /** The user's own config file, where such keys belong. */
  readonly userFile: string
}

/**
 * Keys that a file which came with a folder may not set: who gets a provider's key, which programs are started, what
 * may be changed (DESIGN 3 "Trust"). `file` is a workspace config file or a prompt file. Findings have exit code 6.
 */
export function checkTrust(data: JsonObject, { file, userFile }: TrustOptions): readonly Finding[] {
  return Object.keys(data)
    .filter((key) => reserved.get(key)?.isGuarded === true)
    .map((key) => ({
      code: 'UNTRUSTED',
      message: `"${key}" may not be set by ${file}: files that come with a folder are not trusted with it`,
      hint: `If you want it, put it into your own config file ${userFile}.`,
      path: [key],
      part: 'key',
    }))
}
