/** The words that ask for an effort at the end of a model name, with the value that is sent. */
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

/** Models whose own name ends in an effort word: those that AIPack knows, and others that exist. */
const protectedNames = /^(?:deepseek-r1-zero|qwen[\d.]*-max|(?:mistral|magistral|devstral)-medium|gpt-5\.1-codex-max)$/i

interface Resolved {
  readonly name: string
  /** Left out: none was written, or no alias was. */
  readonly suffix?: string
}

/** The name an alias stands for: exact name first, else without one effort suffix. One level. */
export function lookUpAlias(name: string, aliases: { readonly [alias: string]: string }): Resolved {
  const exact = Object.hasOwn(aliases, name) ? aliases[name] : undefined
  if (exact !== undefined) return { name: exact }
  const { base, suffix } = cutSuffix(name)
  const target = suffix !== undefined && Object.hasOwn(aliases, base) ? aliases[base] : undefined
  return target === undefined || suffix === undefined ? { name } : { name: target, suffix }
}

/**
 * The same as one name: the suffix is put on the target, in place of one it has. What it gives is not looked up again.
 */
export function resolveAlias(name: string, aliases: { readonly [alias: string]: string }): string {
  const { name: target, suffix } = lookUpAlias(name, aliases)
  return suffix === undefined ? target : withSuffix(target, suffix)
}

/**
 * The same for a request: the effort by itself, so that it is asked for also where names go as they are written. Behind a
 * target that has an effort word of its own it takes its place.
 */
export function askedModel(name: string, aliases: { readonly [alias: string]: string }): NamedEffort {
  const { name: target, suffix } = lookUpAlias(name, aliases)
  if (suffix === undefined) return { model: target }
  if (splitEffort(target).model !== target) return { model: withSuffix(target, suffix) }
  return splitEffort(`${target}-${suffix}`)
}

/** A name with this effort word behind it, in place of one it has. */
export function withSuffix(name: string, suffix: string): string {
  return `${splitEffort(name).model}-${suffix}`
}

export interface NamedEffort {
  readonly model: string
  readonly reasoningEffort?: string
}

/** Takes a trailing effort word off a model name, unless the name itself ends so. */
export function splitEffort(name: string): NamedEffort {
  if (protectedNames.test(name.slice(name.search(/[^/:]*$/)))) return { model: name }
  const { base, suffix } = cutSuffix(name)
  const reasoningEffort = suffix === undefined ? undefined : effortOf(suffix)
  return reasoningEffort === undefined ? { model: name } : { model: base, reasoningEffort }
}

/** The effort that is sent for an effort word. */
export function effortOf(suffix: string): string | undefined {
  return Object.hasOwn(efforts, suffix) ? efforts[suffix] : undefined
}

/** A name without the effort word at its end, and that word. */
export function cutSuffix(name: string): { readonly base: string; readonly suffix: string | undefined } {
  const dash = name.lastIndexOf('-')
  const suffix = name.slice(dash + 1)
  if (dash < 1 || !Object.hasOwn(efforts, suffix)) return { base: name, suffix: undefined }
  return { base: name.slice(0, dash), suffix }
}
