import { sep } from 'node:path'

/**
 * Removes characters that are invisible, change the direction of text, or are dropped from names by some file systems.
 */
function withoutUnseen(name: string): string {
  return name.replace(
    /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu,
    '',
  )
}

/** What file systems drop from names, or treat as nothing when they compare them: all of Unicode's default ignorables. */
function withoutIgnored(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, '')
}

/** Device names on Windows, with any extension. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(?:[.:]|$)/i
/** Short names that Windows gives files with longer names: `GIT~1`, `BATON~1.TOM`. */
const shortName = /^[^.]{1,7}~\d{1,6}(?:\.[^.]{0,3})?$/

/**
 * A name in the form of the most lenient system: ignores case, Unicode normalization, dropped characters, trailing dots
 * and spaces, and NTFS streams.
 */
export function foldedName(name: string): string {
  const seen = withoutIgnored(name.normalize('NFKC')).replace(/:.*$/s, '')
  return seen
    .replace(/[. ]+$/, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC')
}

/** A path with each name folded by `foldedName`. */
export function foldedPath(path: string): string {
  return path.split(sep).map(foldedName).join(sep)
}

/** A name in the form in which macOS and Windows compare names in a folder: ignores case and Unicode normalization. */
export function sameName(name: string): string {
  return name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}

/** Why a model may not use a name for a file, in any folder; undefined if the name is fine. */
export function nameProblem(name: string): { readonly problem: string; readonly canBeAllowed: boolean } | undefined {
  if (withoutUnseen(name) !== name) {
    return { problem: 'its name has characters that are invisible, or dropped by other systems', canBeAllowed: false }
  }
  if (/:+\$/.test(name))
    return { problem: 'on Windows, its name denotes a stream of another file', canBeAllowed: false }
  if (/[. ]$/.test(name)) {
    return { problem: 'its name ends with a dot or space, which other systems drop', canBeAllowed: true }
  }
  if (device.test(name)) return { problem: 'on Windows, its name denotes a device', canBeAllowed: true }
  if (shortName.test(name)) return { problem: 'on Windows, its name denotes another file', canBeAllowed: true }
  return undefined
}
