/** What differs between the models of this format. */
export interface AnthropicFamily {
  /** How an effort is asked for: not at all, by a number of tokens, or by its name. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** It thinks also when it is not asked to. */
  readonly thinksUnasked: boolean
  /** The effort `xhigh` is known. */
  readonly knowsXhigh: boolean
  /** `temperature` and `top_p` are taken. */
  readonly takesSampling: boolean
  /** The largest output limit in tokens. */
  readonly mostTokens: number
}

/**
 * The family of a model by its name. A Claude name without a version is taken for the newest; a name that is no Claude
 * is a model of somebody else behind the same API, which knows thinking budgets.
 */
export function familyOf(model: string): AnthropicFamily {
  if (!/claude/i.test(model)) return { ...ruledBy(400), mostTokens: 64_000 }
  const version = versionOf(model)
  return { ...ruledBy(version), mostTokens: mostTokens(model, version) }
}

function ruledBy(version: number): Omit<AnthropicFamily, 'mostTokens'> {
  return {
    thinking: version < 307 ? 'none' : version < 406 ? 'budget' : 'adaptive',
    thinksUnasked: version >= 500,
    knowsXhigh: version >= 407,
    takesSampling: version < 407,
  }
}

function mostTokens(model: string, version: number): number {
  if (version < 305) return 4096
  if (version < 307) return 8192
  if (version < 405 && /opus/i.test(model)) return 32_000
  return version < 406 ? 64_000 : 128_000
}

/** 4.5 is 405. Dates and other long numbers are no versions. */
function versionOf(model: string): number {
  const found = /(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  return found === null ? Infinity : Number(found[1]) * 100 + Number(found[2] ?? 0)
}
