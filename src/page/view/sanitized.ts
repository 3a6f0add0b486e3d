import DOMPurify, { type Config } from 'dompurify'

const tags = (
  'a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr i kbd li ol ' +
  'p pre s span strong sub summary sup table tbody td th thead tr ul'
).split(' ')

/**
 * What models may write: text and its structure. No forms, styles, ids or media; nothing that loads or runs. An image stays a
 * text, because its address alone would tell another host who reads.
 */
const allowed: Config = {
  ALLOWED_TAGS: tags,
  ALLOWED_ATTR: ['href', 'title', 'align', 'colspan', 'rowspan', 'start'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true,
}

/** The nodes of a text of markup that cannot do anything; links open beside the page and tell nobody where from. */
export function sanitized(markup: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(markup, { ...allowed, RETURN_DOM_FRAGMENT: true })
  for (const link of fragment.querySelectorAll('a')) {
    link.rel = 'noopener noreferrer'
    link.target = '_blank'
  }
  return fragment
}
