/**
 * What the page shows. It is kept in the hash of the address, so that it can be bookmarked and is part of the history.
 */
export type Route =
  | { readonly kind: 'runs' }
  | { readonly kind: 'run'; readonly id: string; readonly tab: string }
  | { readonly kind: 'compare'; readonly before: string; readonly after: string }
  | { readonly kind: 'files' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'triggers' }
  | { readonly kind: 'conversations' }
  | { readonly kind: 'conversation'; readonly id: string }

export function hashOf(route: Route): string {
  switch (route.kind) {
    case 'runs':
      return '#/'
    case 'run':
      return `#/runs/${encodeURIComponent(route.id)}${route.tab === 'answer' ? '' : `/${route.tab}`}`
    case 'compare':
      return `#/compare/${encodeURIComponent(route.before)}/${encodeURIComponent(route.after)}`
    case 'files':
      return '#/files'
    case 'file':
      return `#/files/${encodeURIComponent(route.path)}`
    case 'triggers':
      return '#/triggers'
    case 'conversations':
      return '#/conversations'
    case 'conversation':
      return `#/conversations/${encodeURIComponent(route.id)}`
  }
}

/** The route of a hash; the list of runs if it is unknown. */
export function parseHash(hash: string): Route {
  const [word = '', one = '', other = ''] = hash
    .replace(/^#?\/?/, '')
    .split('/')
    .map(decoded)
  if (word === 'runs' && one !== '') return { kind: 'run', id: one, tab: other === '' ? 'answer' : other }
  if (word === 'compare' && one !== '' && other !== '') return { kind: 'compare', before: one, after: other }
  if (word === 'files') return one === '' ? { kind: 'files' } : { kind: 'file', path: one }
  if (word === 'triggers') return { kind: 'triggers' }
  if (word === 'conversations') return one === '' ? { kind: 'conversations' } : { kind: 'conversation', id: one }
  return { kind: 'runs' }
}

/** The parent route, for Escape; undefined at the top level. */
export function above(route: Route): Route | undefined {
  switch (route.kind) {
    case 'runs':
    case 'files':
    case 'triggers':
    case 'conversations':
      return undefined
    case 'run':
    case 'compare':
      return { kind: 'runs' }
    case 'file':
      return { kind: 'files' }
    case 'conversation':
      return { kind: 'conversations' }
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
