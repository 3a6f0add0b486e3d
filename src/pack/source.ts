import { isAbsolute, join, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { withoutSecrets } from './without-secrets.ts'

/** What `baton install` was asked for. */
export type PackSource =
  /** `namespace@name`: one that a lock knows. */
  | { readonly kind: 'identity'; readonly identity: string }
  /** A folder or an archive. Absolute. */
  | { readonly kind: 'path'; readonly path: string }
  /** An archive. */
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'git'; readonly url: string; readonly ref?: string; readonly subdir?: string }

const identityPattern = /^[A-Za-z_][A-Za-z0-9_-]*@[A-Za-z_][A-Za-z0-9_-]*$/
/** `user@host:path`, as ssh takes it. */
const scpPattern = /^[\w.-]+@[\w.-]+:(?!\/\/)[^\s]+$/
const gitScheme = /^(?:git\+(?:https?|ssh|file)|git|ssh|file):\/\//

/**
 * Reads where a pack is (spec/aipack.md 7.3): a path, `http(s)://…` for an archive, and for git `git+https://…`,
 * `git+ssh://…`, `git+file://…`, `git://…`, `ssh://…`, `user@host:path` or an `https://…` that ends in `.git`; git URLs
 * may have `@REF` and `#SUBDIR` behind. Only text is looked at.
 * @throws BatonError USAGE
 */
export function parseSource(text: string, { cwd, home }: { readonly cwd: string; readonly home: string }): PackSource {
  if (text.trim() === '' || /\p{Cc}/u.test(text)) throw invalid(text, 'it is empty or holds control characters')
  if (identityPattern.test(text)) return { kind: 'identity', identity: text }
  if (gitScheme.test(text)) return gitSource(text, text.indexOf('://') + 3)
  if (/^https?:\/\//.test(text)) {
    const url = parseUrl(text)
    return /\.git(?:@.+)?$/.test(url.pathname) ? gitSource(text, text.indexOf('://') + 3) : { kind: 'url', url }
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) throw invalid(text, 'this kind of address is not known')
  if (scpPattern.test(text)) return gitSource(text, text.indexOf(':') + 1)
  const path = text === '~' || text.startsWith('~/') ? join(home, text.slice(1)) : text
  return { kind: 'path', path: isAbsolute(path) ? path : resolve(cwd, path) }
}

/** `from` is where the host, or the path of the short form, begins. */
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
  if (/^https?:/.test(url)) parseUrl(url)
  return { kind: 'git', url, ...(ref === undefined ? {} : { ref }), ...(subdir === undefined ? {} : { subdir }) }
}

/** What git takes as a name, and never as a flag. */
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
