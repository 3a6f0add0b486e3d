import { defaultTimeouts } from '../../src/model/call.ts'
import type { ModelProvider } from '../../src/model/provider.ts'
import { createTransport, type TransportOptions } from '../../src/model/transport.ts'
import { chatFormat } from '../../src/model/wire/chat.ts'
import { commonQuirks } from '../../src/model/wire/format.ts'

/** A provider of chat completions at this base URL, without a key. */
export function chatProvider(baseUrl: string, options: Partial<TransportOptions> = {}): ModelProvider {
  return createTransport(chatFormat, {
    name: 'test',
    baseUrl,
    quirks: commonQuirks,
    apiKey: undefined,
    timeouts: defaultTimeouts,
    ...options,
  })
}
