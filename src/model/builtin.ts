import type { WireFormatName } from '../event/message.ts'
import { modelNames } from '../model-names.ts'
import { commonQuirks, type Quirks } from './wire/format.ts'

/** A provider that is known without config. Its models are in agents/models.toml. */
export interface BuiltInProvider {
  /** The part before the path of the format, which is for example `/chat/completions`. */
  readonly baseUrl: string
  /** The environment variable that overrides `baseUrl`; if it names a different host, no key is required. */
  readonly baseUrlEnv?: string
  /** The form of that variable, if it is not a base URL (see base-url.ts). */
  readonly baseUrlForm?: 'ollama' | 'without-version'
  /** The first one that is set is used. If empty, no key is sent. */
  readonly apiKeyEnvs: readonly string[]
  /** The variables with the organization and the project whose account is used; only sent to `baseUrl`. */
  readonly accountEnvs?: readonly [organization: string, project: string]
  readonly format: WireFormatName
  /** The format of servers at other addresses that use its name, if different. */
  readonly formatElsewhere?: WireFormatName
  readonly quirks: Quirks
  /** A self-hosted server, on this machine unless its variable says otherwise; its calls are free. */
  readonly isLocal?: boolean
  /** Model names that belong to this provider without a `provider::` prefix. */
  readonly names?: RegExp
  /** Other hosts use ids of the form `name/model` for its models. */
  readonly isVendor?: boolean
  /** It has the batch API of its format. */
  readonly hasBatches?: boolean
  /** Prefix that the host requires for names without a slash. */
  readonly modelPrefix?: string
  /** Gets bare names that no other provider claims, if its key or base URL is set in the environment. */
  readonly takesOtherNames?: boolean
}

/** A row with the common defaults: OpenAI's chat completions, with a key. */
function host(
  baseUrl: string,
  apiKeyEnvs: readonly string[],
  { quirks, ...row }: Partial<Omit<BuiltInProvider, 'quirks'>> & { readonly quirks?: Partial<Quirks> } = {},
): BuiltInProvider {
  return { baseUrl, apiKeyEnvs, format: 'chat', ...row, quirks: { ...commonQuirks, ...quirks } }
}

/**
 * If no model is named, keys in the environment are tried in this order. Addresses, variables and quirks are taken from
 * the hosts' documentation.
 */
export const builtInProviders: { readonly [name: string]: BuiltInProvider } = {
  openai: host('https://api.openai.com/v1', ['OPENAI_API_KEY'], {
    baseUrlEnv: 'OPENAI_BASE_URL',
    accountEnvs: ['OPENAI_ORG_ID', 'OPENAI_PROJECT_ID'],
    format: 'responses',
    formatElsewhere: 'chat',
    quirks: {
      files: 'all',
      outputLimit: 'max_completion_tokens',
      cacheKey: true,
      replaysReasoning: 'none',
      encryptsReasoning: true,
    },
    names: modelNames.openai,
    isVendor: true,
    hasBatches: true,
    takesOtherNames: true,
  }),
  anthropic: host('https://api.anthropic.com/v1', ['ANTHROPIC_API_KEY'], {
    baseUrlEnv: 'ANTHROPIC_BASE_URL',
    baseUrlForm: 'without-version',
    format: 'anthropic',
    quirks: { files: 'all', structured: 'none', cacheMarks: true },
    names: modelNames.anthropic,
    isVendor: true,
    hasBatches: true,
  }),
  gemini: host('https://generativelanguage.googleapis.com/v1beta', ['GEMINI_API_KEY', 'GOOGLE_API_KEY'], {
    format: 'gemini',
    quirks: { files: 'all' },
    names: modelNames.gemini,
  }),
  groq: host('https://api.groq.com/openai/v1', ['GROQ_API_KEY'], {
    // many of its models refuse json_schema
    quirks: { outputLimit: 'max_completion_tokens', structured: 'json', replaysReasoning: 'none' },
  }),
  deepseek: host('https://api.deepseek.com', ['DEEPSEEK_API_KEY'], {
    quirks: { files: 'none', reasoning: 'thinking', structured: 'json', replaysReasoning: 'text' },
    names: modelNames.deepseek,
    isVendor: true,
  }),
  xai: host('https://api.x.ai/v1', ['XAI_API_KEY'], {
    quirks: { outputLimit: 'max_completion_tokens', replaysReasoning: 'none' },
    names: modelNames.xai,
  }),
  mistral: host('https://api.mistral.ai/v1', ['MISTRAL_API_KEY'], {
    quirks: { replaysReasoning: 'none', refusesExtras: true },
    names: modelNames.mistral,
  }),
  openrouter: host('https://openrouter.ai/api/v1', ['OPENROUTER_API_KEY', 'OPEN_ROUTER_API_KEY'], {
    quirks: { files: 'all', reasoning: 'object', cacheMarks: true },
    modelPrefix: 'openrouter/',
  }),
  together: host('https://api.together.xyz/v1', ['TOGETHER_API_KEY'], { quirks: { replaysReasoning: 'none' } }),
  fireworks: host('https://api.fireworks.ai/inference/v1', ['FIREWORKS_API_KEY'], {
    quirks: { replaysReasoning: 'none' },
    names: modelNames.fireworks,
    modelPrefix: 'accounts/fireworks/models/',
  }),
  cerebras: host('https://api.cerebras.ai/v1', ['CEREBRAS_API_KEY'], {
    quirks: { files: 'none', outputLimit: 'max_completion_tokens', replaysReasoning: 'none' },
  }),
  moonshot: host('https://api.moonshot.ai/v1', ['MOONSHOT_API_KEY', 'KIMI_API_KEY'], {
    quirks: { outputLimit: 'max_completion_tokens', structured: 'json', replaysReasoning: 'text' },
    names: modelNames.moonshot,
  }),
  zai: host('https://api.z.ai/api/paas/v4', ['ZAI_API_KEY'], {
    quirks: { reasoning: 'thinking', structured: 'json', replaysReasoning: 'text' },
    names: modelNames.zai,
  }),
  ollama: host('http://127.0.0.1:11434/v1', [], {
    baseUrlEnv: 'OLLAMA_HOST',
    baseUrlForm: 'ollama',
    isLocal: true,
    names: modelNames.ollama,
  }),
  lmstudio: host('http://127.0.0.1:1234/v1', [], { isLocal: true }),
  'llama-server': host('http://127.0.0.1:8080/v1', [], { isLocal: true }),
}

/** A prefix before `::` that stands for a provider but is not its name. */
interface ProviderPrefix {
  readonly provider: string
  /** Overrides the format of the address. */
  readonly format?: WireFormatName
  readonly baseUrl?: string
}

/** Prefixes whose AIPack name differs from the name in the table. */
export const providerPrefixes: { readonly [prefix: string]: ProviderPrefix } = {
  openai_resp: { provider: 'openai', format: 'responses' },
  open_router: { provider: 'openrouter' },
  kimi: { provider: 'moonshot' },
  zai_coding: { provider: 'zai', baseUrl: 'https://api.z.ai/api/coding/paas/v4' },
}

export const gatewayUrlEnv = 'BATON_GATEWAY_URL'
export const gatewayKeyEnv = 'BATON_GATEWAY_KEY'
