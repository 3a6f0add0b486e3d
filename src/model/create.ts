import { BatonError } from '../base/error.ts'
import { readBaseUrl } from './base-url.ts'
import { defaultTimeouts, type ModelTimeouts } from './call.ts'
import { readVariable, type Environment, type ModelChoice } from './choice.ts'
import { keyMissing } from './errors.ts'
import type { ModelProvider } from './provider.ts'
import type { WireFormatName } from '../event/message.ts'
import type { WireFormat } from './wire/format.ts'

export interface ProviderContext {
  /** The environment that the key is read from, only when the provider is created. */
  readonly env: Environment
  readonly timeouts?: ModelTimeouts
}

/**
 * Creates the chosen provider and loads only the modules it needs. One provider serves any number of concurrent calls.
 * @throws BatonError KEY_MISSING, KEY_REFUSED (a key that cannot be sent) or CONFIG_INVALID (an invalid base URL)
 */
export async function createProvider(choice: ModelChoice, context: ProviderContext): Promise<ModelProvider> {
  const { provider, model } = choice
  if (provider.kind === 'offline') {
    const { createOfflineProvider } = await import('./offline.ts')
    return createOfflineProvider()
  }
  const { name, baseUrl, baseUrlName, apiKeyEnv } = provider
  const apiKey = apiKeyEnv === undefined ? undefined : readVariable(context.env, apiKeyEnv)
  if (apiKeyEnv !== undefined && apiKey === undefined && provider.keyRequired) {
    throw keyMissing(apiKeyEnv, { model, host: readBaseUrl(baseUrl, baseUrlName ?? name).host })
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new BatonError('KEY_REFUSED', `${apiKeyEnv} contains a space or a character that keys cannot have`, {
      hint: `Set ${apiKeyEnv} again, without quotes and line breaks.`,
    })
  }
  const [{ createTransport }, format] = await Promise.all([import('./transport.ts'), loadFormat(provider.format)])
  const { timeouts = defaultTimeouts, env } = context
  const { streamIdle } = provider
  const own = streamIdle === undefined ? {} : { streamIdleMs: streamIdle.ms, streamIdleKey: streamIdle.key }
  return createTransport(format, {
    ...provider,
    apiKey,
    apiKeyName: apiKeyEnv,
    timeouts: { ...timeouts, ...own },
    env,
  })
}

async function loadFormat(name: WireFormatName): Promise<WireFormat> {
  switch (name) {
    case 'chat':
      return (await import('./wire/chat.ts')).chatFormat
    case 'responses':
      return (await import('./wire/responses.ts')).responsesFormat
    case 'anthropic':
      return (await import('./wire/anthropic.ts')).anthropicFormat
    case 'gemini':
      return (await import('./wire/gemini.ts')).geminiFormat
  }
}
