/** Where an entry of an archive belongs below the folder it is unpacked into, or why it belongs nowhere. */
export type EntryPlace =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'refused'; readonly problem: string }

/** What file systems take at most, in bytes of UTF-8. */
const longestName = 255
const longestPath = 1024
const mostNames = 64
/** Devices on Windows, whatever stands behind a dot. */
const device = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i
/** Control characters, and those that turn the direction of text, so that a name looks like another one. */
const control = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u

/**
 * The relative path of an entry, with single slashes and without `.`; empty for the folder itself. Pure text: nothing is
 * looked at on the disk. Refused is whatever leads out of the folder, or means something else on another system: that
 * is decided by the name alone, so that an archive is good everywhere or nowhere.
 */
export function entryPlace(name: string): EntryPlace {
  const problem = wholeProblem(name)
  if (problem !== undefined) return { kind: 'refused', problem }
  const names = name.split('/').filter((step) => step !== '' && step !== '.')
  if (names.length > mostNames) return { kind: 'refused', problem: `lies in more than ${mostNames} folders` }
  const bad = names.map(stepProblem).find((found) => found !== undefined)
  return bad === undefined ? { kind: 'path', path: names.join('/') } : { kind: 'refused', problem: bad }
}

function wholeProblem(name: string): string | undefined {
  if (name === '') return 'has no name'
  if (name.includes('\0')) return 'holds a NUL character'
  if (control.test(name)) return 'holds a control character'
  if (name.startsWith('/') || name.startsWith('\\')) return 'is an absolute path'
  if (/^[A-Za-z]:/.test(name)) return 'begins with a drive letter'
  if (name.includes('\\')) return 'holds a backslash, which is a separator on some systems'
  if (Buffer.byteLength(name) > longestPath) return `is longer than ${longestPath} bytes`
  return /\p{Cs}/u.test(name) ? 'is not Unicode text' : undefined
}

function stepProblem(step: string): string | undefined {
  if (step === '..') return 'leads out of the folder'
  if (/[. ]$/.test(step)) return 'has a name that ends with a dot or a space'
  if (device.test(step)) return `has the name of a device (${step})`
  return Buffer.byteLength(step) > longestName ? `has a name of more than ${longestName} bytes` : undefined
}

/** The name of an entry for messages: quoted, what is not seen written as escapes, never longer than 100 characters. */
export function shownEntry(name: string): string {
  const short = name.length > 100 ? `${name.slice(0, 99)}…` : name
  return JSON.stringify(short).replaceAll(
    /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
