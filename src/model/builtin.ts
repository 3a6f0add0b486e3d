/** A provider that is known without any config. */
export interface BuiltInProvider {
  readonly baseUrl: string
  /** The environment variable that replaces `baseUrl`; an endpoint from there needs no key. */
  readonly baseUrlEnv?: string
  readonly apiKeyEnv: string
  readonly defaultModel: string
  /** Names that are this provider's without `provider::` before them. */
  readonly names: RegExp
  /** Takes bare names nobody claims, once its key or base URL is in the environment. */
  readonly takesOtherNames: boolean
}

/** The order is the order in which keys in the environment are looked for when no model is named (DESIGN 8). */
export const builtInProviders: { readonly [name: string]: BuiltInProvider } = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    baseUrlEnv: 'OPENAI_BASE_URL',
    apiKeyEnv: 'OPENAI_API_KEY',
    defaultModel: 'gpt-5-mini',
    // gpt-oss models are open weights that other hosts serve
    names: /^(gpt-(?!oss)|chatgpt|o[134](-|$))/,
    takesOtherNames: true,
  },
}

export const gatewayUrlEnv = 'BATON_GATEWAY_URL'
export const gatewayKeyEnv = 'BATON_GATEWAY_KEY'
