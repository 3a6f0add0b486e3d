import { sep } from 'node:path'

/** Characters that show nothing, change the direction of text, or that some file systems leave out of names. */
function withoutUnseen(name: string): string {
  return name.replace(
    /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu,
    '',
  )
}

/** Devices on Windows, whatever extension they have. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(?:[.:]|$)/i
/** What Windows calls a file of a longer name: `GIT~1`, `BATON~1.TOM`. */
const shortName = /^[^.]{1,7}~\d{1,6}(?:\.[^.]{0,3})?$/

/**
 * A name as the system that confuses most names reads it: upper case, forms of Unicode, characters that are left out,
 * dots and spaces at the end, and streams of NTFS do not count.
 */
export function foldedName(name: string): string {
  const seen = withoutUnseen(name.normalize('NFKC')).replace(/:.*$/s, '')
  return seen
    .replace(/[. ]+$/, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC')
}

/** A path, each name as `foldedName` reads it. */
export function foldedPath(path: string): string {
  return path.split(sep).map(foldedName).join(sep)
}

/** A name as macOS and Windows compare it with others in its folder: case and forms of the same characters do not count. */
export function sameName(name: string): string {
  return name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}

/** Why a name is not one for a file of a model, wherever it is; undefined: it is a plain name. */
export function nameProblem(name: string): { readonly problem: string; readonly canBeAllowed: boolean } | undefined {
  if (withoutUnseen(name) !== name) {
    return { problem: 'its name has characters that are not shown, or not kept by other systems', canBeAllowed: false }
  }
  if (/:+\$/.test(name)) return { problem: 'its name means a stream of another file on Windows', canBeAllowed: false }
  if (/[. ]$/.test(name)) {
    return { problem: 'its name ends with a dot or space, which other systems leave out', canBeAllowed: true }
  }
  if (device.test(name)) return { problem: 'its name means a device on Windows', canBeAllowed: true }
  if (shortName.test(name)) return { problem: 'its name means another file on Windows', canBeAllowed: true }
  return undefined
}
