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

/** Models whose own name ends in an effort word: those of spec/aipack.md 4.4, and others that exist. */
const protectedNames = /^(?:deepseek-r1-zero|qwen[\d.]*-max|(?:mistral|magistral|devstral)-medium|gpt-5\.1-codex-max)$/i

/**
 * The name an alias stands for: exact name first, else without one effort suffix, which is put back on the target
 * (spec/aipack.md 4.2, vector 18). One level: what it gives is not looked up again.
 */
export function resolveAlias(name: string, aliases: { readonly [alias: string]: string }): string {
  const exact = Object.hasOwn(aliases, name) ? aliases[name] : undefined
  if (exact !== undefined) return exact
  const { base, suffix } = cutSuffix(name)
  const target = suffix !== undefined && Object.hasOwn(aliases, base) ? aliases[base] : undefined
  return target === undefined ? name : `${target}-${suffix}`
}

export interface NamedEffort {
  readonly model: string
  readonly reasoningEffort?: string
}

/** Takes a trailing effort word off a model name, unless the name itself ends so (spec/aipack.md 4.4). */
export function splitEffort(name: string): NamedEffort {
  if (protectedNames.test(name.slice(name.search(/[^/:]*$/)))) return { model: name }
  const { base, suffix } = cutSuffix(name)
  const reasoningEffort = suffix === undefined ? undefined : efforts[suffix]
  return reasoningEffort === undefined ? { model: name } : { model: base, reasoningEffort }
}

/** A name without the effort word at its end, and that word. */
export function cutSuffix(name: string): { readonly base: string; readonly suffix: string | undefined } {
  const dash = name.lastIndexOf('-')
  const suffix = name.slice(dash + 1)
  if (dash < 1 || !Object.hasOwn(efforts, suffix)) return { base: name, suffix: undefined }
  return { base: name.slice(0, dash), suffix }
}
