import type { HostCall } from './call.ts'

/** The user agents of requests by scripts. */
export const userAgents = {
  aipack: 'aipack',
  browser:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
} as const

/** @throws BatonError if the text is not an absolute URL */
export function readUrl(given: string, call: HostCall): URL {
  if (URL.canParse(given)) return new URL(given)
  throw call.error(`Cannot parse url '${given}': it must be a full URL, like https://example.com/page`)
}
