/** The suffixes of model names that request an effort, with the value that is sent. */
const efforts: { readonly [suffix: string]: string } = {
  none: 'none',
  zero: 'none',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
}

/** Models whose own name ends in an effort word: those that AIPack knows, and other existing ones. */
const protectedNames = /^(?:deepseek-r1-zero|qwen[\d.]*-max|(?:mistral|magistral|devstral)-medium|gpt-5\.1-codex-max)$/i

interface Resolved {
  readonly name: string
  /** Omitted if the name has none, or is not an alias. */
  readonly suffix?: string
}

/** Resolves an alias, one level deep: the exact name first, then the name without an effort suffix. */
export function lookUpAlias(name: string, aliases: { readonly [alias: string]: string }): Resolved {
  const exact = Object.hasOwn(aliases, name) ? aliases[name] : undefined
  if (exact !== undefined) return { name: exact }
  const { base, suffix } = cutSuffix(name)
  const target = suffix !== undefined && Object.hasOwn(aliases, base) ? aliases[base] : undefined
  return target === undefined || suffix === undefined ? { name } : { name: target, suffix }
}

/**
 * Like `lookUpAlias`, but returns one name: the suffix is added to the target, replacing any suffix it has. The result
 * is not looked up again.
 */
export function resolveAlias(name: string, aliases: { readonly [alias: string]: string }): string {
  const { name: target, suffix } = lookUpAlias(name, aliases)
  return suffix === undefined ? target : withSuffix(target, suffix)
}

/**
 * The same for a request: the effort is returned separately, so that it is requested even where names are sent
 * verbatim. If the target has its own effort suffix, the new one replaces it in the name.
 */
export function requestedModel(name: string, aliases: { readonly [alias: string]: string }): NamedEffort {
  const { name: target, suffix } = lookUpAlias(name, aliases)
  if (suffix === undefined) return { model: target }
  if (splitEffort(target).model !== target) return { model: withSuffix(target, suffix) }
  return splitEffort(`${target}-${suffix}`)
}

/** A name with this effort suffix, replacing any it has. */
export function withSuffix(name: string, suffix: string): string {
  return `${splitEffort(name).model}-${suffix}`
}

export interface NamedEffort {
  readonly model: string
  readonly reasoningEffort?: string
}

/** Splits an effort suffix off a model name, unless it is part of the name. */
export function splitEffort(name: string): NamedEffort {
  if (protectedNames.test(name.slice(name.search(/[^/:]*$/)))) return { model: name }
  const { base, suffix } = cutSuffix(name)
  const reasoningEffort = suffix === undefined ? undefined : effortOf(suffix)
  return reasoningEffort === undefined ? { model: name } : { model: base, reasoningEffort }
}

export function effortOf(suffix: string): string | undefined {
  return Object.hasOwn(efforts, suffix) ? efforts[suffix] : undefined
}

/** A name without its effort suffix, and that suffix. */
export function cutSuffix(name: string): { readonly base: string; readonly suffix: string | undefined } {
  const dash = name.lastIndexOf('-')
  const suffix = name.slice(dash + 1)
  if (dash < 1 || !Object.hasOwn(efforts, suffix)) return { base: name, suffix: undefined }
  return { base: name.slice(0, dash), suffix }
}
