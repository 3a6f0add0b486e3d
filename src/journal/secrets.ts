import { formsOf, inForm, type SecretForm, secretForms } from './secret-forms.ts'
import { createTextSearch, type TextSearch } from './secret-search.ts'
import { type Environment, type MaskOptions, secretValues } from './secret-values.ts'

export type { Environment, MaskOptions } from './secret-values.ts'

/** Hides secret values in text and restores them. */
export interface SecretMask {
  /**
   * Each secret value becomes `«secret:NAME»`, also inside longer text, and `«secret:NAME:FORM»` if it is in base64,
   * URL-encoded or escaped for JSON. For records, error texts and rendering.
   */
  readonly mask: (text: string) => string
  /** Like `mask`, for display: only the values are replaced, so it cannot be reversed. */
  readonly hide: (text: string) => string
  /** Reverses `mask`. A name that is no longer in the environment is left unchanged. */
  readonly unmask: (text: string) => string
}

/** A mask that also handles incomplete text, and can learn more secrets over time. */
export interface LiveMask extends SecretMask {
  /** Hides these as well from now on. A known name keeps its value. */
  readonly add: (options: MaskOptions) => void
  /** How many characters at the end of a text may be the start of an incomplete secret. */
  readonly begun: (text: string) => number
}

const opening = '«secret:'
/** Stands for the opening itself if it occurs in the text; no environment variable can have this name. */
const literalName = '='
const written = new RegExp(`${opening}([^»]*)»`, 'g')
const formEnd = new RegExp(`:(${secretForms.map((form) => form.replace('.', '\\.')).join('|')})$`)

/**
 * A mask for the secrets of an environment (`secretValues`), as they are and in other forms. One pass over a text finds
 * them all; the search table is built on first use.
 */
export function createMask(environment: Environment, options: MaskOptions = {}): LiveMask {
  let secrets = secretValues(environment, options)
  let search = once(() => prepared(secrets))

  function unmasked(found: string, label: string): string {
    if (label === literalName) return opening
    const value = secrets.get(label)
    if (value !== undefined) return value
    const form = formEnd.exec(label)
    const inner = form === null ? undefined : secrets.get(label.slice(0, form.index))
    return inner === undefined ? found : (inForm(inner, form?.[1] as SecretForm) ?? found)
  }

  return {
    add(more) {
      secrets = new Map([...secretValues(environment, more), ...secrets])
      search = once(() => prepared(secrets))
    },
    mask: (text) => search().all.replace(text, (found) => `${opening}${search().labels.get(found) ?? literalName}»`),
    hide: (text) => search().shown.replace(text, (found) => `${opening}${search().labels.get(found)}»`),
    unmask: (text) => (text.includes(opening) ? text.replace(written, unmasked) : text),
    begun: (text) => search().shown.begun(text),
  }
}

interface Prepared {
  /** The label of each text that is found. */
  readonly labels: ReadonlyMap<string, string>
  readonly shown: TextSearch
  /** Also finds the opening of a mask itself. */
  readonly all: TextSearch
}

/**
 * A value that several variables have is labeled with the first; a plain value takes precedence over an encoded form of
 * another one.
 */
function prepared(secrets: ReadonlyMap<string, string>): Prepared {
  const labels = new Map<string, string>()
  for (const [name, value] of secrets) if (!labels.has(value)) labels.set(value, name)
  for (const [name, value] of secrets) {
    for (const [text, form] of formsOf(value)) if (!labels.has(text)) labels.set(text, `${name}:${form}`)
  }
  return {
    labels,
    shown: createTextSearch(labels.keys()),
    all: createTextSearch([...labels.keys(), opening]),
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** The variables of the secrets in masked text; `mask` writes nothing else that looks like one. */
export function secretNames(masked: string): readonly string[] {
  const labels = [...masked.matchAll(written)].map(([, label = '']) => label)
  const names = labels.map((label) => label.replace(formEnd, '').replace(/#\d+$/, ''))
  return [...new Set(names)].filter((name) => name !== literalName)
}

/** Hides nothing. */
export const noMask: SecretMask = createMask({})

/** A pattern that matches exactly this text. */
export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
