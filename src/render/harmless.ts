import type { RunEvent } from '../event/event.ts'
import type { Renderer } from './renderer.ts'

/** Colours, line ends of Windows, and whatever else could move the cursor, change the terminal or turn text around. */
// oxlint-disable-next-line no-control-regex
const unwanted = /\u001b\[[\d;:]*m|\r\n|[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu

/**
 * Text of others as a terminal may get it: colours are taken out, other control characters and those that turn the
 * direction of text around become visible (`␛[2J`); line breaks and tabs stay.
 */
export function harmless(text: string): string {
  return text.replace(unwanted, (found) => {
    if (found === '\r\n') return '\n'
    return found.length > 1 ? '' : picture(found.charCodeAt(0))
  })
}

function picture(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/** The same renderer for a terminal: the texts of its events are harmless. Bytes for pipes and files stay as they are. */
export function withHarmlessText(renderer: Renderer): Renderer {
  return {
    event(event) {
      // pieces of answers are many, and drawn by nobody but the live view, which cleans what it shows
      if (event.type !== 'item.delta') renderer.event(harmlessIn(event) as RunEvent)
    },
    close: () => renderer.close(),
  }
}

function harmlessIn(value: unknown): unknown {
  if (typeof value === 'string') return harmless(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(harmlessIn)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, harmlessIn(item)]))
}
