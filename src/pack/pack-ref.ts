import { BatonError } from '../base/error.ts'

/** A reference to a pack or to something in it (spec/aipack.md 3.2): `ns@name[$base|$workspace][/sub/path]`. */
export interface PackRef {
  /** Left out in `@name`, which stands for the one pack of that name (DESIGN 6). */
  readonly namespace?: string
  readonly name: string
  /** The pack's own folder, or the folder for what it keeps: for all workspaces (`$base`) or in this one. */
  readonly scope: 'pack' | 'base' | 'workspace'
  /** Never empty, and without `..`. */
  readonly subPath?: string
}

const identifier = /^[A-Za-z_][A-Za-z0-9_-]*$/
const pathReference = /^[A-Za-z_][A-Za-z0-9_-]*@[A-Za-z_][A-Za-z0-9_-]*(?:[$/]|$)/

/**
 * Reads a pack reference.
 * @throws BatonError AGENT_NOT_FOUND when it is none, saying what is wrong with it
 */
export function parsePackRef(text: string): PackRef {
  const slash = text.indexOf('/')
  const head = slash === -1 ? text : text.slice(0, slash)
  const [namespace = '', rest, ...more] = head.split('@')
  if (rest === undefined) throw invalid(text, 'it has no @')
  if (more.length > 0) throw invalid(text, 'it has more than one @')

  const [name = '', scope, ...scopes] = rest.split('$')
  if (namespace !== '' && !identifier.test(namespace)) throw invalid(text, `"${namespace}" is not a namespace`)
  if (!identifier.test(name)) throw invalid(text, `"${name}" is not the name of a pack`)
  if (scope !== undefined && (scopes.length > 0 || (scope !== 'base' && scope !== 'workspace'))) {
    throw invalid(text, 'only $base and $workspace may follow the name')
  }
  return {
    ...(namespace === '' ? {} : { namespace }),
    name,
    scope: scope ?? 'pack',
    ...readSubPath(text, slash === -1 ? '' : text.slice(slash + 1)),
  }
}

function readSubPath(text: string, subPath: string): { readonly subPath?: string } {
  if (subPath.includes('$')) throw invalid(text, 'a $ may stand right behind the name only')
  if (subPath.split('/').includes('..')) throw invalid(text, 'its path may not go up by ..')
  return subPath === '' ? {} : { subPath }
}

function invalid(text: string, reason: string): BatonError {
  return new BatonError('AGENT_NOT_FOUND', `"${text}" is not a pack reference: ${reason}`, {
    hint: 'Write namespace@name or namespace@name/path; a file that has an @ in its name is written ./like@this.',
  })
}

/** The reference as people write it. */
export function packRefText({ namespace = '', name, scope, subPath }: PackRef): string {
  return `${namespace}@${name}${scope === 'pack' ? '' : `$${scope}`}${subPath === undefined ? '' : `/${subPath}`}`
}

/**
 * True when a file path means a pack: `namespace@name` stands before its first slash, `$` or end. Unlike in AIPack,
 * `logo@2x.png` and `docs/a@b` are files (DESIGN 6); a file called like a pack is written `./ns@name`.
 */
export function isPackPath(path: string): boolean {
  return pathReference.test(path)
}

/** True when an agent name may mean a pack: an `@` stands before its first slash. A bare `@name` counts. */
export function mayBePackName(name: string): boolean {
  return /^[^./\\~][^/\\]*@|^@/.test(name)
}
