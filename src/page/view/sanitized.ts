import DOMPurify, { type Config } from 'dompurify'

const tags = (
  'a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr i kbd li ol ' +
  'p pre s span strong sub summary sup table tbody td th thead tr ul'
).split(' ')

/**
 * Markup allowed in texts of models: text and structure only. No forms, styles, ids or media, and nothing that loads or
 * runs. Images are shown as text, because loading one would disclose the reader to another host.
 */
const allowed: Config = {
  ALLOWED_TAGS: tags,
  ALLOWED_ATTR: ['href', 'title', 'align', 'colspan', 'rowspan', 'start'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true,
}

/** Parses markup into safe nodes. Links open in a new tab and send no referrer. */
export function sanitized(markup: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(markup, { ...allowed, RETURN_DOM_FRAGMENT: true })
  for (const link of fragment.querySelectorAll('a')) {
    link.rel = 'noopener noreferrer'
    link.target = '_blank'
  }
  return fragment
}
