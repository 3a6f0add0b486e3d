import { sha256 } from './hash.ts'

/*
 * Frames around texts that a model is shown: no text ends its own. agents/lua/quote.lua makes the same ones for scripts.
 */

const shortestEnd = 12

/**
 * A text between `<tag …>` and `</tag>`. One that could end its own frame gets one with an end that it does not hold. It is made of
 * the text, so that the same text is the same prompt, whenever it is shown.
 */
export function framed(tag: string, attributes: string, body: string): string {
  if (!new RegExp(String.raw`<\s*/\s*${tag}`, 'i').test(body)) return `<${tag} ${attributes}>\n${body}\n</${tag}>`
  const hash = sha256(body)
  let length = shortestEnd
  while (body.includes(hash.slice(0, length)) && length < hash.length) length += 1
  const end = `/${tag} ${hash.slice(0, length)}`
  return `<${tag} ${attributes} ends_with="${end}">\n${body}\n<${end}>`
}

/** A text that stays in its attribute and on its line. */
export function attribute(text: string): string {
  return withoutControls(
    text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  )
}

/** A name with line breaks, control characters or marks of direction as entities: it stays on its line, as it is. */
export function withoutControls(name: string): string {
  return name.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (mark) => `&#x${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase()};`,
  )
}
