import { formsOf, inForm, type SecretForm, secretForms } from './secret-forms.ts'
import { createTextSearch, type TextSearch } from './secret-search.ts'
import { createSpellingSearch, hasEscapes, inSpelling, type SpellingSearch } from './secret-spellings.ts'
import { type Environment, type MaskOptions, secretValues } from './secret-values.ts'

export type { Environment, MaskOptions } from './secret-values.ts'

/** Hides secret values in text and restores them. */
export interface SecretMask {
  /**
   * Each secret value becomes `«secret:NAME»`, also inside longer text, and `«secret:NAME:FORM»` if it is in base64,
   * URL-encoded, escaped for JSON, or written in another mixture of such encodings. For records, error texts and rendering.
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
const spelling = 'spelled.'
const spellingEnd = /:spelled\.([0-9a-z]+)$/
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
    const digits = spellingEnd.exec(label)
    if (digits !== null) {
      const spelled = secrets.get(label.slice(0, digits.index))
      return spelled === undefined ? found : (inSpelling(spelled, digits[1] ?? '') ?? found)
    }
    const form = formEnd.exec(label)
    const inner = form === null ? undefined : secrets.get(label.slice(0, form.index))
    return inner === undefined ? found : (inForm(inner, form?.[1] as SecretForm) ?? found)
  }

  /** What is found as it is and in the forms takes precedence over values in other spellings. */
  function marked(text: string, by: 'all' | 'shown'): string {
    const { labels, spellings, [by]: texts } = search()
    const done = texts.replace(text, (found) => `${opening}${labels.get(found) ?? literalName}»`)
    if (!hasEscapes(done)) return done
    return spellings().replace(done, (value, digits) => `${opening}${labels.get(value)}:${spelling}${digits}»`)
  }

  return {
    add(more) {
      secrets = new Map([...secretValues(environment, more), ...secrets])
      search = once(() => prepared(secrets))
    },
    mask: (text) => marked(text, 'all'),
    hide: (text) => marked(text, 'shown'),
    unmask: (text) => (text.includes(opening) ? text.replace(written, unmasked) : text),
    begun(text) {
      const { shown, spellings } = search()
      const least = shown.begun(text)
      if (!hasEscapes(text)) return least
      // what is complete is not searched again
      const rest = shown.replace(text, (found) => '\0'.repeat(found.length))
      return spellings().begun(rest, least)
    },
  }
}

interface Prepared {
  /** The label of each text that is found. */
  readonly labels: ReadonlyMap<string, string>
  readonly shown: TextSearch
  /** Also finds the opening of a mask itself. */
  readonly all: TextSearch
  /** Created when a text contains encoded characters. */
  readonly spellings: () => SpellingSearch
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
    spellings: once(() => createSpellingSearch(secrets.values())),
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** The variables of the secrets in masked text; `mask` writes nothing else that looks like one. */
export function secretNames(masked: string): readonly string[] {
  const labels = [...masked.matchAll(written)].map(([, label = '']) => label)
  const names = labels.map((label) => label.replace(formEnd, '').replace(spellingEnd, '').replace(/#\d+$/, ''))
  return [...new Set(names)].filter((name) => name !== literalName)
}

/** Hides nothing. */
export const noMask: SecretMask = createMask({})

/** A pattern that matches exactly this text. */
export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
