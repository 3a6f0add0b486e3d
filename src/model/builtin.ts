import type { WireFormatName } from './wire/format.ts'
import { commonQuirks, type Quirks } from './wire/quirks.ts'

/** A provider that is known without any config. Its models are in agents/models.toml. */
export interface BuiltInProvider {
  /** What comes before the path of the format, for example `/chat/completions`. */
  readonly baseUrl: string
  /** The environment variable that replaces `baseUrl`; another host from there needs no key. */
  readonly baseUrlEnv?: string
  /** How that variable is written, when it is not a base URL (see base-url-env.ts). */
  readonly baseUrlForm?: 'ollama' | 'without-version'
  /** The first that is set counts. None: no key is sent. */
  readonly apiKeyEnvs: readonly string[]
  readonly format: WireFormatName
  /** What servers at another address speak in its name, when that is another format. */
  readonly formatElsewhere?: WireFormatName
  readonly quirks: Quirks
  /** A server for models of one's own, on this machine unless its variable says otherwise: nobody is paid. */
  readonly isLocal?: boolean
  /** Names that are this provider's without `provider::` before them. */
  readonly names?: RegExp
  /** Other hosts write ids of its models as `name/model`. */
  readonly isVendor?: boolean
  /** What the host wants before names that have no slash. */
  readonly modelPrefix?: string
  /** Takes bare names nobody claims, once its key or base URL is in the environment. */
  readonly takesOtherNames?: boolean
}

/**
 * The order is the order in which keys in the environment are looked for when no model is named (DESIGN 8). Addresses
 * and variables: spec/conventions.md 4.3, spec/aipack.md 4.5; quirks: spec/parts.md 4 and the hosts' own references.
 */
export const builtInProviders: { readonly [name: string]: BuiltInProvider } = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    baseUrlEnv: 'OPENAI_BASE_URL',
    apiKeyEnvs: ['OPENAI_API_KEY'],
    format: 'responses',
    formatElsewhere: 'chat',
    quirks: { ...commonQuirks, outputLimit: 'max_completion_tokens', cacheKey: true },
    // gpt-oss models are open weights that other hosts serve
    names: /^(?:ft:)?(?:gpt(?!-oss)|chatgpt|codex|o[134](?:-|$))/,
    isVendor: true,
    takesOtherNames: true,
  },
  anthropic: {
    baseUrl: 'https://api.anthropic.com/v1',
    baseUrlEnv: 'ANTHROPIC_BASE_URL',
    baseUrlForm: 'without-version',
    apiKeyEnvs: ['ANTHROPIC_API_KEY'],
    format: 'anthropic',
    quirks: { ...commonQuirks, structured: 'none', cacheMarks: true },
    names: /^claude-/,
    isVendor: true,
  },
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    apiKeyEnvs: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    format: 'gemini',
    quirks: commonQuirks,
    names: /^gemini-/,
  },
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1',
    apiKeyEnvs: ['GROQ_API_KEY'],
    format: 'chat',
    // many of its models refuse json_schema
    quirks: { ...commonQuirks, outputLimit: 'max_completion_tokens', structured: 'json' },
  },
  deepseek: {
    baseUrl: 'https://api.deepseek.com',
    apiKeyEnvs: ['DEEPSEEK_API_KEY'],
    format: 'chat',
    quirks: { ...commonQuirks, reasoning: 'thinking', structured: 'json', replaysReasoning: true },
    names: /^deepseek-[^:]*$/,
    isVendor: true,
  },
  xai: {
    baseUrl: 'https://api.x.ai/v1',
    apiKeyEnvs: ['XAI_API_KEY'],
    format: 'chat',
    quirks: { ...commonQuirks, outputLimit: 'max_completion_tokens' },
    names: /^grok-/,
  },
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    apiKeyEnvs: ['MISTRAL_API_KEY'],
    format: 'chat',
    quirks: { ...commonQuirks, refusesExtras: true },
    names: /^(?:mistral|ministral|magistral|codestral|devstral|pixtral|open-mi[sx]tral)-[^:]*$/,
  },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    apiKeyEnvs: ['OPENROUTER_API_KEY', 'OPEN_ROUTER_API_KEY'],
    format: 'chat',
    quirks: { ...commonQuirks, reasoning: 'object', cacheMarks: true },
    modelPrefix: 'openrouter/',
  },
  together: {
    baseUrl: 'https://api.together.xyz/v1',
    apiKeyEnvs: ['TOGETHER_API_KEY'],
    format: 'chat',
    quirks: commonQuirks,
  },
  fireworks: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    apiKeyEnvs: ['FIREWORKS_API_KEY'],
    format: 'chat',
    quirks: commonQuirks,
    names: /^accounts\/fireworks\//,
    modelPrefix: 'accounts/fireworks/models/',
  },
  cerebras: {
    baseUrl: 'https://api.cerebras.ai/v1',
    apiKeyEnvs: ['CEREBRAS_API_KEY'],
    format: 'chat',
    quirks: { ...commonQuirks, outputLimit: 'max_completion_tokens' },
  },
  moonshot: {
    baseUrl: 'https://api.moonshot.ai/v1',
    apiKeyEnvs: ['MOONSHOT_API_KEY', 'KIMI_API_KEY'],
    format: 'chat',
    quirks: {
      ...commonQuirks,
      outputLimit: 'max_completion_tokens',
      structured: 'json',
      replaysReasoning: true,
    },
    names: /^(?:kimi|moonshot)-[^:]*$/,
  },
  zai: {
    baseUrl: 'https://api.z.ai/api/paas/v4',
    apiKeyEnvs: ['ZAI_API_KEY'],
    format: 'chat',
    quirks: { ...commonQuirks, reasoning: 'thinking', structured: 'json' },
    names: /^glm-[^:]*$/,
  },
  ollama: {
    baseUrl: 'http://127.0.0.1:11434/v1',
    baseUrlEnv: 'OLLAMA_HOST',
    baseUrlForm: 'ollama',
    apiKeyEnvs: [],
    format: 'chat',
    quirks: commonQuirks,
    isLocal: true,
    // a tag behind one colon is how only Ollama writes names
    names: /^[^/:]+:[^/:]+$/,
  },
  lmstudio: {
    baseUrl: 'http://127.0.0.1:1234/v1',
    apiKeyEnvs: [],
    format: 'chat',
    quirks: commonQuirks,
    isLocal: true,
  },
  'llama-server': {
    baseUrl: 'http://127.0.0.1:8080/v1',
    apiKeyEnvs: [],
    format: 'chat',
    quirks: commonQuirks,
    isLocal: true,
  },
}

/** A word before `::` that stands for a provider in another way than by its name. */
interface ProviderPrefix {
  readonly provider: string
  /** In place of the format the address would have. */
  readonly format?: WireFormatName
  readonly baseUrl?: string
}

/** Prefixes that AIPack knows under another name than the table (spec/aipack.md 4.3). */
export const providerPrefixes: { readonly [prefix: string]: ProviderPrefix } = {
  openai_resp: { provider: 'openai', format: 'responses' },
  open_router: { provider: 'openrouter' },
  kimi: { provider: 'moonshot' },
  zai_coding: { provider: 'zai', baseUrl: 'https://api.z.ai/api/coding/paas/v4' },
}

export const gatewayUrlEnv = 'BATON_GATEWAY_URL'
export const gatewayKeyEnv = 'BATON_GATEWAY_KEY'
