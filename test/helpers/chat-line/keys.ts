/** Keys as a terminal in raw mode sends them. */
export const keys = {
  enter: '\r',
  interrupt: '\u0003',
  end: '\u0004',
  clear: '\u0015',
  back: '\u007f',
  up: '\u001b[A',
} as const

const pasteBegin = '\u001b[200~'
const pasteEnd = '\u001b[201~'

export function pasted(text: string): string {
  return `${pasteBegin}${text.replaceAll('\n', '\r')}${pasteEnd}`
}

/** A key, or a paste as a whole. `raw`: as it is sent. */
export type Press = { readonly raw: string } & (
  | { readonly kind: keyof typeof keys }
  | { readonly kind: 'text'; readonly text: string }
)

/** Splits what is typed at once into presses. */
export function pressesOf(typed: string): readonly Press[] {
  const presses: Press[] = []
  let left = typed
  while (left !== '') {
    if (left.startsWith(pasteBegin)) {
      const end = left.indexOf(pasteEnd)
      const raw = left.slice(0, end + pasteEnd.length)
      presses.push({ kind: 'text', raw, text: left.slice(pasteBegin.length, end).replaceAll('\r', '\n') })
      left = left.slice(raw.length)
      continue
    }
    const [kind, key] = Object.entries(keys).find(([, one]) => left.startsWith(one)) ?? ['text', left.slice(0, 1)]
    presses.push(kind === 'text' ? { kind, raw: key, text: key } : { kind: kind as keyof typeof keys, raw: key })
    left = left.slice(key.length)
  }
  return presses
}
