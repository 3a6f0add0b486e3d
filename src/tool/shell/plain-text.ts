import { modelText } from '../../base/model-text.ts'
import { sizeText } from '../../base/size.ts'
import { harmless } from '../../base/terminal-text.ts'
import { begunCharacter, type PrintedOutput } from './output-window.ts'

/**
 * The output of a command as text for a model: terminal control sequences are removed, overwritten lines appear in
 * their final state, and invalid bytes become U+FFFD. Of binary data only the size is reported.
 */
export function printedText({ head, tail, lost }: PrintedOutput): string {
  const size = head.length + lost + tail.length
  if (isBinary(head) || isBinary(tail)) {
    return modelText`[binary data, ${sizeText(size)}: write it to a file, or show a part of it with xxd or base64]`
  }
  if (lost === 0) return plainText(Buffer.concat([head, tail]))
  const gap = `[${lost.toLocaleString('en-US')} bytes are not kept: it printed ${sizeText(size)}]`
  return `${plainText(head.subarray(0, head.length - begunCharacter(head)))}\n${gap}\n${plainText(withoutHalfStart(tail))}`
}

/** Text has no NUL, and few control characters other than line breaks and tabs. */
function isBinary(bytes: Buffer): boolean {
  let controls = 0
  for (const byte of bytes) {
    if (byte === 0) return true
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) controls += 1
  }
  return controls > Math.max(1000, bytes.length * 0.3)
}

/** The text a terminal would show in the end, line by line. */
function plainText(bytes: Buffer): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes).replaceAll(escapes, '')
  const lines = text.includes('\r') ? text.split('\n').map(lastDrawn).join('\n') : text
  return harmless(lines.replaceAll(overstruck, ''))
}

/** The final state of a line that was redrawn with carriage returns, as progress bars are. */
function lastDrawn(line: string): string {
  const drawn = line.replace(/\r{1,9}$/, '')
  return drawn.slice(drawn.lastIndexOf('\r') + 1)
}

/** Terminal escape sequences: CSI, the strings of OSC, DCS, PM, APC and SOS, and those of two or three characters. */
// oxlint-disable-next-line no-control-regex
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|[ -/]+[0-~]|[0-~])/g
/** A character followed by the backspace that erases it. */
// oxlint-disable-next-line no-control-regex
const overstruck = /[^\n\u0008]\u0008/g

function withoutHalfStart(bytes: Buffer): Buffer {
  let start = 0
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1
  return bytes.subarray(start)
}
