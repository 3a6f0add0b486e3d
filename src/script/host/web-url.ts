import type { HostCall } from './call.ts'

/** What requests of scripts call themselves. */
export const userAgents = {
  aipack: 'aipack',
  browser:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
} as const

/** @throws BatonError for what is not a whole URL */
export function readUrl(given: string, call: HostCall): URL {
  if (URL.canParse(given)) return new URL(given)
  throw call.error(`Cannot parse url '${given}': it must be whole, like https://example.com/page`)
}
