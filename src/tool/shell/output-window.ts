import { modelText } from '../../base/model-text.ts'
import { sizeText } from '../../base/size.ts'
import { harmless } from '../../base/terminal-text.ts'

/** A bounded window on an output of any size, filled as it arrives. */
export interface OutputWindow {
  readonly add: (bytes: Buffer) => void
  /**
   * Removes and returns what has arrived since the last call. `isWhole: false`: more may follow, so the start of an
   * incomplete character is kept for the next call.
   */
  readonly take: (options?: { readonly isWhole: boolean }) => PrintedOutput
  /** Bytes received since the last `take`. */
  readonly size: () => number
  /** The last bytes that arrived since the last `take`, which stay. */
  readonly last: (count: number) => Buffer
}

/** The start and the end of an output; `lost` is the number of bytes between them that were dropped. */
export interface PrintedOutput {
  readonly head: Buffer
  readonly tail: Buffer
  readonly lost: number
}

/** Small, because converting it to plain text is one synchronous step. */
const keptAtEachEnd = 256 * 1024

/** Keeps the first and the last 256 KB. Shorter output takes less memory. */
export function createOutputWindow(atEachEnd = keptAtEachEnd): OutputWindow {
  let head = createGrowing()
  let tail = createRing(atEachEnd)
  let size = 0

  return {
    add(bytes) {
      const first = bytes.subarray(0, Math.max(0, atEachEnd - size))
      head.add(first)
      tail.add(bytes.subarray(first.length))
      size += bytes.length
    },
    size: () => size,
    last(count) {
      // what is between them was dropped
      const parts = size > 2 * atEachEnd ? [tail.all()] : [head.all(), tail.all()]
      return Buffer.concat(parts.map((part) => part.subarray(-count))).subarray(-count)
    },
    take({ isWhole } = { isWhole: true }) {
      const printed = { head: head.all(), tail: tail.all(), lost: Math.max(0, size - 2 * atEachEnd) }
      const last = size > atEachEnd ? 'tail' : 'head'
      const begun = isWhole ? 0 : begunCharacter(printed[last])
      const kept = printed[last].subarray(printed[last].length - begun)
      head = createGrowing()
      head.add(kept)
      tail = createRing(atEachEnd)
      size = begun
      return { ...printed, [last]: printed[last].subarray(0, printed[last].length - begun) }
    },
  }
}

/** The number of bytes at the end of the UTF-8 text that belong to an incomplete character. */
function begunCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** A growing buffer: writes of single bytes cost no more than large ones. */
function createGrowing() {
  let held = Buffer.alloc(0)
  let used = 0
  return {
    add(bytes: Buffer): void {
      if (used + bytes.length > held.length) {
        const larger = Buffer.alloc(Math.max(4096, 2 * (used + bytes.length)))
        held.copy(larger, 0, 0, used)
        held = larger
      }
      bytes.copy(held, used)
      used += bytes.length
    },
    all: () => held.subarray(0, used),
  }
}

/** Keeps the last bytes added. */
function createRing(capacity: number) {
  let held: Buffer | undefined
  let count = 0
  return {
    add(given: Buffer): void {
      if (given.length === 0) return
      held ??= Buffer.alloc(capacity)
      const bytes = given.subarray(Math.max(0, given.length - capacity))
      const at = (count + given.length - bytes.length) % capacity
      const fits = bytes.copy(held, at)
      bytes.copy(held, 0, fits)
      count += given.length
    },
    all(): Buffer {
      if (held === undefined || count <= capacity) return held?.subarray(0, count) ?? Buffer.alloc(0)
      const start = count % capacity
      return Buffer.concat([held.subarray(start), held.subarray(0, start)])
    },
  }
}

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

/** The last lines of an output that may go on; empty for binary data, and for a line that is too long to show. */
export function lastLines(output: Pick<OutputWindow, 'last'>, count: number): string {
  const bytes = output.last(mostOfLines)
  if (isBinary(bytes)) return ''
  const text = plainText(bytes.subarray(0, bytes.length - begunCharacter(bytes)))
  // a line without its beginning may be a part of a secret, which nobody would recognize
  const whole = bytes.length < mostOfLines ? text : text.includes('\n') ? text.slice(text.indexOf('\n') + 1) : ''
  return whole.trimEnd().split('\n').slice(-count).join('\n')
}

const mostOfLines = 4096

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
