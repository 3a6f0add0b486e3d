import { isAbsolute, join, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { defined, isJsonObject, type Json } from '../base/json.ts'

/** The argument of `baton install`. */
export type PackSource =
  /** `namespace@name`: a pack in a lock. */
  | { readonly kind: 'identity'; readonly identity: string }
  /** A folder or an archive. Absolute. */
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'git'; readonly url: string; readonly ref?: string; readonly subdir?: string }

const identityPattern = /^[A-Za-z_][A-Za-z0-9_-]*@[A-Za-z_][A-Za-z0-9_-]*$/
/** `user@host:path`, as ssh takes it. */
const scpPattern = /^[\w.-]+@[\w.-]+:(?!\/\/)[^\s]+$/
const gitScheme = /^(?:git\+(?:https?|ssh|file)|git|ssh|file):\/\//

/**
 * Parses the source of a pack: a path, `http(s)://…` for an archive, and for git `git+https://…`, `git+ssh://…`,
 * `git+file://…`, `git://…`, `ssh://…`, `user@host:path` or an `https://…` that ends in `.git`; git URLs may end in
 * `@REF` and `#SUBDIR`. Only the text is parsed.
 * @throws BatonError USAGE
 */
export function parseSource(text: string, { cwd, home }: { readonly cwd: string; readonly home: string }): PackSource {
  if (text.trim() === '' || /\p{Cc}/u.test(text)) throw invalid(text, 'it is empty or has control characters')
  if (identityPattern.test(text)) return { kind: 'identity', identity: text }
  if (gitScheme.test(text)) return gitSource(text, text.indexOf('://') + 3)
  if (/^https?:\/\//.test(text)) {
    const url = parseUrl(text)
    return /\.git(?:@.+)?$/.test(url.pathname) ? gitSource(text, text.indexOf('://') + 3) : { kind: 'url', url }
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) throw invalid(text, 'this kind of address is not supported')
  if (scpPattern.test(text)) return gitSource(text, text.indexOf(':') + 1)
  const path = text === '~' || text.startsWith('~/') ? join(home, text.slice(1)) : text
  return { kind: 'path', path: isAbsolute(path) ? path : resolve(cwd, path) }
}

/** `from` is where the host, or the path of the short form, starts. */
function gitSource(text: string, from: number): PackSource {
  const hash = text.indexOf('#')
  const address = hash === -1 ? text : text.slice(0, hash)
  const subdir = hash === -1 ? undefined : readSubdir(text, text.slice(hash + 1))
  // an @ before the first slash is a user
  const pathAt = text[from - 1] === ':' ? from : address.indexOf('/', from)
  const at = pathAt === -1 ? -1 : address.indexOf('@', pathAt)
  const url = (at === -1 ? address : address.slice(0, at)).replace(/^git\+/, '')
  const ref = at === -1 ? undefined : address.slice(at + 1)
  if (ref !== undefined && !isRef(ref)) throw invalid(text, `"${ref}" is not a branch, a tag or a commit`)
  if (/^https?:/.test(url) && parseUrl(url).search !== '') {
    throw invalid(text, 'git sends no query; a token goes before the host, as in https://TOKEN@HOST/PATH')
  }
  return { kind: 'git', url, ...defined({ ref, subdir }) }
}

/** What git parses as a name, and never as a flag. */
function isRef(ref: string): boolean {
  return /^[\w.][\w./+-]*$/.test(ref) && !ref.includes('..') && !ref.endsWith('/') && !ref.endsWith('.lock')
}

function readSubdir(text: string, written: string): string {
  const steps = written.replaceAll('\\', '/').split('/')
  const named = steps.filter((step) => step !== '' && step !== '.')
  const leaves = written.startsWith('/') || written.startsWith('\\') || /^[A-Za-z]:/.test(written)
  if (named.length === 0 || leaves || steps.includes('..') || named.some((step) => step.toLowerCase() === '.git')) {
    throw invalid(text, `"${written}" is not a folder in the repository`)
  }
  return named.join('/')
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text)) throw invalid(text, 'it is not a URL')
  return new URL(text)
}

function invalid(text: string, reason: string): BatonError {
  return new BatonError('USAGE', `${JSON.stringify(withoutSecrets(text))} is not the source of a pack: ${reason}`, {
    hint: 'Name a folder, an .aipack file, its http(s) URL, or a git URL: git+https://HOST/PATH[@REF][#FOLDER].',
  })
}

/** Where an installed pack came from, as a lock file stores it. */
export type PackOrigin =
  /** Absolute, or relative to the workspace of a workspace's lock. */
  | { readonly kind: 'folder' | 'file'; readonly path: string }
  /** Without a user name, a password and a query. */
  | ({ readonly kind: 'url' } & LockedUrl)
  | {
      readonly kind: 'git'
      /** Without a password and a query. */
      readonly url: string
      readonly ref?: string
      readonly subdir?: string
      readonly commit: string
    }

/** One line, in the form that `baton install` takes. */
export function originText(origin: PackOrigin): string {
  switch (origin.kind) {
    case 'folder':
    case 'file':
      return origin.path
    case 'url':
      // locks of earlier versions may contain a query
      return withoutSecrets(origin.url)
    case 'git': {
      const ref = origin.ref === undefined ? '' : `@${origin.ref}`
      return `${withoutSecrets(origin.url)}${ref}${origin.subdir === undefined ? '' : `#${origin.subdir}`}`
    }
  }
}

/** Whether fetching contacts another machine. */
export function isRemote(origin: PackOrigin): boolean {
  return origin.kind === 'url' || (origin.kind === 'git' && !origin.url.startsWith('file:'))
}

/** Whether both are the same place, at any commit. */
export function isSameOrigin(left: PackOrigin, right: PackOrigin): boolean {
  const where = (origin: PackOrigin): string =>
    origin.kind === 'git' ? JSON.stringify([withoutSecrets(origin.url), origin.subdir]) : originText(origin)
  return left.kind === right.kind && where(left) === where(right)
}

/** Parses the origin in a lock file; undefined if it is invalid. */
export function originOf(value: Json | undefined): PackOrigin | undefined {
  if (!isJsonObject(value ?? null)) return undefined
  const { kind, path, url, query, ref, subdir, commit } = value as { readonly [key: string]: Json }
  if ((kind === 'folder' || kind === 'file') && typeof path === 'string') return { kind, path }
  if (kind === 'url' && typeof url === 'string') return { kind, url, ...(query === 'left out' ? { query } : {}) }
  if (kind !== 'git' || typeof url !== 'string' || typeof commit !== 'string') return undefined
  const [known, folder] = [ref, subdir].map((text) => (typeof text === 'string' ? text : undefined))
  return { kind, url, ...defined({ ref: known, subdir: folder }), commit }
}

/**
 * Text with its URLs in a form that may be shown and stored: without passwords, for http without user names, which are
 * often tokens, and without the query, which contains the key in signed links.
 */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(/(\bhttps?:\/\/)[^\s/?#'"]*@/gi, '$1')
    .replaceAll(/(\b[a-z][a-z\d+.-]*:\/\/[^\s/@:]*):[^\s/?#'"]*@/gi, '$1@')
    .replaceAll(/(\bhttps?:\/\/[^\s?#'"]*)\?[^\s#'"]*/gi, '$1')
}

/** An http(s) URL in the form that a lock stores. */
export interface LockedUrl {
  readonly url: string
  /** It had a query, which is not stored: without it, the server may not find the file. */
  readonly query?: 'left out'
}

export function lockedUrl(url: URL): LockedUrl {
  const noted = new URL(url)
  Object.assign(noted, { username: '', password: '', search: '', hash: '' })
  return { url: noted.href, ...(url.search === '' ? {} : { query: 'left out' }) }
}

/** A hint for a URL that leads to something else without its query. */
export function queryHint(what: string): string {
  return `Its address had a query, which is not stored because it may be a secret: run baton install '${what}?…' with the full address.`
}
