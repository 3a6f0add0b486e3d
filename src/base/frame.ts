import { sha256 } from './hash.ts'
import { escapeMarkup } from './markup.ts'

/*
 * Frames around texts shown to a model: no text can close its own frame. agents/lua/quote.lua makes the same frames for
 * scripts.
 */

const shortestEnd = 12

/**
 * A text between `<tag …>` and `</tag>`. If the text could close its own frame, the frame ends with a marker that the
 * text does not contain. The marker is derived from the text, so that the same text always gives the same prompt.
 */
export function framed(tag: string, attributes: string, body: string): string {
  if (!new RegExp(String.raw`<\s*/\s*${tag}`, 'i').test(body)) return `<${tag} ${attributes}>\n${body}\n</${tag}>`
  const hash = sha256(body)
  let length = shortestEnd
  while (body.includes(hash.slice(0, length)) && length < hash.length) length += 1
  const end = `/${tag} ${hash.slice(0, length)}`
  return `<${tag} ${attributes} ends_with="${end}">\n${body}\n<${end}>`
}

/** Escapes a text so that it stays in its attribute and on its line. */
export function attribute(text: string): string {
  return withoutControls(escapeMarkup(text))
}

/** Replaces line breaks, control characters and text direction marks by entities, so that a name stays on its line. */
export function withoutControls(name: string): string {
  return name.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (mark) => `&#x${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase()};`,
  )
}
