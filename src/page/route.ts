import { everyRun, type RunFilter } from './data/run-list.ts'

/**
 * What the page shows. It is kept in the hash of the address, so that it can be bookmarked and is part of the history.
 */
export type Route =
  /** Without a filter: the list as it was left. */
  | { readonly kind: 'runs'; readonly filter?: RunFilter }
  | { readonly kind: 'inbox' }
  /** A form to start a run: of a file, or like an earlier run. */
  | { readonly kind: 'new'; readonly file: string; readonly from: string }
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
      return `#/${queryText(route.filter ?? everyRun)}`
    case 'inbox':
      return '#/inbox'
    case 'new':
      return `#/new/${encodeURIComponent(route.file)}${route.from === '' ? '' : `/${encodeURIComponent(route.from)}`}`
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
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?')
  const [word = '', one = '', other = ''] = path.split('/').map(decoded)
  if (word === 'inbox') return { kind: 'inbox' }
  if (word === 'new') return { kind: 'new', file: one, from: other }
  if (word === 'runs' && one !== '') return { kind: 'run', id: one, tab: other === '' ? 'answer' : other }
  if (word === 'compare' && one !== '' && other !== '') return { kind: 'compare', before: one, after: other }
  if (word === 'files') return one === '' ? { kind: 'files' } : { kind: 'file', path: one }
  if (word === 'triggers') return { kind: 'triggers' }
  if (word === 'conversations') return one === '' ? { kind: 'conversations' } : { kind: 'conversation', id: one }
  const asked = new URLSearchParams(query)
  const filter = Object.fromEntries(Object.keys(everyRun).map((key) => [key, asked.get(key) ?? '']))
  return { kind: 'runs', filter: { ...everyRun, ...filter } }
}

function queryText(filter: RunFilter): string {
  const given = Object.entries(filter).filter(([, value]) => value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** The parent route, for Escape; undefined at the top level. */
export function above(route: Route): Route | undefined {
  switch (route.kind) {
    case 'runs':
    case 'inbox':
    case 'files':
    case 'triggers':
    case 'conversations':
      return undefined
    case 'new':
      return route.from === '' ? { kind: 'file', path: route.file } : { kind: 'run', id: route.from, tab: 'answer' }
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
