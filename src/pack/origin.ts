import { isJsonObject, type Json } from '../base/json.ts'
import { type NotedUrl, withoutSecrets } from './without-secrets.ts'

/** Where an installed pack came from, as a lock file says it. */
export type PackOrigin =
  /** Absolute, or relative to the workspace of a workspace's lock. */
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string }
  /** Without a name, a password and a query. */
  | ({ readonly kind: 'url' } & NotedUrl)
  | {
      readonly kind: 'git'
      /** Without a password and a query. */
      readonly url: string
      /** Branch, tag or commit that was asked for. */
      readonly ref?: string
      readonly subdir?: string
      /** The commit that was installed. */
      readonly commit: string
    }

/** One line, in the form that `baton install` takes. */
export function originText(origin: PackOrigin): string {
  switch (origin.kind) {
    case 'folder':
    case 'file':
      return origin.path
    case 'url':
      // locks of earlier versions may hold a query
      return withoutSecrets(origin.url)
    case 'git': {
      const ref = origin.ref === undefined ? '' : `@${origin.ref}`
      return `${withoutSecrets(origin.url)}${ref}${origin.subdir === undefined ? '' : `#${origin.subdir}`}`
    }
  }
}

/** Whether both are the same place, at whatever commit. */
export function isSameOrigin(left: PackOrigin, right: PackOrigin): boolean {
  const where = (origin: PackOrigin): string =>
    origin.kind === 'git' ? JSON.stringify([withoutSecrets(origin.url), origin.subdir]) : originText(origin)
  return left.kind === right.kind && where(left) === where(right)
}

/** Reads what a lock file holds; undefined when it is none. */
export function originOf(value: Json | undefined): PackOrigin | undefined {
  if (!isJsonObject(value ?? null)) return undefined
  const { kind, path, url, query, ref, subdir, commit } = value as { readonly [key: string]: Json }
  if ((kind === 'folder' || kind === 'file') && typeof path === 'string') return { kind, path }
  if (kind === 'url' && typeof url === 'string') return { kind, url, ...(query === 'left out' ? { query } : {}) }
  if (kind !== 'git' || typeof url !== 'string' || typeof commit !== 'string') return undefined
  return {
    kind,
    url,
    ...(typeof ref === 'string' ? { ref } : {}),
    ...(typeof subdir === 'string' ? { subdir } : {}),
    commit,
  }
}
