import { BatonError } from '../base/error.ts'
import { readBaseUrl } from './base-url.ts'
import { defaultTimeouts, type ModelTimeouts } from './call.ts'
import { isKey, readVariable, type Environment, type HostTarget, type ModelChoice } from './choice.ts'
import { keyMissing } from './errors.ts'
import type { ModelProvider } from './provider.ts'
import type { WireFormatName } from '../event/message.ts'
import type { WireFormat } from './wire/format.ts'

export interface ProviderContext {
  /** The environment that the key is read from, only when the provider is created. */
  readonly env: Environment
  readonly timeouts?: ModelTimeouts
  /** Called with each key that a command has printed, and a name for it, so that it can be masked. */
  readonly onKey?: ((name: string, key: string) => void) | undefined
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
  const { keyCommand } = provider
  const key =
    keyCommand === undefined
      ? keyInEnvironment(provider, model, context.env)
      : {
          apiKey: (await import('./key-command.ts')).createKeySource(keyCommand, context),
          apiKeyName: keyCommand.from,
        }
  const [{ createTransport }, format] = await Promise.all([import('./transport.ts'), loadFormat(provider.format)])
  const { timeouts = defaultTimeouts, env } = context
  const { streamIdle } = provider
  const own = streamIdle === undefined ? {} : { streamIdleMs: streamIdle.ms, streamIdleKey: streamIdle.key }
  return createTransport(format, {
    ...provider,
    ...key,
    timeouts: { ...timeouts, ...own },
    env,
  })
}

function keyInEnvironment(
  { name, baseUrl, baseUrlName, apiKeyEnv, keyRequired }: HostTarget,
  model: string,
  env: Environment,
): { readonly apiKey: string | undefined; readonly apiKeyName: string | undefined } {
  const apiKey = apiKeyEnv === undefined ? undefined : readVariable(env, apiKeyEnv)
  if (apiKeyEnv !== undefined && apiKey === undefined && keyRequired) {
    throw keyMissing(apiKeyEnv, { model, host: readBaseUrl(baseUrl, baseUrlName ?? name).host })
  }
  if (apiKey !== undefined && !isKey(apiKey)) {
    throw new BatonError('KEY_REFUSED', `${apiKeyEnv} contains a space or a character that keys cannot have`, {
      hint: `Set ${apiKeyEnv} again, without quotes and line breaks.`,
    })
  }
  return { apiKey, apiKeyName: apiKeyEnv }
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
